export { inspectFile } from './inspect-file.ts';
export { storyPage } from './page.ts';
export type { FailurePoint, ModelStep, Outcome, Step, Story, TextStep, ToolStep, Totals } from './story.ts';
export { tellStory } from './tell-story.ts';
export { formatStory, type TextOptions } from './text.ts';
export { storyToWire } from './wire.ts';
export { ageWords, costWords, countWords, durationWords } from './words.ts';
