import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, semconv } from '../base/index.ts';
import type { InteractionKind } from '../interaction/index.ts';
import { textOf } from '../json/index.ts';
import { RecentMap } from './recent-map.ts';

/** Spans kept in mind; beyond it the oldest are forgotten. */
const MAX_SPANS = 8_192;
/** Spans between two instrumentations of one call: HTTP, retries, callbacks. */
const MAX_STEPS = 16;
/** Calls kept in mind below one span, for a span around many. */
const MAX_BELOW = 32;
/** Calls with equal usage kept in mind, to find a twin among. */
const MAX_EQUAL = 16;

/** A model call whose tokens and cost are counted on its span. */
interface CountedCall {
  readonly traceId: string;
  readonly spanId: string;
  readonly responseId: string | undefined;
  readonly kind: InteractionKind;
  readonly model: string | undefined;
  readonly scope: string;
  /** In milliseconds. */
  readonly start: number;
  readonly end: number;
  /** Scopes of the spans that were found to be this call by their usage and time. */
  twins?: Set<string>;
}

const OWN_SCOPE = 'mcp-observatory/';

interface KnownSpan {
  readonly traceId: string;
  readonly parent: string | undefined;
  /** An agent or a tool: calls below it are not the call above it. */
  readonly isBoundary: boolean;
  counted: CountedCall | undefined;
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
 * It knows the spans of one process, or those that one service received lately, in any order.
 */
export class UsageLedger {
  readonly #spans = new RecentMap<KnownSpan>(MAX_SPANS);
  readonly #below = new RecentMap<CountedCall[]>(MAX_SPANS);
  readonly #byResponse = new RecentMap<CountedCall>(MAX_SPANS);
  readonly #byUsage = new RecentMap<CountedCall[]>(MAX_SPANS);

  /** Tells of a span before it is settled, for spans that arrive in any order. */
  link(span: ReadableSpan, kind: InteractionKind | undefined): void {
    const { traceId, spanId } = span.spanContext();
    if (this.#known(traceId, spanId) === undefined) this.#add(traceId, spanId, span, kind);
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
    const isCall = kind === 'model' || kind === 'embeddings';
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
      return undefined;
    }
    const { attributes, instrumentationScope } = span;
    const responseId = textOf(attributes[semconv.ATTR_GEN_AI_RESPONSE_ID] ?? attributes['ai.response.id']);
    const scope = instrumentationScope?.name ?? '';
    const [start, end] = timesOf(span);
    const call: CountedCall = { traceId, spanId, responseId, kind, model: values.model, scope, start, end };
    const around = below?.find((inner) => isSameCall(inner, call)) ?? this.#above(known.parent, call);
    const equal = this.#equalUsage(span, kind, values);
    const same = around ?? this.#beside(call) ?? twinOf(call, equal);
    if (same !== undefined && same.spanId !== spanId) {
      this.#cover(known.parent, same);
      return same.spanId;
    }
    known.counted = call;
    this.#cover(known.parent, call);
    if (equal !== undefined && equal.push(call) > MAX_EQUAL) equal.shift();
    if (responseId !== undefined) this.#byResponse.set(responseId, call);
    return undefined;
  }

  #known(traceId: string, spanId: string): KnownSpan | undefined {
    const known = this.#spans.get(spanId);
    return known?.traceId === traceId ? known : undefined;
  }

  #add(traceId: string, spanId: string, span: ReadableSpan, kind: InteractionKind | undefined): KnownSpan {
    const parent = span.parentSpanContext?.spanId;
    const known: KnownSpan = { traceId, parent, isBoundary: isBoundary(kind), counted: undefined };
    this.#spans.set(spanId, known);
    return known;
  }

  #callsBelow(traceId: string, spanId: string): CountedCall[] | undefined {
    const calls = this.#below.get(spanId);
    return calls?.[0]?.traceId === traceId ? calls : undefined;
  }

  #isInCall(traceId: string, span: ReadableSpan): boolean {
    const parent = span.parentSpanContext?.spanId;
    return parent !== undefined && this.#known(traceId, parent)?.isBoundary === false;
  }

  /** The same call, counted on a span around this one. */
  #above(parent: string | undefined, call: CountedCall): CountedCall | undefined {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#known(call.traceId, at);
      if (known === undefined || known.isBoundary) return undefined;
      if (known.counted !== undefined && isSameCall(known.counted, call)) return known.counted;
      at = known.parent;
    }
    return undefined;
  }

  /** The same call, counted on a span of another instrumentation next to this one. */
  #beside(call: CountedCall): CountedCall | undefined {
    if (call.responseId === undefined) return undefined;
    const found = this.#byResponse.get(call.responseId);
    return found?.traceId === call.traceId && found.scope !== call.scope ? found : undefined;
  }

  /** The counted calls of this process with the same tokens; `undefined` where the tokens are not known. */
  #equalUsage(span: ReadableSpan, kind: InteractionKind, values: FieldValues): CountedCall[] | undefined {
    const { prompt_tokens: input, completion_tokens: output } = values;
    if (input === undefined || values.tokens_estimated === true) return undefined;
    const key = `${kind} ${input} ${output} ${processOf(span.resource)}`;
    const known = this.#byUsage.get(key);
    if (known !== undefined) return known;
    const calls: CountedCall[] = [];
    this.#byUsage.set(key, calls);
    return calls;
  }

  /** Notes a counted call at the spans around it, as far as they are known, up to the agent or tool. */
  #cover(parent: string | undefined, call: CountedCall): void {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#known(call.traceId, at);
      if (known?.isBoundary === true) return;
      const calls = this.#callsBelow(call.traceId, at);
      if (calls === undefined) this.#below.set(at, [call]);
      else if (calls.includes(call)) return;
      else if (calls.length < MAX_BELOW) calls.push(call);
      at = known?.parent;
    }
  }
}

function isSameCall(a: CountedCall, b: CountedCall): boolean {
  if (a.kind !== b.kind) return false;
  // Our own instrumentations have one span for a call: another one below it is a later call of the same conversation.
  if (a.scope === b.scope && a.scope.startsWith(OWN_SCOPE)) return false;
  const isNamed = a.responseId !== undefined && b.responseId !== undefined;
  return isNamed ? a.responseId === b.responseId : isSameModel(a.model, b.model);
}

/** The counted call that this span is, of those with the same tokens. */
function twinOf(call: CountedCall, equal: readonly CountedCall[] = []): CountedCall | undefined {
  const { scope, responseId } = call;
  const twin = equal.find(
    (other) =>
      other.scope !== scope &&
      (other.responseId === undefined || responseId === undefined) &&
      other.twins?.has(scope) !== true &&
      isSameModel(other.model, call.model) &&
      2 * overlap(other, call) >= Math.min(other.end - other.start, call.end - call.start),
  );
  if (twin === undefined) return undefined;
  twin.twins ??= new Set();
  twin.twins.add(scope);
  return twin;
}

/** Milliseconds in which both were under way; negative if one began after the other had ended. */
function overlap(a: CountedCall, b: CountedCall): number {
  return Math.min(a.end, b.end) - Math.max(a.start, b.start);
}

function timesOf({ startTime, endTime }: ReadableSpan): [start: number, end: number] {
  const start = toMs(startTime);
  const end = toMs(endTime);
  // A span may be settled before its end.
  return [start, end >= start ? end : Math.max(start, Date.now())];
}

const toMs = ([seconds, nanos]: HrTime): number => seconds * 1e3 + nanos / 1e6;

const PROCESS = ['service.name', 'service.instance.id', 'host.name', 'process.pid'] as const;
const processes = new WeakMap<object, string>();

/** What tells processes apart, as far as they say it. */
function processOf(resource: ReadableSpan['resource'] | undefined): string {
  if (resource === undefined) return '';
  let text = processes.get(resource);
  if (text === undefined) {
    text = PROCESS.map((name) => String(resource.attributes[name] ?? '')).join(' ');
    processes.set(resource, text);
  }
  return text;
}

/** What may follow the name of a model: nothing, a date or a number of its version, a tag. */
const VERSION = /^(?:$|[-@:.](?:v?\d|latest|preview))/;

/** Instrumentations name a model as it was asked for, with its version, or with a path before it. */
function isSameModel(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return true;
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
