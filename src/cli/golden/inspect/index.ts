export { storyPage } from './page.ts';
export {
  type FailurePoint,
  type ModelStep,
  type Outcome,
  type Step,
  type Story,
  storyToWire,
  type TextStep,
  type ToolStep,
  type Totals,
} from './story.ts';
export { tellStory } from './tell-story.ts';
export { formatStory, type TextOptions } from './text.ts';
export { ageWords, costWords, countWords, durationWords } from './words.ts';
