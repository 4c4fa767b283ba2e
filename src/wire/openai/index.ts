export { openAi, openAiChat, openAiResponses } from './provider.ts';
export { readReportedCost } from './usage.ts';
