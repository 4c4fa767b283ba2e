export {
  type Story,
  storyToWire,
  type ToolStep,
} from './story.ts';
export { tellStory } from './tell-story.ts';
export { formatStory } from './text.ts';
export { ageWords, costWords, countWords, durationWords, totalTokens } from './words.ts';
