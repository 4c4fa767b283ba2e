import { costOf, type TokenUsage } from './cost.ts';
import type { PriceOverrides } from './price-overrides.ts';
import { findPrice } from './price-table.ts';

/** Input of a price look-up. */
export interface PriceInput {
  /** Tokens as the provider counted them, or estimates of input and output. */
  readonly usage?: TokenUsage | undefined;
  /** The answering model where it is known, else the requested one. */
  readonly model?: string | undefined;
  /** Provider in the words of the semantic conventions, e.g. `openai`, `gcp.gemini`, `aws.bedrock`. */
  readonly provider?: string | undefined;
  /** Host the request went to; if the price table knows it, it takes precedence over `provider`. */
  readonly providerApiUrl?: string | undefined;
  /** Start of the call, which selects the prices. */
  readonly at: Date;
  /** The user's prices. They take precedence over the table and apply to every service tier. */
  readonly overrides?: PriceOverrides | undefined;
  /** Cost reported by the provider; takes precedence over everything. */
  readonly providerCostUsd?: number | undefined;
  /** Service tier that served the call, in the provider's words: `default`, `flex`, `batch`, `priority` ... */
  readonly serviceTier?: string | undefined;
}

/** Source of a cost: the provider, the user's prices or the price table; `unknown` when there is none. */
export type CostSource = 'provider' | 'override' | 'genai-prices' | 'unknown';

export interface Price {
  /** US dollars; absent when the source is `unknown`. */
  readonly costUsd?: number;
  readonly costSource: CostSource;
}

const UNKNOWN: Price = Object.freeze({ costSource: 'unknown' });

/** Tiers at the table's price. */
const STANDARD_TIERS: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'standard',
  'standard_only',
  'on_demand',
]);

/**
 * Tiers at a published fraction of it, cached tokens included, by provider. OpenAI: Batch API and flex processing at
 * half the price (platform.openai.com/docs/pricing); Azure: global batch at half; Anthropic: Message Batches at half,
 * on top of the cache prices (docs.anthropic.com, "Pricing"). The price of other tiers, such as `priority`, depends on
 * model or contract and is unknown here.
 */
const TIER_FACTORS: ReadonlyMap<string, number> = new Map([
  ['openai batch', 0.5],
  ['openai flex', 0.5],
  ['azure batch', 0.5],
  ['anthropic batch', 0.5],
]);

/**
 * The cost of a call. Never a guess: a model, provider or service tier without a known price, and a usage that
 * contradicts itself, give no cost and the source `unknown`. Never throws.
 */
export function priceUsage(input: PriceInput): Price {
  const { providerCostUsd, usage, model, provider } = input;
  if (providerCostUsd !== undefined && Number.isFinite(providerCostUsd) && providerCostUsd >= 0) {
    return { costUsd: providerCostUsd, costSource: 'provider' };
  }
  if (usage === undefined || model === undefined || model === '') return UNKNOWN;
  const own = input.overrides?.find(model, provider);
  if (own !== undefined) return priceOf(costOf(usage, own), 'override');
  try {
    const entry = findPrice({ model, provider, providerApiUrl: input.providerApiUrl, at: input.at });
    const factor = entry === undefined ? undefined : tierFactor(entry.provider, input.serviceTier);
    if (entry === undefined || factor === undefined) return UNKNOWN;
    const cost = costOf(usage, entry.rates);
    return priceOf(cost === undefined ? undefined : cost * factor, 'genai-prices');
  } catch {
    // The price table throws on invalid input such as an invalid date.
    return UNKNOWN;
  }
}

function priceOf(costUsd: number | undefined, costSource: CostSource): Price {
  return costUsd === undefined || !Number.isFinite(costUsd) ? UNKNOWN : { costUsd, costSource };
}

function tierFactor(provider: string, serviceTier: string | undefined): number | undefined {
  if (serviceTier === undefined || STANDARD_TIERS.has(serviceTier)) return 1;
  return TIER_FACTORS.get(`${provider} ${serviceTier}`);
}
