/** Model calls as their spans have them, and whether two of these are one call. */
import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, isOwnScope, isPackageScope, semconv } from '../base/index.ts';
import {
  COUNTED_ON_CHILDREN,
  type InteractionKind,
  isModelCall,
  isOfBatch,
  kindInWords,
  says,
} from '../interaction/index.ts';
import { toText } from '../json/index.ts';
import type { TokenUsage } from '../signals/index.ts';
import { processKey } from './process-key.ts';
import type { RecentMap } from './recent-map.ts';

/** What a span says of its call at a moment. */
export interface SaidOfCall {
  readonly responseId: string | undefined;
  /** The model that was asked, and the one that answered. */
  readonly models: readonly string[];
  /** Nobody has said its tokens. */
  readonly isEstimated: boolean;
  /** Its input may leave cached tokens out, and it tells none. */
  readonly isLess?: boolean;
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  /** The tokens whose cost was reported: other spans of the call, by the same instrumentation, count on this one. */
  readonly costOf?: string | undefined;
  /** The response was there before, and has been fetched again. */
  readonly isFetched?: boolean;
}

/** A span that has begun, and what it said of its call then. */
export interface BegunSpan {
  readonly span: ReadableSpan;
  readonly kind: InteractionKind;
  readonly said: SaidOfCall;
}

/** A model call as one span has it. */
export interface Call {
  readonly traceId: string;
  readonly spanId: string;
  kind: InteractionKind;
  readonly scope: string;
  /** The process it was made in, as {@link processKey} tells them apart. */
  readonly process: string;
  said: SaidOfCall;
  /** In milliseconds. */
  readonly start: number;
  end: number;
  /** Not settled yet, but sure to have what is known of the call. */
  isOpen: boolean;
  /** Another span of the call has left its tokens to this one while it was open. */
  isNeeded?: boolean;
  /** It was open, and has ended without usage; or it is an aggregate. */
  isVoid?: boolean;
  /** It has ended with an error and without usage. */
  hasFailed?: boolean;
  /** Another span of the same call, on which its tokens and cost are counted. */
  countedOn?: Call;
  /** The other spans of the call that are counted on this one. */
  spans?: Call[];
  /** Scopes of the spans in other traces that were found to be this call. */
  twins?: Set<string>;
}

/** What is counted on the spans below one. */
export interface Sum {
  readonly traceId: string;
  calls: number;
  input: number;
  output: number;
}

type Attributes = ReadableSpan['attributes'];

/** Whether a span is one of our own instrumentations, for a call to a model. */
export function isOwnCall(
  span: ReadableSpan,
  kind: InteractionKind | undefined,
): kind is 'model' | 'embeddings' {
  return isModelCall(kind) && isOwnScope(span.instrumentationScope?.name);
}

export function toSaid(attributes: Attributes, values: FieldValues): SaidOfCall {
  return {
    responseId: findResponseId(attributes),
    models: listModels(attributes, values),
    isEstimated: values.tokens_estimated === true,
    isLess: values.provider === 'aws.bedrock' && values.cached_prompt_tokens === undefined,
    input: values.prompt_tokens,
    output: values.completion_tokens,
    isFetched: attributes[semconv.ATTR_GEN_AI_OPERATION_NAME] === 'fetch_response' || isOfBatch(attributes),
  };
}

/** Of a span that came: its call, if it is sure to have the tokens of one. */
export function saySure(span: ReadableSpan, kind: InteractionKind | undefined): SaidOfCall | undefined {
  const { attributes } = span;
  const input = attributes[semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS];
  const output = attributes[semconv.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS] ?? 0;
  if (input === undefined) return undefined;
  const said = toSaid(attributes, {});
  if (isOwnCall(span, kind)) return said;
  const isCall = said.responseId !== undefined && isModelCall(kindInWords(span) ?? 'model');
  return isCall && says('cost', attributes) ? { ...said, costOf: `${input} ${output}` } : undefined;
}

export function toCall(span: ReadableSpan, kind: InteractionKind, said: SaidOfCall): Call {
  const { traceId, spanId } = span.spanContext();
  const start = toMs(span.startTime);
  const scope = span.instrumentationScope?.name ?? '';
  const process = processKey(kind, span);
  return { traceId, spanId, kind, scope, process, said, start, end: findEnd(span, start), isOpen: false };
}

/** What has become known of a call since its span began. */
export function readAgain(
  call: Call | undefined,
  span: ReadableSpan,
  kind: InteractionKind,
  said: SaidOfCall,
): Call {
  if (call === undefined) return toCall(span, kind, said);
  call.kind = kind;
  call.said = said;
  call.end = findEnd(span, call.start);
  call.isOpen = false;
  return call;
}

function findResponseId(attributes: Attributes): string | undefined {
  return toText(attributes[semconv.ATTR_GEN_AI_RESPONSE_ID] ?? attributes['ai.response.id']);
}

function listModels(attributes: Attributes, { model }: FieldValues): readonly string[] {
  const models = model === undefined ? [] : [model];
  for (const name of MODELS) {
    const other = attributes[name];
    if (typeof other === 'string' && other !== model) models.push(other);
  }
  return models;
}

/** A deployment or an alias may be asked for, and a model of another name answer. */
const MODELS = [
  semconv.ATTR_GEN_AI_REQUEST_MODEL,
  semconv.ATTR_GEN_AI_RESPONSE_MODEL,
  'ai.model.id',
  'ai.response.model',
] as const;

/**
 * Whether two spans, one in the other, are one call: by its response, else by its numbers, never by its model alone.
 * @param isAbove whether `call` is the outer one: then it may have other tokens, if it took as long.
 */
export function isOneCall(known: Call, call: Call, isAbove = false): boolean {
  if (known.kind !== call.kind || known.isVoid === true) return false;
  const [one, other] = [known.said, call.said];
  const isCosted =
    one.costOf !== undefined &&
    one.costOf === `${other.input} ${other.output ?? 0}` &&
    known.scope === call.scope;
  if (known.isOpen && !other.isEstimated && !other.isLess && !isCosted) return false;
  const isNamed = one.responseId !== undefined && other.responseId !== undefined;
  // Our own instrumentations have one span for a call: another one below it is a later call of the same conversation,
  // unless it was made in another process, which answered with the same response.
  if (known.scope === call.scope && isOwnScope(call.scope) && (!isNamed || known.process === call.process))
    return false;
  if (isNamed) return one.responseId === other.responseId;
  if (!isSameModel(one.models, other.models)) return false;
  return isAlike(one, other) || (isAbove && isAround(call, known));
}

/** Whether what both say of their tokens is the same. */
function isAlike(one: SaidOfCall, other: SaidOfCall): boolean {
  if (one.isEstimated || other.isEstimated) return true;
  const isInput = one.isLess === true || other.isLess === true || isSame(one.input, other.input);
  return isInput && isSame(one.output, other.output);
}

const isSame = (one: number | undefined, other: number | undefined): boolean =>
  one === undefined || other === undefined || one === other;

/** Whether a span is around another, and took hardly longer; of shorter ones that says nothing. */
function isAround(outer: Call, inner: Call): boolean {
  const [lasted, both] = [outer.end - outer.start, overlap(outer, inner) - CLOCK_MS];
  return lasted >= 10 && both >= 0.9 * lasted && both >= 0.9 * (inner.end - inner.start);
}

/** Whether two spans, one in the other, are one call that failed; one for one, since a call may be tried again. */
export function isOneFailure(known: Call, call: Call): boolean {
  if (known.hasFailed !== true || known.kind !== call.kind || known.scope === call.scope) return false;
  if (known.countedOn?.spanId === call.spanId) return false;
  return isSameModel(known.said.models, call.said.models) && claim(known, call);
}

/**
 * The same call on a span of another instrumentation, by the id that the provider gave its response. Local servers number
 * their answers, or draw a short number: in another trace an id alone says nothing.
 */
export function sameResponse(found: Call | undefined, call: Call): Call | undefined {
  if (found === undefined) return undefined;
  const isFetched = found.said.isFetched === true || call.said.isFetched === true;
  const isOfTrace = found.traceId === call.traceId;
  if (!isOfTrace && !isSameModel(found.said.models, call.said.models)) return undefined;
  if (found.scope === call.scope && !isFetched) return undefined;
  // Ours have one span for a call of a process, whatever id a test double answers with.
  if (found.process === call.process && isPackageScope(found.scope) && isPackageScope(call.scope))
    return undefined;
  return isFetched || isOfTrace || (isBeside(found, call) && claim(found, call)) ? found : undefined;
}

/** Whether a call takes another one for itself: it does so once for each instrumentation. */
function claim(call: Call, { scope }: Call): boolean {
  if (call.twins?.has(scope) === true) return false;
  call.twins ??= new Set();
  call.twins.add(scope);
  return true;
}

/** The call that this span is, of those that may be it. */
export function findTwin(call: Call, others: readonly Call[] = []): Call | undefined {
  const { scope } = call;
  const { responseId, models } = call.said;
  const twin = others.find(
    (other) =>
      other.scope !== scope &&
      other.isVoid !== true &&
      (other.said.responseId === undefined || responseId === undefined) &&
      other.twins?.has(scope) !== true &&
      isSameModel(other.said.models, models) &&
      [other, ...(other.spans ?? [])].every((span) => isAtOneTime(span, call)),
  );
  return twin !== undefined && claim(twin, call) ? twin : undefined;
}

/** Whether two calls were under way together for half of the shorter one. */
export function isAtOneTime(a: Call, b: Call): boolean {
  return 2 * overlap(a, b) >= Math.min(a.end - a.start, b.end - b.start);
}

/** SDKs begin spans at whole milliseconds, and end them by a finer clock. */
const CLOCK_MS = 1;
/** As far as the clocks of two hosts may be apart. */
const SKEW_MS = 1_000;

const isBeside = (a: Call, b: Call): boolean => overlap(a, b) > -SKEW_MS;

/** Whether a call was made, or began, while a span was. */
export function wasUnderWay(call: Call, span: ReadableSpan): boolean {
  const start = toMs(span.startTime);
  return call.start >= start && call.start <= findEnd(span, start) + CLOCK_MS;
}

/** Milliseconds in which both may have been under way; negative if one began after the other had ended. */
function overlap(a: Call, b: Call): number {
  return Math.min(a.end, b.end) - Math.max(a.start, b.start) + CLOCK_MS;
}

function findEnd({ endTime }: ReadableSpan, start: number): number {
  const end = toMs(endTime);
  // A span may be settled before its end.
  return end >= start ? end : Math.max(start, Date.now());
}

export const toMs = ([seconds, nanos]: HrTime): number => seconds * 1e3 + nanos / 1e6;

/** What may follow the name of a model: nothing, a date or a number of its version, a tag. */
const VERSION = /^(?:$|[-@:.](?:v?\d|latest|preview))/;

/** Instrumentations name a model as it was asked for, with its version, or with a path before it. */
function isSameModel(some: readonly string[], others: readonly string[]): boolean {
  if (some.length === 0 || others.length === 0) return true;
  return some.some((one) => others.some((other) => isVersion(one, other)));
}

function isVersion(a: string, b: string): boolean {
  const [one, other] = [a, b].map((name) => name.slice(name.lastIndexOf('/') + 1).toLowerCase()) as [
    string,
    string,
  ];
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short) && VERSION.test(long.slice(short.length));
}

/** Of calls that may be one by their tokens; `undefined` where these are not known. */
export function usageKey(call: Call, values: FieldValues): string | undefined {
  const { prompt_tokens: input, completion_tokens: output } = values;
  if (input === undefined || values.tokens_estimated === true) return undefined;
  return `${input} ${output} ${call.process}`;
}

/** The {@link usageKey} of a request for embeddings that has the tokens of a span. */
export function embeddingsKey(span: ReadableSpan, usage: TokenUsage | undefined): string {
  return `${usage?.inputTokens} ${usage?.outputTokens} ${processKey('embeddings', span)}`;
}

export function readKnownUsage(
  traceId: string,
  { prompt_tokens: input = 0, completion_tokens: output = 0 }: FieldValues,
): Sum {
  return { traceId, calls: 1, input, output };
}

/** Whether a span repeats the usage of the calls below it. */
export function isSumOfCalls({ input, output }: Sum, span: ReadableSpan, values: FieldValues): boolean {
  if (values.prompt_tokens === input && (values.completion_tokens ?? 0) === output) return true;
  return values.tokens_estimated === true || !isModelCall(kindInWords(span));
}

/** Notes that a span is no call, and says where its tokens are counted. */
export function countOnChildren(call: Call): string {
  call.isVoid = true;
  return COUNTED_ON_CHILDREN;
}

/** Adds a call to a list of at most `limit`, the oldest forgotten first. */
export function addTo(lists: RecentMap<Call[]>, key: string, call: Call, limit: number): void {
  const calls = lists.get(key);
  if (calls === undefined) lists.set(key, [call]);
  else if (calls.push(call) > limit) calls.shift();
}

/** What does not say what it is may be another span of the call above it. */
export function isBoundary(span: ReadableSpan, kind: InteractionKind | undefined): boolean {
  return (kind === 'tool' || kind === 'other') && kindInWords(span) !== undefined;
}
