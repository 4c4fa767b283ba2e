import { invalidOption, matchesParts, ObservatoryError } from '../base/index.ts';
import type { ModelRates } from './cost.ts';

/**
 * Prices set by the user, in US dollars per million tokens. A kind without a price is charged as the kind it is part
 * of.
 */
export interface PriceOverride {
  /** The model's name, in any case; `*` matches any characters: `gpt-4o`, `my-finetune-*`. */
  readonly model: string;
  /** Only for this provider, in the words of the semantic conventions. @defaultValue any */
  readonly provider?: string | undefined;
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
  readonly cacheReadUsdPerMillion?: number | undefined;
  readonly cacheWriteUsdPerMillion?: number | undefined;
  /** For cache entries that live an hour (Anthropic). */
  readonly cacheWrite1hUsdPerMillion?: number | undefined;
  readonly reasoningUsdPerMillion?: number | undefined;
  readonly inputAudioUsdPerMillion?: number | undefined;
  readonly outputAudioUsdPerMillion?: number | undefined;
  readonly outputImageUsdPerMillion?: number | undefined;
  /** For searches of the web that the provider makes; without it a call with searches has no cost. */
  readonly webSearchUsdPerThousand?: number | undefined;
}

/** Overrides checked and made ready by {@link resolvePriceOverrides}. */
export interface PriceOverrides {
  /** The rates of the first override that names the model. */
  find(model: string, provider: string | undefined): ModelRates | undefined;
}

const PRICES = [
  'inputUsdPerMillion',
  'outputUsdPerMillion',
  'cacheReadUsdPerMillion',
  'cacheWriteUsdPerMillion',
  'cacheWrite1hUsdPerMillion',
  'reasoningUsdPerMillion',
  'inputAudioUsdPerMillion',
  'outputAudioUsdPerMillion',
  'outputImageUsdPerMillion',
  'webSearchUsdPerThousand',
] as const;

const REQUIRED: ReadonlySet<string> = new Set(['inputUsdPerMillion', 'outputUsdPerMillion']);
const KEYS: ReadonlySet<string> = new Set(['model', 'provider', ...PRICES]);

/**
 * Validates overrides. The first match wins, so put specific names before general ones.
 *
 * @throws ObservatoryError `INVALID_OPTION` that names the entry, the key and the value seen.
 */
export function resolvePriceOverrides(overrides: readonly PriceOverride[]): PriceOverrides {
  if (!Array.isArray(overrides)) throw invalidOption('the price overrides', 'an array', overrides);
  const entries = overrides.map(resolve);
  return {
    find(model, provider) {
      const name = model.toLowerCase();
      const entry = entries.find(
        (candidate) =>
          (candidate.provider === undefined || candidate.provider === provider) &&
          matchesParts(name, candidate.parts),
      );
      return entry?.rates;
    },
  };
}

interface Entry {
  /** The model's name, split at the stars. */
  readonly parts: readonly string[];
  readonly provider: string | undefined;
  readonly rates: ModelRates;
}

function resolve(override: PriceOverride, index: number): Entry {
  const at = `price override ${index}`;
  if (typeof override !== 'object' || override === null) throw invalidOption(at, 'an object', override);
  const unknown = Object.keys(override).find((key) => !KEYS.has(key));
  if (unknown !== undefined) {
    const known = [...KEYS].join(', ');
    throw new ObservatoryError('INVALID_OPTION', `Unknown key \`${unknown}\` in ${at}; known are ${known}`);
  }
  const { model, provider } = override;
  if (typeof model !== 'string' || model === '')
    throw invalidOption(`\`model\` of ${at}`, 'a non-empty string', model);
  if (provider !== undefined && typeof provider !== 'string') {
    throw invalidOption(`\`provider\` of ${at}`, 'a string', provider);
  }
  for (const key of PRICES) {
    const price = override[key];
    if (price === undefined && !REQUIRED.has(key)) continue;
    if (typeof price !== 'number' || !Number.isFinite(price) || price < 0) {
      throw invalidOption(`\`${key}\` of ${at}`, 'a number from 0 up', price);
    }
  }
  const { inputUsdPerMillion: input, outputUsdPerMillion: output } = override;
  const cacheRead = override.cacheReadUsdPerMillion;
  return {
    parts: model.toLowerCase().split('*'),
    provider,
    rates: {
      input,
      output,
      cacheRead,
      cacheWrite: override.cacheWriteUsdPerMillion,
      cacheWrite1h: override.cacheWrite1hUsdPerMillion ?? override.cacheWriteUsdPerMillion,
      reasoning: override.reasoningUsdPerMillion,
      inputAudio: override.inputAudioUsdPerMillion ?? input,
      cacheReadAudio: cacheRead ?? input,
      outputAudio: override.outputAudioUsdPerMillion ?? output,
      outputImage: override.outputImageUsdPerMillion ?? output,
      outputVideo: output,
      webSearches: override.webSearchUsdPerThousand,
    },
  };
}
