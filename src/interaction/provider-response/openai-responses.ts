import {
  firstText,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  parseOrKeep,
  textOf,
} from '../../json/index.ts';
import { OPENAI_MODEL } from './openai-chat.ts';
import { readOpenAiUsage, readReportedCost } from './openai-usage.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

/**
 * OpenAI's Responses API. It has no finish reason of its own, so the words of the semantic conventions stand for its
 * status: `stop`, `tool_call`, `length`, `content_filter`, `error`.
 */
export const openAiResponses: ResponseReader = {
  matches: (value) => value.object === 'response' && Array.isArray(value.output),
  read: (value): ProviderResponse => {
    const items = listOf(value.output).filter(isObject);
    const calls = items.filter((item) => CALLS.has(textOf(item.type) ?? ''));
    const model = textOf(value.model);
    const finishReason = responsesFinishReason(value, calls.length > 0);
    return {
      provider: model !== undefined && OPENAI_MODEL.test(model) ? 'openai' : undefined,
      answer: readAnswer(items),
      model,
      responseId: textOf(value.id),
      finishReasons: finishReason === undefined ? undefined : [finishReason],
      usage: readOpenAiUsage(value.usage),
      serviceTier: textOf(value.service_tier),
      costUsd: readReportedCost(value.usage),
      toolCalls: calls.map((call) => ({
        id: firstText(call.call_id, call.id),
        name: textOf(call.name),
        arguments: parseOrKeep(call.arguments ?? call.input),
      })),
    };
  },
};

/** Items the application answers; searches and MCP calls are run by OpenAI. */
const CALLS: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call']);

function readAnswer(items: readonly JsonObject[]): string | undefined {
  let answer: string | undefined;
  for (const item of items) {
    if (item.type !== 'message') continue;
    for (const part of listOf(item.content)) {
      const text = firstText(objectOf(part).text, objectOf(part).refusal);
      if (text !== undefined) answer = (answer ?? '') + text;
    }
  }
  return answer;
}

/** Why a response ended, by its status; nothing while it is still being made. */
export function responsesFinishReason(response: JsonObject, hasCalls: boolean): string | undefined {
  switch (response.status) {
    case 'completed':
      return hasCalls ? 'tool_call' : 'stop';
    case 'incomplete': {
      const reason = textOf(objectOf(response.incomplete_details).reason);
      return reason === 'max_output_tokens' ? 'length' : (reason ?? 'incomplete');
    }
    case 'failed':
      return 'error';
    case 'queued':
    case 'in_progress':
      return undefined;
    default:
      return textOf(response.status);
  }
}
