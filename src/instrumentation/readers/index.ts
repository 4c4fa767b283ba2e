/**
 * The readers of provider responses by themselves, for code that has responses and no SDK to instrument: this door
 * loads none of the instrumentations.
 */
export { MessageReader } from '../anthropic/index.ts';
export { ContentReader } from '../google-genai/index.ts';
export { ChatReader, ResponsesReader } from '../openai/index.ts';
export type { ModelResponse, ResponseReader } from '../shared/index.ts';
