import { createRequire } from 'node:module';
import type { ModelRates, Rate } from './cost.ts';

/** The key of a price: provider, model and time. */
export interface PriceQuery {
  readonly model: string;
  /** Provider in the words of the semantic conventions. */
  readonly provider?: string | undefined;
  /** Host the request went to; if known, it decides whose prices apply, before `provider`. */
  readonly providerApiUrl?: string | undefined;
  readonly at: Date;
}

export interface PriceEntry {
  /** The provider's name in the table. */
  readonly provider: string;
  readonly rates: ModelRates;
}

/** Providers whose name in the table differs from the semantic conventions. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['azure.ai.openai', 'azure'],
  ['azure.ai.inference', 'azure'],
  ['az.ai.openai', 'azure'],
  ['az.ai.inference', 'azure'],
  ['gcp.gen_ai', 'google'],
  ['x_ai', 'x-ai'],
]);

/** Means that the provider is the part of the model name before the slash. */
const BY_MODEL_PREFIX = 'litellm';

type PriceTable = typeof import('@pydantic/genai-prices');

let table: PriceTable | undefined;

/** Loaded for the first look-up: it takes 40 ms that a program without model calls does not need. */
function priceTable(): PriceTable {
  table ??= createRequire(import.meta.url)('@pydantic/genai-prices') as PriceTable;
  return table;
}

const MILLISECONDS_PER_DAY = 86_400_000;

/** A look-up takes about 10 us, a cache hit a tenth of that. */
const MAX_CACHED = 1000;
/** No existing model has a longer key. */
const MAX_KEY = 500;

interface Cached {
  readonly entry: PriceEntry | undefined;
  /** The UTC day it is valid for; absent when it is always valid. */
  readonly day?: number;
}

const cache = new Map<string, Cached>();

/** Most calls ask for the price that the call before them asked for: comparing costs less than composing the key. */
const lately: {
  last?: { readonly query: PriceQuery; readonly day: number; readonly entry: Cached['entry'] };
} = {};

const isSamePrice = (a: PriceQuery, b: PriceQuery): boolean =>
  a.model === b.model && a.provider === b.provider && a.providerApiUrl === b.providerApiUrl;

/**
 * The rates of a model at a given time from the table of `@pydantic/genai-prices`, which has historic prices, tiers by
 * input size and prices by the time of day. Undefined for a model or provider that the table does not know.
 */
export function findPrice(query: PriceQuery): PriceEntry | undefined {
  const day = Math.floor(query.at.getTime() / MILLISECONDS_PER_DAY);
  const { last } = lately;
  if (last !== undefined && last.day === day && isSamePrice(last.query, query)) return last.entry;
  const key = `${query.provider ?? ''}\n${query.providerApiUrl ?? ''}\n${query.model}`;
  const known = cache.get(key);
  if (known !== undefined && (known.day === undefined || known.day === day)) {
    lately.last = { query, day, entry: known.entry };
    return known.entry;
  }
  const found = lookUp(query);
  if (found.changes === 'hourly' || key.length > MAX_KEY) return found.entry;
  if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value as string);
  cache.set(key, found.changes === 'daily' ? { entry: found.entry, day } : { entry: found.entry });
  return found.entry;
}

interface Found {
  readonly entry: PriceEntry | undefined;
  readonly changes: 'never' | 'daily' | 'hourly';
}

function lookUp({ model, provider, providerApiUrl, at }: PriceQuery): Found {
  const name = model.startsWith('models/') ? model.slice('models/'.length) : model;
  // No tokens: the table supplies the rates, and `costOf` does the arithmetic.
  const price = priceTable().calcPrice({}, name, {
    ...providerOf(name, provider, providerApiUrl),
    timestamp: at,
  });
  if (price === null) return { entry: undefined, changes: 'never' };
  const { input_mtok, output_mtok, cache_read_mtok, cache_write_mtok, cache_write_1h_mtok } =
    price.model_price;
  const { output_reasoning_mtok, requests_kcount } = price.model_price;
  const rates: ModelRates = {
    input: input_mtok as Rate | undefined,
    output: output_mtok as Rate | undefined,
    cacheRead: cache_read_mtok as Rate | undefined,
    cacheWrite: cache_write_mtok as Rate | undefined,
    cacheWrite1h: cache_write_1h_mtok as Rate | undefined,
    reasoning: output_reasoning_mtok as Rate | undefined,
    requests: requests_kcount as Rate | undefined,
  };
  return { entry: { provider: price.provider.id, rates }, changes: changesOf(price.model.prices) };
}

function providerOf(
  model: string,
  provider: string | undefined,
  providerApiUrl: string | undefined,
): { providerId?: string } {
  const byUrl = providerApiUrl === undefined ? undefined : priceTable().findProvider({ providerApiUrl });
  if (byUrl !== undefined) return { providerId: byUrl.id };
  if (provider !== undefined) return { providerId: PROVIDERS.get(provider) ?? provider };
  return model.includes('/') ? { providerId: BY_MODEL_PREFIX } : {};
}

/** How often a price can change: dated prices at the start of a UTC day, time-of-day prices at any moment. */
function changesOf(prices: unknown): Found['changes'] {
  if (!Array.isArray(prices)) return 'never';
  const kinds = prices.map(
    (price: { constraint?: { type: string } }) => price.constraint?.type ?? 'start_date',
  );
  return kinds.every((kind) => kind === 'start_date') ? 'daily' : 'hourly';
}
