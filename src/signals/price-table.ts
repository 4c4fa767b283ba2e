import { createRequire } from 'node:module';
import { FEE_UNITS, FEES } from '../base/index.ts';
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

/** The names that the table has for the rates. */
const RATE_KEYS: readonly (readonly [keyof ModelRates, string])[] = [
  ['input', 'input_mtok'],
  ['output', 'output_mtok'],
  ['cacheRead', 'cache_read_mtok'],
  ['cacheWrite', 'cache_write_mtok'],
  ['cacheWrite1h', 'cache_write_1h_mtok'],
  ['reasoning', 'output_reasoning_mtok'],
  ['inputAudio', 'input_audio_mtok'],
  ['inputImage', 'input_image_mtok'],
  ['inputVideo', 'input_video_mtok'],
  ['cacheReadAudio', 'cache_audio_read_mtok'],
  ['cacheReadImage', 'cache_image_read_mtok'],
  ['outputAudio', 'output_audio_mtok'],
  ['outputImage', 'output_image_mtok'],
  ['outputVideo', 'output_video_mtok'],
  ['citation', 'output_citation_mtok'],
  ['requests', 'requests_kcount'],
  ...FEE_UNITS.map((unit) => [unit, FEES[unit].price] as const),
  ['audioHours', 'input_audio_hours'],
];

interface Found {
  readonly entry: PriceEntry | undefined;
  readonly changes: 'never' | 'daily' | 'hourly';
}

function lookUp({ model, provider, providerApiUrl, at }: PriceQuery): Found {
  const path = `${provider}/`;
  const name = bareName(model.startsWith(path) ? model.slice(path.length) : model);
  // No tokens: the table supplies the rates, and `costOf` does the arithmetic.
  const price = priceTable().calcPrice({}, name, {
    ...pickProvider(name, provider, providerApiUrl),
    timestamp: at,
  });
  if (price === null) return { entry: undefined, changes: 'never' };
  const rates: { -readonly [R in keyof ModelRates]: Rate | undefined } = {};
  for (const [rate, key] of RATE_KEYS) rates[rate] = price.model_price[key] as Rate | undefined;
  if (price.provider.id === 'google') {
    // Its price of input is that of audio too, unless there is one for audio.
    rates.inputAudio ??= rates.input;
    rates.cacheReadAudio ??= rates.cacheRead ?? rates.inputAudio;
  }
  // docs.mistral.ai/studio-api/conversations/advanced/prompt-caching: a tenth, of all models.
  if (price.provider.id === 'mistral' && typeof rates.input === 'number')
    rates.cacheRead ??= rates.input / 10;
  // Its price of output is that of images, unless there is one for images.
  if (price.model.id.startsWith('gpt-image')) rates.outputImage ??= rates.output;
  return { entry: { provider: price.provider.id, rates }, changes: readChanges(price.model.prices) };
}

/** `gemini-2.5-flash` of `models/gemini-2.5-flash` and `projects/p/.../models/gemini-2.5-flash`; Bedrock's id of its ARN. */
function bareName(model: string): string {
  if (model.startsWith('arn:aws:bedrock:')) return model.slice(model.lastIndexOf('/') + 1);
  if (model.startsWith('models/')) return model.slice('models/'.length);
  const path = model.lastIndexOf('/models/');
  return path === -1 ? model : model.slice(path + '/models/'.length);
}

/** An id of Bedrock, with or without the place of an inference profile: `us.anthropic.claude-sonnet-4-20250514-v1:0`. */
const BEDROCK_ID =
  /^(?:[a-z]{2,6}(?:-gov)?\.)?(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral)\.[\w.:-]{1,200}$/;

const HOST = /^[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}$/;

/** Frameworks and proxies that stand where the provider should: the model tells whose it is. */
const NOT_PROVIDERS: ReadonlySet<string> = new Set(
  `agno ai-sdk autogen crewai dspy gateway genkit google-adk haystack instructor langchain langgraph litellm
  litellm_proxy llama_index llamaindex mastra microsoft.agent_framework microsoft.extensions.ai openai-agents
  pydantic-ai pydantic_ai semantic_kernel smolagents spring_ai strands strands-agents vercel`.split(/\s+/),
);

/** The address decides, then the provider, then the model's name where it says whose it is. */
function pickProvider(
  model: string,
  provider: string | undefined,
  providerApiUrl: string | undefined,
): { providerId?: string } {
  const byUrl = providerApiUrl === undefined ? undefined : priceTable().findProvider({ providerApiUrl });
  if (byUrl !== undefined) return { providerId: byUrl.id };
  if (provider !== undefined) {
    const providerId = PROVIDERS.get(provider) ?? provider;
    if (priceTable().findProvider({ providerId }) !== undefined) return { providerId };
    // Some instrumentations name the host.
    const host = HOST.test(provider)
      ? priceTable().findProvider({ providerApiUrl: `https://${provider}` })
      : undefined;
    if (host !== undefined) return { providerId: host.id };
  }
  if (BEDROCK_ID.test(model)) return { providerId: 'aws' };
  // A provider that serves another maker's model has its own prices, or none.
  if (provider !== undefined && !NOT_PROVIDERS.has(provider.toLowerCase())) return { providerId: provider };
  return model.includes('/') ? { providerId: BY_MODEL_PREFIX } : {};
}

/** How often a price can change: dated prices at the start of a UTC day, time-of-day prices at any moment. */
function readChanges(prices: unknown): Found['changes'] {
  if (!Array.isArray(prices)) return 'never';
  const kinds = prices.map(
    (price: { constraint?: { type: string } }) => price.constraint?.type ?? 'start_date',
  );
  return kinds.every((kind) => kind === 'start_date') ? 'daily' : 'hourly';
}
