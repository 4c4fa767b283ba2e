import { countOf, isObject, type JsonObject, objectOf, textOf } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { toolResultText } from '../tool-outcome.ts';
import { readOpenAiUsage, readReportedCost } from './openai-usage.ts';
import type { ProviderResponse } from './types.ts';

/** How deep `{message: {content: ...}}` may nest. */
const MAX_DEPTH = 4;

/**
 * Any object that carries its text as `text`, `content`, `output` or `message`, asked in this order: results of
 * application code, of the AI SDK (`{text, usage, finishReason, response}`), of MCP tools (`{content: [...]}`).
 */
export function readPlain(value: JsonObject): ProviderResponse {
  const response = objectOf(value.response);
  const finishReason = textOf(value.finishReason ?? value.finish_reason);
  return {
    answer: readText(value, MAX_DEPTH),
    model: textOf(value.model ?? response.modelId),
    responseId: textOf(value.id ?? response.id),
    finishReasons: finishReason === undefined ? undefined : [finishReason],
    usage: readOpenAiUsage(value.usage) ?? readAiSdkUsage(value.usage),
    costUsd: readReportedCost(value.usage),
    toolCalls: [],
  };
}

function readText(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (depth === 0 || !isObject(value)) return undefined;
  for (const field of TEXT_FIELDS) {
    const inner = value[field];
    if (inner === undefined || inner === null) continue;
    const text = Array.isArray(inner) ? toolResultText(inner) : readText(inner, depth - 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

const TEXT_FIELDS = ['text', 'content', 'output', 'message'] as const;

/** The AI SDK's camelCase counts, inclusive like the conventions'. */
function readAiSdkUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const inputTokens = countOf(value.inputTokens ?? value.promptTokens);
  const outputTokens = countOf(value.outputTokens ?? value.completionTokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: countOf(value.cachedInputTokens),
    reasoningTokens: countOf(value.reasoningTokens),
  };
}
