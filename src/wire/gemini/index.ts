export { geminiInteractions } from './interaction.ts';
export { gemini, geminiContent } from './provider.ts';
