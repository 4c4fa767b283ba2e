/**
 * The readers of provider responses by themselves, for code that has responses and no SDK to instrument: this door
 * loads none of the instrumentations.
 */
export { MessageReader } from '../anthropic/message-reader.ts';
export { ContentReader } from '../google-genai/content-reader.ts';
export { ChatReader } from '../openai/chat-reader.ts';
export { ResponsesReader } from '../openai/responses-reader.ts';
export type { ModelResponse, ResponseReader } from '../shared/response-reader.ts';
