/**
 * Token counts of a span as the semantic conventions define them: input includes tokens read from and written to the
 * provider's cache, output includes reasoning.
 */

import { diag } from '@opentelemetry/api';
import { type AttributeColumn, FEE_UNITS, isOwnScope } from '../base/index.ts';
import { isObject, type JsonObject, readList, toText } from '../json/index.ts';
import {
  CACHE_UNTOLD,
  PLACE_UNTOLD,
  readReportedCost,
  readServiceTier,
  readUsageObject,
  readUsageUnits,
  saysOtherCurrency,
  type TokenUsage,
  UsageReader,
} from '../signals/index.ts';
import { interactionKind, isModelCall, isOfBatch } from './kind.ts';
import { EXCLUSIVE, findKnownScope, hasNoNameOfCache } from './known-scopes.ts';
import { readJsonObject, type Scalars, type UsageObject } from './scalars.ts';
import type { SpanView } from './span-view.ts';
import type { Interaction } from './types.ts';

const USAGE_COLUMNS: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'cached_prompt_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'usage_units',
  'tokens_disagree',
  'tokens_estimated',
  'cost_usd',
  'cost_source',
  'offered_tools_tokens',
  'offered_tools_cost_usd',
] satisfies AttributeColumn[]);

/** Whether a column holds tokens or cost, which are counted on one span of a call. */
export function isUsageColumn(column: string): boolean {
  return USAGE_COLUMNS.has(column);
}

export interface ReportedUsage {
  readonly usage?: TokenUsage | undefined;
  readonly costUsd?: number | undefined;
  readonly isCostComputed?: boolean | undefined;
  readonly serviceTier?: string | undefined;
}

/**
 * The usage and cost on a span, in any dialect; without `usage` when the span has no counts.
 * @param scalars of the span.
 */
export function readUsage(
  span: SpanView,
  scalars: Scalars,
  provider: string | undefined,
  model: string | undefined = scalars.model,
): ReportedUsage {
  const { attributes } = span;
  const metadata = readMetadata(attributes['ai.response.providerMetadata']);
  const objects = [...metadata.flatMap(readUsages), ...ownObjects(span, scalars.usageObjects)];
  const ofCall = { ...scalars, provider, model: scalars.model ?? model };
  const counts = readCounts(span, ofCall, objects);
  // What the provider's answer says goes before what an instrumentation made of a list of prices.
  const usd = counts === undefined ? undefined : scalars.answered?.costUsd;
  const reported = scalars.cost?.isComputed === true ? undefined : scalars.cost;
  const cost = scalars.isOfOtherCurrency
    ? undefined
    : (reported ??
      (usd === undefined ? scalars.cost : { usd, isComputed: false }) ??
      readCost(
        [...metadata, ...objects.map(({ object }) => object)],
        objects.map(({ whole }) => whole),
      ));
  return {
    usage: withUntold(withFees(counts, scalars.answered?.usage), span, ofCall, objects.length),
    costUsd: cost?.usd,
    isCostComputed: cost?.isComputed === true ? true : undefined,
    serviceTier: scalars.serviceTier ?? tierIn(metadata) ?? (isOfBatch(attributes) ? 'batch' : undefined),
  };
}

function readCounts(
  span: SpanView,
  { counts = new UsageReader(), model, provider }: Scalars,
  objects: readonly UsageObject[],
): TokenUsage | undefined {
  const { attributes } = span;
  // Our own estimate is not reported usage.
  if (attributes['observatory.tokens_estimated'] === true) return undefined;
  const isExclusive = countsNet(provider, model);
  for (const { object, attribute } of objects) {
    const usage = readUsageObject(object, { model, attribute, isExclusive });
    // A whole usage is more than the instrumentation made of it, unless that tells of a cache and it does not.
    const isWhole = usage?.inputTokens !== undefined && usage.outputTokens !== undefined;
    if (isWhole && (usage.cacheReadTokens !== undefined || !counts.tellsCache)) {
      // Anthropic's of the start of a stream has the output of then.
      return isExclusive && usage.outputTokens < counts.output
        ? { ...usage, outputTokens: counts.output }
        : usage;
    }
    counts.takeObject(object, attribute);
  }
  const usage = counts.settle({ model, isExclusive, passesCountsOn: passesCountsOn(span, provider) });
  const units = attributes['observatory.usage_units'];
  if (usage?.inputTokens !== undefined && matchSpan(span, knownScope(span)?.countsTwice))
    return { ...usage, inputTokens: usage.inputTokens - (usage.cacheReadTokens ?? 0) };
  if (usage === undefined || units === undefined) return usage;
  return { ...usage, ...readUsageUnits(readJsonObject(units)) };
}

/** With what the provider's answer says is charged beside its tokens. */
function withFees(
  usage: TokenUsage | undefined,
  { modes = [], ...answered }: TokenUsage = {},
): TokenUsage | undefined {
  if (usage === undefined) return usage;
  const fees = FEE_UNITS.flatMap((unit) => (answered[unit] === undefined ? [] : [[unit, answered[unit]]]));
  const all = [...(usage.modes ?? []), ...modes];
  return { ...Object.fromEntries(fees), ...usage, ...(all.length === 0 ? {} : { modes: all }) };
}

/** Whether the provider's own input leaves out cached tokens. */
const countsNet = (provider: string | undefined, model: string | undefined): boolean =>
  EXCLUSIVE.has(provider) || /claude/i.test(model ?? '');

/** Whether the input leaves out cached tokens, whatever the total says. AI SDK 4 and 5 pass it on; 6 has it apart. */
function passesCountsOn(span: SpanView, provider: string | undefined): boolean {
  const passesOn = knownScope(span)?.passesOn;
  if (passesOn === 'all' || (provider && passesOn?.split(' ').includes(provider))) return true;
  if (!EXCLUSIVE.has(provider)) return false;
  if (isOfAwsSdk(span)) return true;
  return (
    toText(span.attributes['ai.operationId']) !== undefined &&
    span.attributes['ai.usage.inputTokenDetails.noCacheTokens'] === undefined
  );
}

function tierIn(metadata: readonly JsonObject[]): string | undefined {
  return metadata
    .flatMap((told) => [told, told.usage, told.usageMetadata])
    .map(readServiceTier)
    .find((tier) => tier !== undefined);
}

/** What each provider told the AI SDK, beside what that makes of it. */
function readMetadata(value: unknown): readonly JsonObject[] {
  return value === undefined ? [] : Object.values(readJsonObject(value) ?? {}).filter(isObject);
}

function readUsages(told: JsonObject): readonly UsageObject[] {
  const usages = [told.usage, told.usageMetadata].filter(isObject);
  return (usages.length === 0 ? [told] : usages).map((object) => ({ object }));
}

/** OpenAI and Google read of their own accord from their caches from this many tokens on; others from fewer. */
const MIN_CACHED = 1024;
const WITH_MIN_CACHED = /^(?:openai|azure\.|gcp\.|undefined$)/;

const knownScope = ({ instrumentationScope: scope, attributes }: SpanView) =>
  findKnownScope(scope?.name) ?? findKnownScope(toText(attributes['sentry.origin']));

const matchSpan = (span: SpanView, spans: RegExp | undefined): boolean =>
  spans?.test(`${span.instrumentationScope?.version} ${span.name}`) === true;

/** The spans of Spring AI 1, which runs on Spring Boot 3 and has its tracer. */
export function isSpringAi1({ instrumentationScope: scope }: SpanView): boolean {
  return scope?.name === 'org.springframework.boot' && scope.version?.startsWith('3.') === true;
}

/** The spans of the AWS SDK itself. */
const isOfAwsSdk = ({ attributes }: SpanView) => attributes['rpc.system'] === 'aws-api';

/** Whether what is written of a call has no place for what was read from a cache. */
function leavesOutCache(
  span: SpanView,
  provider: string | undefined,
  isExclusive: boolean,
  objects: number,
): boolean {
  const { attributes, droppedAttributesCount = 0, instrumentationScope } = span;
  // A span that was full may have dropped it. Ours has its figures beyond the limit.
  if (droppedAttributesCount > 0 && !isOwnScope(instrumentationScope?.name)) return true;
  // OpenInference: of what was read and what was written, without saying how much of which.
  if (attributes['llm.token_count.prompt_details.cache_input'] !== undefined) return true;
  // AI SDK 5, of a whole answer.
  if (attributes['ai.usage.promptTokens'] !== undefined) return provider === 'openai';
  // Genkit's and MLflow's own usage, without the provider's answer beside it.
  if (attributes['genkit:output'] !== undefined) return objects < 2;
  if (attributes['mlflow.chat.tokenUsage'] !== undefined) return objects < 2 && isExclusive;
  // LangChain4j's langchain4j-observation: ChatModelDocumentation.java.
  if (attributes.input_tokens !== undefined && attributes.outcome !== undefined) return true;
  const known = knownScope(span);
  if (hasNoNameOfCache(span.instrumentationScope?.schemaUrl, known)) return true;
  if (known?.hidesIn !== undefined) return matchSpan(span, known.hidesIn);
  return isOfAwsSdk(span) || isSpringAi1(span) || /^cache(?: and|$)/.test(known?.hides ?? '');
}

/** Whether tools of the provider were offered, in the words of OpenInference. Those of the program are functions. */
const offersOthersTools = ({ attributes }: SpanView): boolean =>
  Object.entries(attributes).some(
    ([name, tool]) => /^llm\.tools\.\d+\.tool\.json/.test(name) && !/"type": ?"function"/.test(String(tool)),
  );

/** What tools of Gemini read is beside the input of rig, and in that of the Agent Development Kit for Go. */
const tellsToolPrompt = ({ attributes }: SpanView): boolean =>
  Number(attributes['gen_ai.usage.tool_use_prompt_tokens']) > 0;

const THOUGHTS_UNTOLD = 'thoughts untold';
const tellsTotal = ({ attributes }: SpanView) =>
  (attributes['gen_ai.usage.total_tokens'] ?? attributes['llm.usage.total_tokens']) !== undefined;

/** With notes of what the price depends on and nobody tells: what was read from a cache, and in which place. */
function withUntold(
  usage: TokenUsage | undefined,
  span: SpanView,
  { provider, model }: Scalars,
  objects: number,
): TokenUsage | undefined {
  if (usage === undefined) return usage;
  const untold: string[] = [];
  const scope = knownScope(span);
  const isExclusive = countsNet(provider, model) || scope?.passesOn === 'all';
  const { inputTokens = 0, cacheReadTokens, cacheWriteTokens } = usage;
  const mayHaveCached = isExclusive || inputTokens >= MIN_CACHED || !WITH_MIN_CACHED.test(`${provider}`);
  if (cacheReadTokens === undefined && mayHaveCached && leavesOutCache(span, provider, isExclusive, objects))
    untold.push(CACHE_UNTOLD);
  if (scope?.hides === 'cache writes' && isExclusive && cacheWriteTokens === undefined)
    untold.push(CACHE_UNTOLD);
  if (scope?.hides === 'cache and thoughts' && usage.reasoningTokens === undefined && !tellsTotal(span))
    untold.push(THOUGHTS_UNTOLD);
  const mixesTools = matchSpan(span, scope?.mixesTools) && offersOthersTools(span);
  if (mixesTools || tellsToolPrompt(span)) untold.push('tool use untold');
  if (scope?.cutsPlace === true) untold.push(PLACE_UNTOLD);
  return untold.length === 0 ? usage : { ...usage, modes: [...(usage.modes ?? []), ...untold] };
}

/** The whole output of a flow may hold what looks like usage. */
function ownObjects(span: SpanView, objects: readonly UsageObject[] = NO_OBJECTS): readonly UsageObject[] {
  if (objects.length === 0) return objects;
  const isCall = isModelCall(interactionKind(span));
  return isCall ? objects : objects.filter(({ attribute }) => /outputs?$/i.test(attribute ?? '') === false);
}

const NO_OBJECTS: readonly UsageObject[] = [];

function readCost(objects: readonly JsonObject[], wholes: readonly unknown[] = []): Scalars['cost'] {
  if ([...objects, ...wholes].some((object) => saysOtherCurrency(object))) return undefined;
  for (const object of objects) {
    const usd = readReportedCost(object);
    if (usd !== undefined) return { usd, isComputed: false };
  }
  return undefined;
}

/** The usage that an SDK made of what a provider told, and the provider's own beside it, which is more where it is whole. */
export function readUsageBeside(
  usage: unknown,
  providerMetadata: unknown,
): Pick<ReportedUsage, 'usage' | 'serviceTier' | 'costUsd'> {
  const metadata = readMetadata(providerMetadata);
  const whole = metadata
    .flatMap(readUsages)
    .map(({ object }) => readUsageObject(object))
    .find((told) => told?.inputTokens !== undefined && told.outputTokens !== undefined);
  return {
    usage: whole ?? readUsageObject(usage),
    serviceTier: tierIn(metadata),
    costUsd: readCost(metadata)?.usd,
  };
}

/**
 * The usage that a program passes: in our own words, or in those of any provider. One in which nothing can be read is
 * logged, for its call then has no tokens.
 */
export function readGivenUsage(
  value: unknown,
  { provider, model }: Interaction = {},
): Pick<Interaction, 'usage' | 'providerCostUsd'> {
  if (value === undefined) return {};
  const read = readUsageObject(value, { model, isExclusive: countsNet(provider, model) });
  const providerCostUsd = readReportedCost(value);
  if (read === undefined || !isObject(value)) {
    if (providerCostUsd === undefined) diag.warn(UNREADABLE);
    // Nor is it estimated: it may be of what is not charged by the token.
    return { usage: {}, providerCostUsd };
  }
  return { usage: { ...read, ...ownParts(value, read) }, providerCostUsd };
}

/** What our own words have beside counts. */
function ownParts(value: JsonObject, read: TokenUsage): TokenUsage {
  const modes = [...(read.modes ?? []), ...readList(value.modes).filter((mode) => typeof mode === 'string')];
  const requests = readList(value.requests)
    .filter(isObject)
    .map((request) => ({ ...readUsageObject(request), model: toText(request.model) }));
  return {
    ...(modes.length === 0 ? {} : { modes }),
    ...(requests.length === 0 ? {} : { requests }),
    ...(value.disagrees === true ? { disagrees: true } : {}),
  };
}

const UNREADABLE =
  "mcp-observatory: nothing could be read in the 'usage' of a call. It takes TokenUsage, e.g. { inputTokens, outputTokens }, or the usage of a provider's answer";
