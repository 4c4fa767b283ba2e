import { isObject, type JsonObject } from '../../json/index.ts';
import { type Answer, readAnyAnswer } from '../../wire/index.ts';
import { outputMessages, toolCallsOfAnswer } from '../answer.ts';
import { answerText } from '../messages.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiResponses } from './openai-responses.ts';
import { readPlain } from './plain.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

export { responsesFinishReason } from './openai-responses.ts';
export { readOpenAiUsage, readReportedCost } from './openai-usage.ts';
export type { ProviderResponse } from './types.ts';

const READERS: readonly ResponseReader[] = [openAiResponses, openAiChat];

const NOTHING: ProviderResponse = Object.freeze({ toolCalls: [] });

/**
 * Reads the result of a model call: OpenAI Chat Completions and Responses, Anthropic Messages, Gemini
 * `generateContent`, bare text, or an object that carries its text as `text`, `content`, `output` or `message`.
 *
 * Never throws, not even when a getter of the object does; what is not recognized gives no fields and no tool calls.
 */
export function readProviderResponse(value: unknown): ProviderResponse {
  if (typeof value === 'string') return { answer: value, toolCalls: [] };
  if (!isObject(value)) return NOTHING;
  try {
    const answer = readAnyAnswer(value);
    if (answer !== undefined) return responseOf(answer);
    return readerOf(value)?.read(value) ?? readPlain(value);
  } catch {
    return NOTHING;
  }
}

function responseOf(answer: Answer): ProviderResponse {
  const messages = outputMessages(answer);
  return {
    provider: answer.provider,
    answer: answerText(messages),
    model: answer.model,
    responseId: answer.id,
    finishReasons: answer.finishReasons.length === 0 ? undefined : answer.finishReasons,
    usage: answer.usage,
    serviceTier: answer.serviceTier,
    costUsd: answer.costUsd,
    toolCalls: toolCallsOfAnswer(answer),
  };
}

function readerOf(value: JsonObject): ResponseReader | undefined {
  return READERS.find((reader) => reader.matches(value));
}
