import type { TokenUsage } from '../../signals/index.ts';

/** Adds the cached tokens to an input count that left them out. */
export function includeCache(usage: TokenUsage): TokenUsage {
  const cached = (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  if (usage.inputTokens === undefined || cached === 0) return usage;
  return { ...usage, inputTokens: usage.inputTokens + cached };
}
