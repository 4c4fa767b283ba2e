/** In what mode a call was served, and what that does to the price of its tokens. */
import { isObject, type JsonObject, readObject, toText } from '../json/index.ts';
import type { TokenUsage } from './cost.ts';

/** Members of usage objects that say how a call was served, and the words that our modes begin with. */
const MODE_MEMBERS = [
  ['speed', 'speed'],
  ['inference_geo', 'geo'],
  ['trafficType', 'traffic'],
  ['traffic_type', 'traffic'],
  ['service_tier', 'tier'],
  ['serviceTier', 'tier'],
] as const;

const MAX_WORD = 40;

/** The modes that a usage object tells, whatever they do to the price. */
export function readModes(usage: JsonObject): readonly string[] {
  return MODE_MEMBERS.flatMap(([member, word]) => {
    const mode = toText(usage[member]);
    return mode ? [`${word} ${mode.slice(0, MAX_WORD)}`] : [];
  });
}

/** The service tier in an answer, or in what a framework keeps of one: a word, or `{type}` as Bedrock has it. */
export function readServiceTier(value: unknown): string | undefined {
  const told = isObject(value) ? (value.serviceTier ?? value.service_tier) : undefined;
  return toText(told) ?? toText(readObject(told).type);
}

/** What a mode may be called that does not change the price, in lower case. */
const STANDARD_MODES: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'standard',
  'standard_only',
  'on_demand',
  'traffic_type_unspecified',
  'unspecified',
  'global',
  'not_available',
]);

/** Modes of a call of which nobody tells what was read from a cache, or in which place of Bedrock it was served. */
export const CACHE_UNTOLD = 'cache untold';
export const PLACE_UNTOLD = 'place untold';

const NO_MODES: readonly string[] = [];

/**
 * The modes of a call that may change its price.
 * @param address host or URL that the request went to, which may stand for a place.
 */
export function listModes(
  modes: readonly string[] = NO_MODES,
  serviceTier?: string,
  address?: string,
): readonly string[] {
  const region = address === undefined ? undefined : findRegion(address);
  if (modes.length === 0 && !serviceTier && region === undefined) return NO_MODES;
  const tier = serviceTier ? [`tier ${serviceTier.slice(0, MAX_WORD)}`] : [];
  const all = [...modes, ...tier, ...(region === undefined ? [] : [`region ${region}`])];
  return [...new Set(all)].filter((mode) => !STANDARD_MODES.has(splitWords(mode).word));
}

function splitWords(mode: string): { readonly kind: string; readonly word: string } {
  const space = mode.indexOf(' ');
  const kind = mode.slice(0, space);
  // Vertex AI's word for a tier.
  return { kind: kind === 'traffic' ? 'tier' : kind, word: mode.slice(space + 1).toLowerCase() };
}

/** Addresses that serve one place only: OpenAI's `eu.api.openai.com`, Vertex AI's `us-east5-aiplatform.googleapis.com`. */
const REGIONS: readonly RegExp[] = [
  /^(?:https:\/\/)?([a-z]{2})\.api\.openai\.com\b/,
  /^(?:https:\/\/)?([a-z]+-[a-z]+\d+)-aiplatform\.googleapis\.com\b/,
  /^(?:https:\/\/)?aiplatform\.([a-z]{2})\.rep\.googleapis\.com\b/,
];

function findRegion(address: string): string | undefined {
  for (const region of REGIONS) {
    const found = region.exec(address)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A mode at a published multiple of the table's price of tokens. */
interface PricedMode {
  /** Provider in the table's words, and mode. */
  readonly mode: string;
  readonly factor: number;
  /** Where that is published. */
  readonly source: string;
  /** Models whose published price in this mode is another. */
  readonly except?: RegExp;
  /** The factor is that of text: that of cached tokens and audio depends on the model. */
  readonly isOfText?: true;
}

/** LiteLLM's model_prices_and_context_window.json has other prices for these in batch and flex. */
const OPENAI_OTHERS = /^(?:ft:|gpt-3\.5-turbo-1106|gpt-5\.4|gpt-image|o4-mini)/;

/** The price of all other modes, such as `priority` and `fast`, depends on model or contract, and is unknown here. */
const PRICED_MODES: readonly PricedMode[] = [
  {
    mode: 'openai tier batch',
    factor: 0.5,
    source: 'developers.openai.com/api/docs/guides/batch',
    except: OPENAI_OTHERS,
  },
  {
    mode: 'openai tier flex',
    factor: 0.5,
    source: 'developers.openai.com/api/docs/guides/flex-processing: at the rates of the Batch API',
    except: OPENAI_OTHERS,
  },
  {
    mode: 'azure tier batch',
    factor: 0.5,
    source: 'learn.microsoft.com/azure/ai-foundry/openai/how-to/batch',
    except: OPENAI_OTHERS,
  },
  {
    mode: 'azure tier flex',
    factor: 0.5,
    source: 'learn.microsoft.com/azure/foundry/openai/how-to/flex-processing',
    except: OPENAI_OTHERS,
  },
  {
    mode: 'openai tool web_search_preview',
    factor: 1,
    source:
      'developers.openai.com/api/docs/pricing: its searches cost as others do in models that reason alone',
    except: /^(?:ft:|gpt-4|chatgpt-4)/,
  },
  {
    mode: 'anthropic tier batch',
    factor: 0.5,
    source: 'platform.claude.com/docs/en/about-claude/pricing, "Batch processing"',
  },
  {
    mode: 'anthropic geo us',
    factor: 1.1,
    source:
      'platform.claude.com/docs/en/about-claude/pricing, "Data residency pricing": all categories of tokens',
  },
  {
    mode: 'google tier batch',
    factor: 0.5,
    source: 'ai.google.dev/gemini-api/docs/optimization',
    isOfText: true,
  },
  {
    mode: 'google tier flex',
    factor: 0.5,
    source: 'ai.google.dev/gemini-api/docs/optimization',
    isOfText: true,
  },
  {
    mode: 'google traffic on_demand_flex',
    factor: 0.5,
    source: 'docs.cloud.google.com/vertex-ai/generative-ai/docs/flex-paygo',
    isOfText: true,
  },
];

const BY_MODE: ReadonlyMap<string, PricedMode> = new Map(PRICED_MODES.map((priced) => [priced.mode, priced]));

/** What is charged: whose table, which model, what of it. */
export interface Charged {
  readonly provider: string;
  readonly model: string;
  readonly usage: TokenUsage;
}

/** The factor of modes that {@link listModes} gave, or the one whose factor is unknown. */
export function priceModes(modes: readonly string[], charged: Charged): number | string {
  const factors = new Map<string, number>();
  for (const mode of modes) {
    const { kind, word } = splitWords(mode);
    const factor = kind === 'region' ? regionFactor(charged) : findFactor(mode, charged);
    // Two doors may tell the same of one call, each in its words.
    if (factor === undefined || (factors.get(kind) ?? factor) !== factor)
      return `${mode.slice(0, mode.indexOf(' '))} ${word}`;
    factors.set(kind, factor);
  }
  return [...factors.values()].reduce((product, factor) => product * factor, 1);
}

function findFactor(mode: string, { provider, model, usage }: Charged): number | undefined {
  const priced = BY_MODE.get(`${provider} ${mode.toLowerCase()}`);
  if (priced === undefined || priced.except?.test(model) === true) return undefined;
  const isText = !usage.cacheReadTokens && !usage.inputAudioTokens;
  return priced.isOfText === true && !(isText && /^gemini/.test(model)) ? undefined : priced.factor;
}

/**
 * Inference in one place. OpenAI: 1.1 for models released on or after March 5, 2026, which not all names tell
 * (developers.openai.com/api/docs/guides/data-residency). Claude on Vertex AI: 1.1 from Claude Sonnet 4.5 on
 * (platform.claude.com/docs/en/about-claude/pricing); Gemini there: the same price up to 2.5.
 */
export function regionFactor({ provider, model }: Charged): number | undefined {
  if (provider === 'openai') {
    const released = /-(20\d\d-\d\d-\d\d)$/.exec(model)?.[1];
    if (released === undefined) return undefined;
    return released < '2026-03-05' ? 1 : 1.1;
  }
  const name = model.slice(model.lastIndexOf('/') + 1);
  if (
    /^gemini-(?:1\.|2\.)/.test(name) ||
    /^claude-(?:3|(?:opus|sonnet)-4(?:-[01])?(?:[@-]20\d{6})?$)/.test(name)
  )
    return 1;
  return name.startsWith('claude-') ? 1.1 : undefined;
}
