export { gemini, geminiContent } from './provider.ts';
