import type { FieldValues } from '../base/index.ts';
import type { Interaction, InteractionKind } from '../interaction/index.ts';
import { canonicalHash } from '../json/index.ts';
import {
  computeSignals,
  estimateTokens,
  type PriceOverrides,
  priceUsage,
  type SignalConfig,
  type TokenUsage,
} from '../signals/index.ts';

export interface EnrichOptions {
  /** Which signals are computed, as `resolveSignalConfig` gives it. */
  readonly config: SignalConfig;
  /** What the interaction is; only requests to a model have tokens estimated and a cost. @defaultValue 'model' */
  readonly kind?: InteractionKind | undefined;
  /** When the call started: prices change over time. @defaultValue now */
  readonly at?: Date | undefined;
  /** Prices of the user's own, as `resolvePriceOverrides` gives them. */
  readonly prices?: PriceOverrides | undefined;
  /** Whether the call ended in an error; without an answer it then used nothing that could be estimated. */
  readonly failed?: boolean | undefined;
}

/**
 * Composes everything that is known of a call from what it said: hashes and scores, tokens, cost, the hash of tool
 * arguments. Pure but for the clock where `at` is not given. A field that cannot be told is absent.
 *
 * @throws ObservatoryError `INVALID_INPUT` for tool arguments that are no JSON value.
 */
export function enrich(interaction: Interaction, options: EnrichOptions): FieldValues {
  const { kind = 'model' } = options;
  const { model, provider, toolArguments } = interaction;
  const values: Draft = { ...computeSignals(interaction, options.config) };
  if (model !== undefined) values.model = model;
  if (provider !== undefined) values.provider = provider;
  if (toolArguments !== undefined) values.tool_args_hash = canonicalHash(toolArguments);
  if (kind === 'model' || kind === 'embeddings') addSpend(values, interaction, kind, options);
  else addTokens(values, interaction.usage);
  return values;
}

type Draft = { -readonly [C in keyof FieldValues]: FieldValues[C] };

/** Tokens and cost of a request to a model. */
function addSpend(
  values: Draft,
  interaction: Interaction,
  kind: InteractionKind,
  options: EnrichOptions,
): void {
  const usage = interaction.usage ?? estimate(interaction, kind, options);
  addTokens(values, usage);
  if (usage !== interaction.usage) values.tokens_estimated = true;
  if (usage === undefined && interaction.providerCostUsd === undefined) return;
  const { model, provider, serverAddress, serviceTier, providerCostUsd } = interaction;
  const { costUsd, costSource } = priceUsage({
    usage,
    model,
    provider,
    providerApiUrl: serverAddress === undefined ? undefined : `https://${serverAddress}`,
    serviceTier,
    providerCostUsd,
    at: options.at ?? new Date(),
    overrides: options.prices,
  });
  if (costUsd !== undefined) values.cost_usd = costUsd;
  values.cost_source = costSource;
}

/**
 * Estimates usage the provider did not report. Half an estimate would give a wrong cost, so there is none when the
 * answer is not known, unless no answer was to be expected.
 */
function estimate(
  interaction: Interaction,
  kind: InteractionKind,
  options: EnrichOptions,
): TokenUsage | undefined {
  const { prompt, answer, model } = interaction;
  if (prompt === undefined) return undefined;
  if (kind === 'embeddings') {
    return options.failed === true ? undefined : { inputTokens: estimateTokens(prompt, model) };
  }
  if (answer === undefined) return undefined;
  return { inputTokens: estimateTokens(prompt, model), outputTokens: estimateTokens(answer, model) };
}

function addTokens(values: Draft, usage: TokenUsage | undefined): void {
  if (usage === undefined) return;
  if (usage.inputTokens !== undefined) values.prompt_tokens = usage.inputTokens;
  if (usage.outputTokens !== undefined) values.completion_tokens = usage.outputTokens;
  if (usage.cacheReadTokens !== undefined) values.cached_prompt_tokens = usage.cacheReadTokens;
  if (usage.cacheWriteTokens !== undefined) values.cache_write_tokens = usage.cacheWriteTokens;
  if (usage.reasoningTokens !== undefined) values.reasoning_tokens = usage.reasoningTokens;
}
