import type { TokenUsage } from '../signals/index.ts';
import type { Completion } from './providers/index.ts';

export interface BudgetOptions {
  /** Most tokens, input and output together, as the provider counts them. @defaultValue no limit */
  readonly maxTokens?: number | undefined;
  /** Most US dollars. @defaultValue no limit */
  readonly maxCostUsd?: number | undefined;
}

/** The sum of what the provider reported over a run. */
export interface TokenTotals {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly cachedPromptTokens: number;
  readonly reasoningTokens: number;
  /** Model calls for which the provider reported no usage; their tokens are in none of the sums. */
  readonly callsWithoutUsage: number;
}

/**
 * Price of one model call in US dollars, or nothing when the price is unknown. Not asked where the provider reports
 * the cost itself.
 * @param serviceTier that served the call, in the provider's words.
 */
export type PriceOf = (
  provider: string,
  model: string,
  usage: TokenUsage,
  serviceTier?: string,
) => number | undefined;

/** Adds up what a run uses and says when it has had enough. Nothing is estimated. */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #priceOf: PriceOf | undefined;
  #prompt = 0;
  #completion = 0;
  #cached = 0;
  #reasoning = 0;
  #withoutUsage = 0;
  #costUsd: number | undefined = 0;

  constructor(options: BudgetOptions = {}, priceOf?: PriceOf) {
    this.#options = options;
    this.#priceOf = priceOf;
  }

  /** @param model that answered. */
  add(provider: string, model: string, call: Pick<Completion, 'usage' | 'costUsd' | 'serviceTier'>): void {
    const { usage, costUsd, serviceTier } = call;
    if (usage === undefined) this.#withoutUsage += 1;
    this.#prompt += usage?.inputTokens ?? 0;
    this.#completion += usage?.outputTokens ?? 0;
    this.#cached += usage?.cacheReadTokens ?? 0;
    this.#reasoning += usage?.reasoningTokens ?? 0;
    const price = costUsd ?? (usage && this.#priceOf?.(provider, model, usage, serviceTier));
    this.#costUsd = price === undefined || this.#costUsd === undefined ? undefined : this.#costUsd + price;
  }

  get totals(): TokenTotals {
    return {
      promptTokens: this.#prompt,
      completionTokens: this.#completion,
      totalTokens: this.#prompt + this.#completion,
      cachedPromptTokens: this.#cached,
      reasoningTokens: this.#reasoning,
      callsWithoutUsage: this.#withoutUsage,
    };
  }

  /** Cost so far in US dollars; nothing when any call's price or usage is unknown. */
  get costUsd(): number | undefined {
    return this.#costUsd;
  }

  /** The limit that is reached, as a sentence, or nothing. */
  get exceeded(): string | undefined {
    const { maxTokens, maxCostUsd } = this.#options;
    const used = this.#prompt + this.#completion;
    if (maxTokens !== undefined && used >= maxTokens) return `${used} of ${maxTokens} tokens are used`;
    if (maxCostUsd === undefined) return undefined;
    if (this.#costUsd === undefined) return `the cost is unknown and maxCostUsd is ${maxCostUsd}`;
    return this.#costUsd >= maxCostUsd
      ? `$${this.#costUsd.toFixed(6)} of $${maxCostUsd} is spent`
      : undefined;
  }
}
