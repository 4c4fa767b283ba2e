export { openAiMedia } from './media.ts';
export { openAi, openAiChat, openAiResponses } from './provider.ts';
