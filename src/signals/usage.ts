/** Tokens of one model call, in the sense of semconv 1.41: input includes cached tokens, output includes reasoning. */
export interface TokenUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** Part of `inputTokens` read from the provider's cache. */
  readonly cacheReadTokens?: number | undefined;
  /** Part of `inputTokens` written to the provider's cache, whatever its lifetime. */
  readonly cacheWriteTokens?: number | undefined;
  /** Part of `cacheWriteTokens` with the one-hour lifetime, which costs more (Anthropic). */
  readonly cacheWrite1hTokens?: number | undefined;
  /** Part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens?: number | undefined;
}
