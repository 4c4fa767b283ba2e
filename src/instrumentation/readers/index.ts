/**
 * The readers of provider responses by themselves, for code that has responses and no SDK to instrument: this door
 * loads none of the instrumentations.
 */
export { ChatReader, ResponsesReader } from '../openai/index.ts';
export { AnswerReader, type ModelResponse, type ResponseReader } from '../shared/index.ts';
