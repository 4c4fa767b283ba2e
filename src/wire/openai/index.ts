export { openAi, openAiChat, openAiResponses } from './provider.ts';
