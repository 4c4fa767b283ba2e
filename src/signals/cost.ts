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

/**
 * A price in US dollars per million tokens, or one that depends on the size of the whole input: the last tier that
 * begins below it holds for every token of the request (Anthropic and Gemini beyond 200,000 tokens, for instance).
 */
export type Rate =
  | number
  | {
      readonly base: number;
      readonly tiers: readonly { readonly start: number; readonly price: number }[];
    };

/** Rates of a model's tokens; a kind without its own rate is charged as the kind it is part of. */
export interface ModelRates {
  readonly input?: Rate | undefined;
  readonly output?: Rate | undefined;
  readonly cacheRead?: Rate | undefined;
  readonly cacheWrite?: Rate | undefined;
  readonly cacheWrite1h?: Rate | undefined;
  readonly reasoning?: Rate | undefined;
  /** US dollars per thousand requests. */
  readonly requests?: Rate | undefined;
}

const PER_MILLION = 1e6;
const PER_THOUSAND = 1e3;

/**
 * The cost of one call in US dollars.
 *
 * With 100,000 input tokens, 90,000 of them from the cache, and 2,000 output tokens, at 2.50, 1.25 and 10 dollars:
 * (10,000 * 2.50 + 90,000 * 1.25 + 2,000 * 10) / 1,000,000 = 0.1575.
 *
 * @returns undefined when the usage lacks the input count, is inconsistent (parts exceed their whole, invalid counts),
 * or has tokens of a kind without a rate.
 */
export function costOf(usage: TokenUsage, rates: ModelRates): number | undefined {
  const { inputTokens: input, outputTokens: output = 0, cacheReadTokens: read = 0 } = usage;
  const {
    cacheWrite1hTokens: write1h = 0,
    cacheWriteTokens: write = write1h,
    reasoningTokens: reasoning = 0,
  } = usage;
  if (input === undefined) return undefined;
  if (!(isCount(input) && isCount(output) && isCount(reasoning))) return undefined;
  if (!(isCount(read) && isCount(write) && isCount(write1h))) return undefined;
  if (read + write > input || write1h > write || reasoning > output) return undefined;

  const cacheWrite = rates.cacheWrite ?? rates.input;
  const parts: readonly (readonly [tokens: number, rate: Rate | undefined])[] = [
    [input - read - write, rates.input],
    [read, rates.cacheRead ?? rates.input],
    [write - write1h, cacheWrite],
    [write1h, rates.cacheWrite1h ?? cacheWrite],
    [output - reasoning, rates.output],
    [reasoning, rates.reasoning ?? rates.output],
  ];
  let cost = rateAt(rates.requests ?? 0, input) / PER_THOUSAND;
  for (const [tokens, rate] of parts) {
    if (tokens === 0) continue;
    if (rate === undefined) return undefined;
    cost += (tokens * rateAt(rate, input)) / PER_MILLION;
  }
  return cost;
}

function isCount(tokens: number): boolean {
  return Number.isFinite(tokens) && tokens >= 0;
}

function rateAt(rate: Rate, inputTokens: number): number {
  if (typeof rate === 'number') return rate;
  let price = rate.base;
  for (const tier of rate.tiers) if (inputTokens > tier.start) price = tier.price;
  return price;
}
