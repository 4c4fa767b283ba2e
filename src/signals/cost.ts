import { FEE_UNITS, FEES, type FeeUnit } from '../base/index.ts';

/** Tokens of one model call, in the sense of semconv 1.41: input includes cached tokens, output includes reasoning. */
export interface TokenUsage extends Readonly<Partial<Record<FeeUnit, number | undefined>>> {
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
  /** Parts of `inputTokens`, cached ones included, that are not text. */
  readonly inputAudioTokens?: number | undefined;
  readonly inputImageTokens?: number | undefined;
  readonly inputVideoTokens?: number | undefined;
  /** Parts of `cacheReadTokens` that are not text. */
  readonly cacheReadAudioTokens?: number | undefined;
  readonly cacheReadImageTokens?: number | undefined;
  /** Parts of `outputTokens` that are not text. */
  readonly outputAudioTokens?: number | undefined;
  readonly outputImageTokens?: number | undefined;
  readonly outputVideoTokens?: number | undefined;
  /** Tokens of citations, beside the output (Perplexity). */
  readonly citationTokens?: number | undefined;
  /** Seconds of the audio that was given, which some transcriptions cost in place of tokens. */
  readonly audioSeconds?: number | undefined;
  /** What else the price depends on, in the provider's words: `speed fast`, `geo us`, `traffic ON_DEMAND_FLEX`. */
  readonly modes?: readonly string[] | undefined;
  /** The requests that this is the sum of, where the provider made several; each is priced by itself. */
  readonly requests?: readonly RequestUsage[] | undefined;
  /** The parts do not add up to the total that was reported beside them. The counts are as reported. */
  readonly disagrees?: boolean | undefined;
}

/** Tokens of one of several requests behind a call. */
export interface RequestUsage extends TokenUsage {
  /** @defaultValue the model of the call */
  readonly model?: string | undefined;
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

/** Rates of a model's tokens. Cached tokens, reasoning and media of the input without a rate are charged as text is. */
export interface ModelRates extends Readonly<Partial<Record<FeeUnit, Rate | undefined>>> {
  readonly input?: Rate | undefined;
  readonly output?: Rate | undefined;
  readonly cacheRead?: Rate | undefined;
  readonly cacheWrite?: Rate | undefined;
  readonly cacheWrite1h?: Rate | undefined;
  readonly reasoning?: Rate | undefined;
  readonly inputAudio?: Rate | undefined;
  readonly inputImage?: Rate | undefined;
  readonly inputVideo?: Rate | undefined;
  readonly cacheReadAudio?: Rate | undefined;
  readonly cacheReadImage?: Rate | undefined;
  readonly outputAudio?: Rate | undefined;
  readonly outputImage?: Rate | undefined;
  readonly outputVideo?: Rate | undefined;
  readonly citation?: Rate | undefined;
  /** US dollars per thousand requests. */
  readonly requests?: Rate | undefined;
  /** US dollars per hour of the audio that was given. */
  readonly audioHours?: Rate | undefined;
}

/** A cost in US dollars, `fees` for requests and searches apart; or a word for what its rates or counts lack. */
export type CallCost =
  | { readonly tokensUsd: number; readonly feesUsd: number; readonly missing?: undefined }
  | { readonly missing: string };

const PER_MILLION = 1e6;
const PER_THOUSAND = 1e3;
const SECONDS_PER_HOUR = 3600;

/**
 * The cost of one call in US dollars.
 *
 * With 100,000 input tokens, 90,000 of them from the cache, and 2,000 output tokens, at 2.50, 1.25 and 10 dollars:
 * (10,000 * 2.50 + 90,000 * 1.25 + 2,000 * 10) / 1,000,000 = 0.1575.
 *
 * @returns what is missing when the usage lacks the input count, is inconsistent (parts exceed their whole, invalid
 * counts), or counts something without a rate.
 */
export function toCost(usage: TokenUsage, rates: ModelRates): CallCost {
  const { inputTokens: input, audioSeconds } = usage;
  if (input === undefined && audioSeconds !== undefined) {
    if (rates.audioHours === undefined) return { missing: 'audio_seconds' };
    return { tokensUsd: (audioSeconds * rateAt(rates.audioHours, 0)) / SECONDS_PER_HOUR, feesUsd: 0 };
  }
  if (input === undefined) return { missing: 'tokens' };
  if (usage.disagrees === true || !isCount(input)) return { missing: 'tokens_disagree' };
  const parts = listParts(usage, rates);
  if (typeof parts === 'string') return { missing: parts };
  let tokensUsd = 0;
  for (const [tokens, rate, unit] of parts) {
    if (tokens === 0) continue;
    if (!isCount(tokens)) return { missing: 'tokens_disagree' };
    if (rate === undefined) return { missing: unit };
    tokensUsd += (tokens * rateAt(rate, input)) / PER_MILLION;
  }
  let feesUsd = rateAt(rates.requests ?? 0, input) / PER_THOUSAND;
  for (const unit of FEE_UNITS) {
    const { [unit]: count = 0 } = usage;
    const rate = rates[unit];
    if (count === 0) continue;
    if (rate === undefined) return { missing: FEES[unit].word };
    feesUsd += (count * rateAt(rate, input)) / PER_THOUSAND;
  }
  return { tokensUsd, feesUsd };
}

type Part = readonly [tokens: number, rate: Rate | undefined, unit: string];

/** Tokens by rate, none of them twice; a word for why they cannot be told apart. */
function listParts(usage: TokenUsage, rates: ModelRates): readonly Part[] | string {
  const { inputTokens: input = 0, outputTokens: output = 0, cacheReadTokens: read = 0 } = usage;
  const { cacheWrite1hTokens: write1h = 0, cacheWriteTokens: write = write1h } = usage;
  const { inputAudioTokens: audio = 0, inputImageTokens: image = 0, inputVideoTokens: video = 0 } = usage;
  const { reasoningTokens: reasoning = 0, citationTokens: citation = 0 } = usage;
  const {
    outputAudioTokens: spoken = 0,
    outputImageTokens: drawn = 0,
    outputVideoTokens: filmed = 0,
  } = usage;
  const { input: text, cacheRead = text, cacheWrite = text } = rates;
  const cachedAudio = cachedPart(read, input, audio, usage.cacheReadAudioTokens, rates.inputAudio, text);
  const cachedImage = cachedPart(read, input, image, usage.cacheReadImageTokens, rates.inputImage, text);
  if (cachedAudio === undefined) return 'cached_audio';
  if (cachedImage === undefined) return 'cached_image';
  return [
    [input - read - write - (audio - cachedAudio) - (image - cachedImage) - video, text, 'input'],
    [audio - cachedAudio, rates.inputAudio, 'input_audio'],
    [image - cachedImage, rates.inputImage ?? text, 'input_image'],
    [video, rates.inputVideo ?? text, 'input_video'],
    [read - cachedAudio - cachedImage, cacheRead, 'cached'],
    [cachedAudio, rates.cacheReadAudio, 'cached_audio'],
    [
      cachedImage,
      rates.cacheReadImage ?? (rates.inputImage === undefined ? cacheRead : undefined),
      'cached_image',
    ],
    [write - write1h, cacheWrite, 'cache_write'],
    [write1h, rates.cacheWrite1h ?? (rates.cacheWrite === undefined ? text : undefined), 'cache_write_1h'],
    [output - reasoning - spoken - drawn - filmed, rates.output, 'output'],
    [reasoning, rates.reasoning ?? rates.output, 'reasoning'],
    [spoken, rates.outputAudio, 'output_audio'],
    [drawn, rates.outputImage, 'output_image'],
    [filmed, rates.outputVideo, 'output_video'],
    [rates.citation === undefined ? 0 : citation, rates.citation, 'citation'],
  ];
}

/** Cached tokens that are not text; undefined where that is not told and makes a difference. */
function cachedPart(
  read: number,
  input: number,
  tokens: number,
  told: number | undefined,
  rate: Rate | undefined,
  text: Rate | undefined,
): number | undefined {
  if (told !== undefined) return told;
  if (read === 0 || tokens === 0) return 0;
  // All is cached, or all that is no text costs the same.
  if (read === input) return tokens;
  return rate === undefined || rate === text ? 0 : undefined;
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
