import { isObject, type JsonObject } from '../../json/index.ts';
import { anthropicReader } from './anthropic.ts';
import { geminiGenerateContent } from './gemini.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiResponses } from './openai-responses.ts';
import { readPlain } from './plain.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

export { readAnthropicUsage } from './anthropic.ts';
export { readGeminiUsage } from './gemini.ts';
export { responsesFinishReason } from './openai-responses.ts';
export { readOpenAiUsage, readReportedCost } from './openai-usage.ts';
export type { ProviderResponse, ToolCall } from './types.ts';

const READERS: readonly ResponseReader[] = [
  openAiResponses,
  anthropicReader,
  openAiChat,
  geminiGenerateContent,
];

const NOTHING: ProviderResponse = Object.freeze({ toolCalls: [] });

/**
 * Reads the result of a model call: OpenAI Chat Completions and Responses, Anthropic Messages, Gemini
 * `generateContent`, bare text, or an object that carries its text as `text`, `content`, `output` or `message`.
 *
 * Never throws, not even when a getter of the object does; what is not recognised gives no fields and no tool calls.
 */
export function readProviderResponse(value: unknown): ProviderResponse {
  if (typeof value === 'string') return { answer: value, toolCalls: [] };
  if (!isObject(value)) return NOTHING;
  try {
    return readerOf(value)?.read(value) ?? readPlain(value);
  } catch {
    return NOTHING;
  }
}

function readerOf(value: JsonObject): ResponseReader | undefined {
  return READERS.find((reader) => reader.matches(value));
}
