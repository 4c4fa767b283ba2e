import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, isOwnScope, semconv } from '../base/index.ts';
import { type InteractionKind, isModelCall } from '../interaction/index.ts';
import { textOf } from '../json/index.ts';
import { processKey } from './process-key.ts';
import { RecentMap } from './recent-map.ts';

/** Spans kept in mind; beyond it the oldest are forgotten. */
const MAX_SPANS = 8_192;
/** Spans between two instrumentations of one call: HTTP, retries, callbacks. */
const MAX_STEPS = 16;
/** Calls kept in mind below one span, for a span around many. */
const MAX_BELOW = 32;
/** Calls with equal usage kept in mind, to find a twin among. */
const MAX_EQUAL = 16;
/** Calls of one process kept in mind, to find among them that of a span without usage. */
const MAX_RECENT = 64;

/** A model call as one span has it. */
interface Call {
  readonly traceId: string;
  readonly spanId: string;
  kind: InteractionKind;
  readonly scope: string;
  responseId: string | undefined;
  /** The model that was asked, and the one that answered. */
  models: readonly string[];
  /** In milliseconds. */
  readonly start: number;
  end: number;
  /** Nobody has said its tokens. */
  isEstimated: boolean;
  /** Not settled yet, but sure to have what is known of the call. */
  isOpen: boolean;
  /** It was open, and has ended without usage. */
  isVoid?: boolean;
  /** Another span of the same call, on which its tokens and cost are counted. */
  countedOn?: Call;
  /** Scopes of the spans that were found to be this call by their usage and time. */
  twins?: Set<string>;
}

interface KnownSpan {
  readonly traceId: string;
  readonly parent: string | undefined;
  /** An agent or a tool: calls below it are not the call above it. */
  readonly isBoundary: boolean;
  call: Call | undefined;
}

/**
 * Counts each model call once where several instrumentations have spans of it: one around the other, with nothing of an
 * agent or a tool between them, or side by side with the same response id. The span that ends (or arrives) first counts.
 * Two spans with different response ids are two calls, as are two of different models where one has no id.
 *
 * An instrumentation of a framework may give its spans neither a response id nor a place in the same trace. Such a span
 * is a call already counted if another instrumentation of the same process counted one of the same model, with the same
 * tokens, at the same time; one for one.
 *
 * Where an instrumentation does not read the usage of a call, as many do not of a stream, its tokens are an estimate. It
 * does not count if ours has a span of the call, even if that one has not ended.
 *
 * It knows the spans of one process, or those that one service received lately, in any order.
 */
export class UsageLedger {
  readonly #spans = new RecentMap<KnownSpan>(MAX_SPANS);
  readonly #below = new RecentMap<Call[]>(MAX_SPANS);
  readonly #byResponse = new RecentMap<Call>(MAX_SPANS);
  readonly #byUsage = new RecentMap<Call[]>(MAX_SPANS);
  readonly #ownCalls = new RecentMap<Call[]>(MAX_SPANS);

  /** Tells of a span before it is settled, for spans that arrive in any order. */
  link(span: ReadableSpan, kind: InteractionKind | undefined): void {
    const { traceId, spanId } = span.spanContext();
    if (this.#known(traceId, spanId) === undefined) this.#add(traceId, spanId, span, kind);
    if (span.attributes[semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS] !== undefined) this.open(span, kind);
  }

  /** Tells of a span that begins, or has usage; those of model calls of ours are awaited. */
  open(span: ReadableSpan, kind: InteractionKind | undefined): void {
    if (!isModelCall(kind) || !isOwnScope(span.instrumentationScope?.name)) return;
    const { traceId, spanId } = span.spanContext();
    const known = this.#known(traceId, spanId) ?? this.#add(traceId, spanId, span, kind);
    if (known.call !== undefined) return;
    const call = callOf(span, kind, {});
    call.isOpen = true;
    if (!span.ended) call.end = Number.POSITIVE_INFINITY;
    known.call = call;
    this.#cover(known.parent, call);
    addTo(this.#ownCalls, processKey(kind, span), call, MAX_RECENT);
  }

  /**
   * Decides where the tokens and cost of an ended span are counted.
   * @param hasUsage whether it has any.
   * @param values its fields, as far as they are known.
   * @returns the id of another span, `undefined` for the span itself.
   */
  settle(
    span: ReadableSpan,
    kind: InteractionKind | undefined,
    hasUsage: boolean,
    values: FieldValues = {},
  ): string | undefined {
    const isCall = isModelCall(kind);
    // A span that is not recorded has no context.
    if ((!isCall && this.#spans.size === 0) || span.spanContext === undefined) return undefined;
    const { traceId, spanId } = span.spanContext();
    const below = this.#callsBelow(traceId, spanId);
    // Between two calls, or between none.
    if (!isCall && below === undefined && !this.#isInCall(traceId, span)) return undefined;
    const known = this.#known(traceId, spanId) ?? this.#add(traceId, spanId, span, kind);
    if (known.isBoundary) {
      this.#below.delete(spanId);
      return undefined;
    }
    if (!isCall || !hasUsage) {
      if (below !== undefined) for (const call of below) this.#cover(known.parent, call);
      if (known.call !== undefined) known.call.isVoid = true;
      return undefined;
    }
    const call =
      known.call === undefined ? callOf(span, kind, values) : readAgain(known.call, span, kind, values);
    known.call = call;
    this.#cover(known.parent, call);
    const around = below?.find((inner) => isSameCall(inner, call)) ?? this.#above(known.parent, call);
    const key = usageKey(span, kind, values);
    const same = around ?? this.#beside(call) ?? this.#twin(call, key, span);
    const on = same?.countedOn ?? same;
    if (on !== undefined && on.spanId !== spanId) {
      call.countedOn = on;
      return on.spanId;
    }
    if (key !== undefined) addTo(this.#byUsage, key, call, MAX_EQUAL);
    if (call.responseId !== undefined) this.#byResponse.set(call.responseId, call);
    return undefined;
  }

  #known(traceId: string, spanId: string): KnownSpan | undefined {
    const known = this.#spans.get(spanId);
    return known?.traceId === traceId ? known : undefined;
  }

  #add(traceId: string, spanId: string, span: ReadableSpan, kind: InteractionKind | undefined): KnownSpan {
    const parent = span.parentSpanContext?.spanId;
    const known: KnownSpan = { traceId, parent, isBoundary: isBoundary(kind), call: undefined };
    this.#spans.set(spanId, known);
    return known;
  }

  #callsBelow(traceId: string, spanId: string): Call[] | undefined {
    const calls = this.#below.get(spanId);
    return calls?.[0]?.traceId === traceId ? calls : undefined;
  }

  #isInCall(traceId: string, span: ReadableSpan): boolean {
    const parent = span.parentSpanContext?.spanId;
    return parent !== undefined && this.#known(traceId, parent)?.isBoundary === false;
  }

  /** The same call on a span around this one. */
  #above(parent: string | undefined, call: Call): Call | undefined {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#known(call.traceId, at);
      if (known === undefined || known.isBoundary) return undefined;
      if (known.call !== undefined && isSameCall(known.call, call)) return known.call;
      at = known.parent;
    }
    return undefined;
  }

  /** The same call, counted on a span of another instrumentation next to this one. */
  #beside(call: Call): Call | undefined {
    if (call.responseId === undefined) return undefined;
    const found = this.#byResponse.get(call.responseId);
    return found?.traceId === call.traceId && found.scope !== call.scope ? found : undefined;
  }

  /** The same call in a trace of its own. */
  #twin(call: Call, key: string | undefined, span: ReadableSpan): Call | undefined {
    if (key !== undefined) return twinOf(call, this.#byUsage.get(key));
    if (!call.isEstimated || isOwnScope(call.scope)) return undefined;
    return twinOf(call, this.#ownCalls.get(processKey(call.kind, span)));
  }

  /** Notes a call at the spans around it, as far as they are known, up to the agent or tool. */
  #cover(parent: string | undefined, call: Call): void {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#known(call.traceId, at);
      if (known?.isBoundary === true) return;
      const calls = this.#callsBelow(call.traceId, at);
      if (calls === undefined) this.#below.set(at, [call]);
      else if (!calls.includes(call) && calls.length < MAX_BELOW) calls.push(call);
      at = known?.parent;
    }
  }
}

function callOf(span: ReadableSpan, kind: InteractionKind, values: FieldValues): Call {
  const { traceId, spanId } = span.spanContext();
  const start = toMs(span.startTime);
  return {
    traceId,
    spanId,
    kind,
    scope: span.instrumentationScope?.name ?? '',
    responseId: responseIdOf(span),
    models: modelsOf(span, values),
    start,
    end: endOf(span, start),
    isEstimated: values.tokens_estimated === true,
    isOpen: false,
  };
}

/** What has become known of a call since its span began. */
function readAgain(call: Call, span: ReadableSpan, kind: InteractionKind, values: FieldValues): Call {
  call.kind = kind;
  call.responseId = responseIdOf(span);
  call.models = modelsOf(span, values);
  call.end = endOf(span, call.start);
  call.isEstimated = values.tokens_estimated === true;
  call.isOpen = false;
  return call;
}

function responseIdOf({ attributes }: ReadableSpan): string | undefined {
  return textOf(attributes[semconv.ATTR_GEN_AI_RESPONSE_ID] ?? attributes['ai.response.id']);
}

function modelsOf({ attributes }: ReadableSpan, { model }: FieldValues): readonly string[] {
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

/** Of calls that may be one by their tokens; `undefined` where these are not known. */
function usageKey(span: ReadableSpan, kind: InteractionKind, values: FieldValues): string | undefined {
  const { prompt_tokens: input, completion_tokens: output } = values;
  if (input === undefined || values.tokens_estimated === true) return undefined;
  return `${input} ${output} ${processKey(kind, span)}`;
}

function addTo(lists: RecentMap<Call[]>, key: string, call: Call, limit: number): void {
  const calls = lists.get(key);
  if (calls === undefined) lists.set(key, [call]);
  else if (calls.push(call) > limit) calls.shift();
}

function isSameCall(known: Call, call: Call): boolean {
  if (known.kind !== call.kind || known.isVoid === true) return false;
  if (known.isOpen && !call.isEstimated) return false;
  // Our own instrumentations have one span for a call: another one below it is a later call of the same conversation.
  if (known.scope === call.scope && isOwnScope(call.scope)) return false;
  const isNamed = known.responseId !== undefined && call.responseId !== undefined;
  return isNamed ? known.responseId === call.responseId : isSameModel(known.models, call.models);
}

/** The call that this span is, of those that may be it. */
function twinOf(call: Call, others: readonly Call[] = []): Call | undefined {
  const { scope, responseId } = call;
  const twin = others.find(
    (other) =>
      other.scope !== scope &&
      other.isVoid !== true &&
      (other.responseId === undefined || responseId === undefined) &&
      other.twins?.has(scope) !== true &&
      isSameModel(other.models, call.models) &&
      2 * overlap(other, call) >= Math.min(other.end - other.start, call.end - call.start),
  );
  if (twin === undefined) return undefined;
  twin.twins ??= new Set();
  twin.twins.add(scope);
  return twin;
}

/** Milliseconds in which both were under way; negative if one began after the other had ended. */
function overlap(a: Call, b: Call): number {
  return Math.min(a.end, b.end) - Math.max(a.start, b.start);
}

function endOf({ endTime }: ReadableSpan, start: number): number {
  const end = toMs(endTime);
  // A span may be settled before its end.
  return end >= start ? end : Math.max(start, Date.now());
}

const toMs = ([seconds, nanos]: HrTime): number => seconds * 1e3 + nanos / 1e6;

/** What may follow the name of a model: nothing, a date or a number of its version, a tag. */
const VERSION = /^(?:$|[-@:.](?:v?\d|latest|preview))/;

/** Instrumentations name a model as it was asked for, with its version, or with a path before it. */
function isSameModel(some: readonly string[], others: readonly string[]): boolean {
  if (some.length === 0 || others.length === 0) return true;
  return some.some((one) => others.some((other) => isVersionOf(one, other)));
}

function isVersionOf(a: string, b: string): boolean {
  const [one, other] = [a, b].map((name) => name.slice(name.lastIndexOf('/') + 1).toLowerCase()) as [
    string,
    string,
  ];
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short) && VERSION.test(long.slice(short.length));
}

function isBoundary(kind: InteractionKind | undefined): boolean {
  return kind === 'tool' || kind === 'other';
}
