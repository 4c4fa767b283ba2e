/**
 * The context tax: what the definitions of the tools that a model call offers cost of its input tokens.
 *
 * Providers report the input tokens of a call as one number. What they say of the definitions in it:
 * - OpenAI shows them to the model as a TypeScript namespace (the Harmony format of gpt-oss). A message takes three
 *   tokens beside its text, and the answer another three (OpenAI Cookbook, "How to count tokens with tiktoken").
 * - Anthropic adds a system prompt of its own: 264 to 530 tokens for Claude 3, 346 for Claude 3.5 to 4 ("Tool use with
 *   Claude: pricing"). Recorded calls of Claude 4.5 and later have about 510. Its tokenizer is not public: recorded
 *   texts have 1.2 times as many tokens as with `o200k_base`.
 * - Gemini: recorded calls have 1.05 times the `o200k_base` tokens of the JSON, and 8 more.
 */

import type { TokenUsage } from './cost.ts';
import type { DefinitionForm } from './definition-text.ts';
import { canCountTokens, estimateTokens } from './estimate-tokens.ts';
import { type PriceInput, priceUsage } from './price.ts';

/** How the models of a provider count the definitions they are offered; deviations are one standard deviation. */
export interface TaxModel {
  readonly form: DefinitionForm;
  /** Tokens beside the definitions, however many there are. */
  readonly fixed: number;
  readonly fixedDeviation: number;
  /** Tokens of the provider for one of `o200k_base`, in definitions. */
  readonly scale: number;
  /** Of the definitions, as a share. */
  readonly deviation: number;
  /** As `scale`, in messages. */
  readonly textScale: number;
  /** Of the messages, as a share. */
  readonly textDeviation: number;
  /** Tokens of a message beside its text. */
  readonly perMessage: number;
  /** Tokens of a request beside its messages. */
  readonly perRequest: number;
}

const OPENAI: TaxModel = {
  form: 'typescript',
  fixed: 8,
  fixedDeviation: 40,
  scale: 1,
  deviation: 0.15,
  textScale: 1,
  textDeviation: 0.002,
  perMessage: 4,
  perRequest: 3,
};
const ANTHROPIC: TaxModel = {
  form: 'json',
  fixed: 510,
  fixedDeviation: 100,
  scale: 1.2,
  deviation: 0.15,
  textScale: 1.2,
  textDeviation: 0.1,
  perMessage: 4,
  perRequest: 3,
};
const CLAUDE_BEFORE_4_5: TaxModel = { ...ANTHROPIC, fixed: 346 };
const GEMINI: TaxModel = {
  form: 'json',
  fixed: 8,
  fixedDeviation: 20,
  scale: 1.05,
  deviation: 0.25,
  textScale: 1.05,
  textDeviation: 0.1,
  perMessage: 0,
  perRequest: 0,
};
const OTHER: TaxModel = { ...GEMINI, fixed: 20, fixedDeviation: 100, scale: 1.1, perMessage: 4 };

const OPENAI_NAME = /(^|\/|\.)(gpt-|chatgpt|o[1-9]|codex)/;
const EARLY_CLAUDE = /claude-(?:[123]|(?:opus|sonnet)-4(?:-[01]\b|-20|@|$))/;

/** The counting of a model, by its name and else by its provider. */
export function toTaxModel(provider: string | undefined, model: string | undefined): TaxModel {
  const name = model?.toLowerCase() ?? '';
  if (name.includes('claude') || (name === '' && provider === 'anthropic'))
    return EARLY_CLAUDE.test(name) ? CLAUDE_BEFORE_4_5 : ANTHROPIC;
  if (name.includes('gemini') || (name === '' && provider?.startsWith('gcp.') === true)) return GEMINI;
  return OPENAI_NAME.test(name) || (name === '' && provider === 'openai') ? OPENAI : OTHER;
}

/** Tokens, and the variance of the figure. */
export interface TaxEstimate {
  readonly tokens: number;
  readonly variance: number;
}

/**
 * What a list of definitions costs a call.
 * @param definitionTokens of the texts of all definitions.
 */
export function estimateTax(model: TaxModel, definitionTokens: number): TaxEstimate {
  const own = model.scale * definitionTokens;
  return { tokens: model.fixed + own, variance: model.fixedDeviation ** 2 + (model.deviation * own) ** 2 };
}

/** The texts of a request that holds nothing else than texts: no earlier answers, no calls, no media. */
export interface PlainRequest {
  /** Of each message. */
  readonly texts: readonly string[];
}

/**
 * An estimate corrected by the provider's own count: of what the count differs from the sum of both parts, each part
 * takes the share that its variance has. A count of short messages, or of messages whose tokens are known, makes the
 * figure nearly exact: 265 input tokens, 18 of them in the messages, leave 247 for the definitions.
 * @returns undefined as long as the vocabulary is not read.
 */
export function correctTax(
  model: TaxModel,
  estimate: TaxEstimate,
  request: PlainRequest,
  inputTokens: number,
  modelName: string | undefined,
): TaxEstimate | undefined {
  const name = model.form === 'typescript' && modelName !== undefined ? modelName : TOKENIZED_MODEL;
  if (!canCountTokens(name)) return undefined;
  let text = model.perRequest + model.perMessage * request.texts.length;
  for (const one of request.texts) text += model.textScale * estimateTokens(one, name);
  const textVariance = (model.textDeviation * text) ** 2 + request.texts.length;
  const share = estimate.variance / (estimate.variance + textVariance);
  const tokens = estimate.tokens + share * (inputTokens - text - estimate.tokens);
  return { tokens: Math.max(0, tokens), variance: share * textVariance };
}

/**
 * The counting of a model as one corrected figure shows it: the difference is laid to the fixed part and to the scale,
 * each by its variance. For other lists of the same model.
 */
export function learnTax(model: TaxModel, definitionTokens: number, corrected: TaxEstimate): TaxModel {
  const { tokens, variance } = estimateTax(model, definitionTokens);
  const ofFixed = model.fixedDeviation ** 2 / variance;
  const difference = corrected.tokens - tokens;
  const scale =
    definitionTokens === 0 ? model.scale : model.scale + ((1 - ofFixed) * difference) / definitionTokens;
  return {
    ...model,
    fixed: model.fixed + ofFixed * difference,
    fixedDeviation: model.fixedDeviation / 2,
    scale: Math.max(0, scale),
    deviation: model.deviation / 2,
  };
}

/** The model whose vocabulary is used for those that are not public. */
export const TOKENIZED_MODEL = 'gpt-4o';

/** What a price depends on beside the usage. */
export type CallPrice = Omit<PriceInput, 'usage' | 'providerCostUsd'>;

/**
 * The cost of the first tokens of a prompt, which is where providers put the definitions: what was read from the cache
 * and written to it is the beginning of the prompt. At the rates of the whole call.
 */
export function costOfFirst(tokens: number, usage: TokenUsage, price: CallPrice): number | undefined {
  const { inputTokens: all = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const read = Math.min(tokens, cacheReadTokens);
  const written = Math.min(tokens - read, cacheWriteTokens);
  const parts: readonly (readonly [number, TokenUsage])[] = [
    [tokens - read - written, { inputTokens: all }],
    [read, { inputTokens: all, cacheReadTokens: all }],
    [written, { inputTokens: all, cacheWriteTokens: all }],
  ];
  let cost = 0;
  for (const [part, kind] of parts) {
    if (part === 0) continue;
    const { costUsd } = priceUsage({ ...price, usage: kind });
    if (costUsd === undefined) return undefined;
    cost += (costUsd * part) / all;
  }
  return cost;
}
