import { FEE_UNITS, FEES } from '../base/index.ts';
import { type CallCost, type ModelRates, type TokenUsage, toCost } from './cost.ts';
import { CACHE_UNTOLD, listModes, PLACE_UNTOLD, priceModes, regionFactor } from './modes.ts';
import type { PriceOverrides } from './price-overrides.ts';
import { findPrice } from './price-table.ts';
import { OTHER_UNITS } from './usage.ts';

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
  /** Cost that was reported; takes precedence over everything. */
  readonly providerCostUsd?: number | undefined;
  /** Whether an instrumentation computed that cost from its own list of prices. @defaultValue false */
  readonly isCostComputed?: boolean | undefined;
  /** The model that was asked for, where another name answered. */
  readonly requestedModel?: string | undefined;
  /** Service tier that served the call, in the provider's words: `default`, `flex`, `batch`, `priority` ... */
  readonly serviceTier?: string | undefined;
}

/**
 * Source of a cost: the provider, an instrumentation's own list of prices, the user's prices or the price table. Without
 * a cost, `unknown` for a model without a price, or what has no known price or count, such as `unpriced: web_search`.
 */
export type CostSource =
  | 'provider'
  | 'instrumentation'
  | 'override'
  | 'genai-prices'
  | 'unknown'
  | `unpriced: ${string}`;

export interface Price {
  /** US dollars; absent when the source is `unknown` or `unpriced`. */
  readonly costUsd?: number;
  readonly costSource: CostSource;
}

const UNKNOWN: Price = Object.freeze({ costSource: 'unknown' });

/**
 * The cost of a call. Never a guess: a model, provider, mode or unit without a known price, and a usage that contradicts
 * itself, give no cost and a source that says so. Never throws.
 */
export function priceUsage(input: PriceInput): Price {
  const { providerCostUsd, usage, model, provider } = input;
  if (providerCostUsd !== undefined && Number.isFinite(providerCostUsd) && providerCostUsd >= 0) {
    return { costUsd: providerCostUsd, costSource: input.isCostComputed ? 'instrumentation' : 'provider' };
  }
  if (usage === undefined || model === undefined || model === '') return UNKNOWN;
  const own = input.overrides?.find(model, provider);
  if (own !== undefined) return priceOf(toCost(usage, own), 1, 'override');
  try {
    return usage.requests === undefined
      ? priceRequest(usage, model, input)
      : priceRequests(usage, model, input);
  } catch {
    // The price table throws on invalid input such as an invalid date.
    return UNKNOWN;
  }
}

/** The place of an inference profile, before the vendor in an id of Bedrock. */
const PLACE = /^[a-z-]{2,6}\.[a-z\d]+\./;

/** The requests behind a call have sizes, and maybe models, of their own. */
function priceRequests(usage: TokenUsage, model: string, input: PriceInput): Price {
  if (usage.disagrees === true) return { costSource: 'unpriced: tokens_disagree' };
  const { modes, requests = [] } = usage;
  const fees = Object.fromEntries(FEE_UNITS.map((unit) => [unit, usage[unit]]));
  let costUsd = 0;
  for (const [index, request] of requests.entries()) {
    const price = priceRequest(
      { ...request, ...(index === 0 ? fees : {}), modes },
      request.model ?? model,
      input,
    );
    if (price.costUsd === undefined) return price;
    costUsd += price.costUsd;
  }
  return { costUsd, costSource: 'genai-prices' };
}

function priceRequest(told: TokenUsage, model: string, input: PriceInput): Price {
  // It makes images alone, and older versions do not tell their tokens apart.
  const usage = /\bgpt-image/.test(model) ? { outputImageTokens: told.outputTokens, ...told } : told;
  const { provider, providerApiUrl, at, requestedModel } = input;
  const query = { provider, providerApiUrl, at };
  // What Bedrock answers lacks the place of the inference profile, on which its price depends.
  const isProfile = provider === 'aws.bedrock' && requestedModel !== undefined;
  const entry =
    (isProfile ? findPrice({ ...query, model: requestedModel }) : undefined) ??
    findPrice({ ...query, model });
  if (entry === undefined) return UNKNOWN;
  // Nor does what Anthropic answers there have it, where nobody says what was asked for.
  const isOfAnthropic = provider === 'aws.bedrock' && /^claude/.test(model);
  const isUntold = usage.modes?.includes(PLACE_UNTOLD) || (isOfAnthropic && !isProfile);
  if (isUntold && !PLACE.test(model)) {
    const id = `global.${isOfAnthropic ? 'anthropic.' : ''}${model}`;
    const inAllPlaces = findPrice({ ...query, model: id }) ?? entry;
    if (inAllPlaces.rates.input !== entry.rates.input) return { costSource: 'unpriced: inference_profile' };
  }
  // Vertex AI charges Claude in one place more than everywhere, and its address alone says which.
  const isOfVertex = provider === 'gcp.vertex_ai' && providerApiUrl === undefined && /claude/.test(model);
  if (isOfVertex && regionFactor({ provider: entry.provider, model, usage }) !== 1)
    return { costSource: 'unpriced: region' };
  const modes = listModes(usage.modes, input.serviceTier, providerApiUrl).filter(
    // Of a model that has no cache, or one price in all places, there is nothing to tell.
    (mode) => mode !== PLACE_UNTOLD && (mode !== CACHE_UNTOLD || entry.rates.cacheRead !== undefined),
  );
  const factor = priceModes(modes, { provider: entry.provider, model, usage });
  if (typeof factor === 'string') return { costSource: `unpriced: ${factor}` };
  const missing = missingFromTable(usage, entry.rates, model);
  return missing === undefined
    ? priceOf(toCost(usage, entry.rates), factor, 'genai-prices')
    : { costSource: `unpriced: ${missing}` };
}

/** What the table does not price, or the usage does not tell apart, where text is not what would be charged. */
function missingFromTable(
  usage: TokenUsage,
  { cacheRead, ...rates }: ModelRates,
  model: string,
): string | undefined {
  // docs.perplexity.ai/getting-started/pricing: by how much was searched, of which the table has the most alone.
  if (rates.requests !== undefined) return 'request_fee';
  // developers.openai.com/api/docs/pricing: a search costs these 8,000 tokens more, which their usage does not count.
  if (usage.webSearches && /^gpt-4(?:o|\.1)-mini/.test(model)) return FEES.webSearches.word;
  // Providers give different discounts.
  if (usage.cacheReadTokens && cacheRead === undefined) return 'cached';
  if (!usage.outputTokens || OTHER_UNITS.some((unit) => usage[unit] !== undefined)) return undefined;
  const { output, outputAudio = output, outputImage = output } = rates;
  if (outputAudio !== output) return 'output_audio';
  return outputImage === output ? undefined : 'output_image';
}

function priceOf(cost: CallCost, factor: number, costSource: CostSource): Price {
  if (cost.missing !== undefined) return { costSource: `unpriced: ${cost.missing}` };
  const costUsd = cost.tokensUsd * factor + cost.feesUsd;
  return Number.isFinite(costUsd) ? { costUsd, costSource } : { costSource: 'unpriced: tokens_disagree' };
}
