import { SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, MCP_SCOPE, semconv } from '../base/index.ts';
import { computeEvidence } from '../evidence/index.ts';
import type { Interaction, InteractionKind } from '../interaction/index.ts';
import { hashableText, sha256Hex } from '../json/index.ts';
import {
  computeSignals,
  estimateTokens,
  type PriceOverrides,
  priceUsage,
  type SignalConfig,
  type TokenUsage,
  writeUsageUnits,
} from '../signals/index.ts';

export interface EnrichOptions {
  /** Which signals are computed, from `resolveSignalConfig`. */
  readonly config: SignalConfig;
  /** Kind of the interaction; tokens are estimated and priced only for model requests. @defaultValue 'model' */
  readonly kind?: InteractionKind | undefined;
  /** Start of the call, which selects the prices. @defaultValue now */
  readonly at?: Date | undefined;
  /** The user's prices from `resolvePriceOverrides`. */
  readonly prices?: PriceOverrides | undefined;
  /** Whether the call failed; without an answer no output tokens are then estimated. */
  readonly failed?: boolean | undefined;
  /** What is known of the call before. @defaultValue nothing */
  readonly memo?: HashMemo | undefined;
}

/**
 * Computes all fields of a call from its interaction: hashes and scores, tokens, cost, the hash of tool arguments.
 * Unknown fields are absent.
 *
 * @throws ObservatoryError `INVALID_INPUT` for tool arguments that are not a JSON value.
 */
export function enrich(interaction: Interaction, options: EnrichOptions): FieldValues {
  const { kind = 'model', memo = new HashMemo() } = options;
  const { model, provider } = interaction;
  const { config } = options;
  const evidence = interaction.evidence ?? computeEvidence(interaction, config);
  const values: Draft = computeSignals(interaction, config, evidence);
  if (model !== undefined) values.model = model;
  if (provider !== undefined) values.provider = provider;
  const hash = memo.hashArguments(interaction);
  if (hash !== undefined) values.tool_args_hash = hash;
  if (kind === 'model' || kind === 'embeddings') addSpend(values, interaction, kind, { ...options, memo });
  else addTokens(values, interaction.usage, interaction);
  return values;
}

/**
 * The fields that {@link enrich} computes, in a quarter of the time, for a tool call that our instrumentation of MCP
 * describes: it says nothing but its arguments that fields are made of.
 * @returns undefined for all others.
 */
export function enrichToolCall(
  span: ReadableSpan,
  attached: Interaction,
  memo: HashMemo,
): FieldValues | undefined {
  if (span.instrumentationScope?.name !== MCP_SCOPE || attached.toolArguments === undefined) return undefined;
  if (span.attributes[semconv.ATTR_MCP_METHOD_NAME] !== 'tools/call') return undefined;
  // A client's parent may be a call that hands on the same object, and changes it before its own end.
  const caller = span.kind === SpanKind.SERVER ? span.parentSpanContext?.spanId : undefined;
  const hash =
    memo.findHash(attached.toolArguments, span.spanContext().spanId) ?? memo.hashArguments(attached, caller);
  return hash === undefined ? undefined : { tool_args_hash: hash };
}

/** Arguments that are remembered at most. */
const MAX_KNOWN_CHARS = 4096;

/** What was computed for the call before, for the next one that has the same. */
export class HashMemo {
  #text = '';
  #hash = sha256Hex('');
  #arguments: unknown;
  #caller: string | undefined;
  #host = '';
  #url = 'https://';

  /**
   * The hash of tool arguments. The spans of one tool call end one after the other: a framework's, the client's, that of a
   * server in memory, which was given what its caller sent.
   * @param caller the id of the span that sent the arguments, on that of a server.
   */
  hashArguments({ toolArguments, toolArgumentsText }: Interaction, caller?: string): string | undefined {
    const text = toolArgumentsText ?? (toolArguments === undefined ? undefined : hashableText(toolArguments));
    if (text === undefined) return undefined;
    const hash = text === this.#text ? this.#hash : sha256Hex(text);
    if (text.length > MAX_KNOWN_CHARS) return hash;
    this.#text = text;
    this.#hash = hash;
    this.#arguments = toolArguments;
    this.#caller = caller;
    return hash;
  }

  /** The hash of the last arguments, if these are the same object and this span has sent it. */
  findHash(toolArguments: unknown, spanId: string): string | undefined {
    return toolArguments === this.#arguments && spanId === this.#caller ? this.#hash : undefined;
  }

  /** The same text again for the host of the call before: it is compared, and not read. */
  urlOf(host: string): string {
    if (host !== this.#host) {
      this.#host = host;
      this.#url = `https://${host}`;
    }
    return this.#url;
  }
}

type Draft = { -readonly [C in keyof FieldValues]: FieldValues[C] };

/** Tokens and cost of a request to a model. */
function addSpend(
  values: Draft,
  interaction: Interaction,
  kind: InteractionKind,
  options: EnrichOptions & { readonly memo: HashMemo },
): void {
  const usage = interaction.usage ?? estimate(interaction, kind, options);
  addTokens(values, usage, interaction);
  if (usage !== interaction.usage) values.tokens_estimated = true;
  if (usage === undefined && interaction.providerCostUsd === undefined) return;
  const { model, provider, serverAddress, serviceTier, requestedModel } = interaction;
  const { costUsd, costSource } = priceUsage({
    usage,
    model,
    provider,
    providerApiUrl: serverAddress === undefined ? undefined : options.memo.urlOf(serverAddress),
    serviceTier,
    requestedModel,
    providerCostUsd: interaction.providerCostUsd,
    isCostComputed: interaction.isCostComputed,
    at: options.at ?? new Date(),
    overrides: options.prices,
  });
  if (costUsd !== undefined) values.cost_usd = costUsd;
  values.cost_source = costSource;
}

/**
 * Estimates usage the provider did not report. A partial estimate would give a wrong cost, so there is none without the
 * answer, unless no answer is expected.
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

function addTokens(
  values: Draft,
  usage: TokenUsage | undefined,
  { serviceTier, serverAddress }: Interaction,
): void {
  if (usage === undefined) return;
  if (usage.inputTokens !== undefined) values.prompt_tokens = usage.inputTokens;
  if (usage.outputTokens !== undefined) values.completion_tokens = usage.outputTokens;
  if (usage.cacheReadTokens !== undefined) values.cached_prompt_tokens = usage.cacheReadTokens;
  if (usage.cacheWriteTokens !== undefined) values.cache_write_tokens = usage.cacheWriteTokens;
  if (usage.reasoningTokens !== undefined) values.reasoning_tokens = usage.reasoningTokens;
  if (usage.disagrees === true) values.tokens_disagree = true;
  const units = writeUsageUnits(usage, serviceTier, serverAddress);
  if (units !== undefined) values.usage_units = units;
}
