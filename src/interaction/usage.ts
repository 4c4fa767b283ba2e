/**
 * Token counts of a span as the semantic conventions define them: input includes tokens read from and written to the
 * provider's cache, output includes reasoning.
 */

import type { AttributeColumn } from '../base/index.ts';
import { semconv } from '../base/index.ts';
import { countOf, type JsonObject, textOf } from '../json/index.ts';
import type { TokenUsage } from '../signals/index.ts';
import { includeCache } from '../wire/index.ts';
import type { Scalars } from './scalars.ts';
import type { SpanView } from './span-view.ts';

const USAGE_COLUMNS: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'cached_prompt_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'tokens_estimated',
  'cost_usd',
  'cost_source',
  'offered_tools_tokens',
  'offered_tools_cost_usd',
] satisfies AttributeColumn[]);

/** Whether a column holds tokens or cost, which are counted on one span of a call. */
export function isUsageColumn(column: string): boolean {
  return USAGE_COLUMNS.has(column);
}

/**
 * The usage reported by the provider, in any dialect; `undefined` when the span has no counts.
 * @param scalars of the span.
 */
export function readUsage(
  span: SpanView,
  scalars: Scalars,
  provider: string | undefined,
): TokenUsage | undefined {
  const { attributes } = span;
  // Our own estimate is not reported usage.
  if (attributes['observatory.tokens_estimated'] === true) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = scalars;
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const usage: TokenUsage = {
    inputTokens,
    outputTokens,
    cacheReadTokens: scalars.cached_prompt_tokens,
    cacheWriteTokens: scalars.cache_write_tokens,
    cacheWrite1hTokens: countOf(attributes[semconv.ATTR_ANTHROPIC_CACHE_WRITE_1H]),
    reasoningTokens: scalars.reasoning_tokens,
  };
  return isCacheExclusive(usage, span, provider) ? includeCache(usage) : usage;
}

/**
 * Whether the input count excludes cached tokens, as in Anthropic's API. It does if they exceed it, if the reported
 * total is the sum of all, and for instrumentations known to pass on Anthropic's counts unchanged.
 */
function isCacheExclusive(usage: TokenUsage, span: SpanView, provider: string | undefined): boolean {
  const input = usage.inputTokens ?? 0;
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  if (cached === 0) return false;
  if (cached > input) return true;
  if (readTotal(span.attributes) === input + cached + (usage.outputTokens ?? 0)) return true;
  return provider === 'anthropic' && passesCountsOn(span);
}

function readTotal(attributes: JsonObject): number | undefined {
  for (const name of TOTALS) {
    const total = countOf(attributes[name]);
    if (total !== undefined) return total;
  }
  return undefined;
}

const TOTALS = [
  'gen_ai.usage.total_tokens',
  'llm.usage.total_tokens',
  'llm.token_count.total',
  'ai.usage.totalTokens',
] as const;

/** Checked in the published code of each: they set `input_tokens` from Anthropic's field and add nothing. */
const ANTHROPIC_AS_IS: readonly string[] = [
  '@traceloop/instrumentation-anthropic',
  '@openlit/instrumentation-anthropic',
];

function passesCountsOn(span: SpanView): boolean {
  const scope = span.instrumentationScope?.name ?? '';
  if (ANTHROPIC_AS_IS.includes(scope)) return true;
  // AI SDK 4 and 5 pass on Anthropic's count; 6 adds the cache and also reports the count without it.
  return (
    textOf(span.attributes['ai.operationId']) !== undefined &&
    span.attributes['ai.usage.inputTokenDetails.noCacheTokens'] === undefined
  );
}
