import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { semconv } from '../base/index.ts';
import type { InteractionKind } from '../interaction/index.ts';
import { textOf } from '../json/index.ts';
import { RecentMap } from './recent-map.ts';

/** Spans kept in mind; beyond it the oldest are forgotten. */
const MAX_SPANS = 8_192;
/** Spans between two instrumentations of one call: HTTP, retries, callbacks. */
const MAX_STEPS = 16;
/** Calls kept in mind below one span, for a span around many. */
const MAX_BELOW = 32;

/** A model call whose tokens and cost are counted on its span. */
interface CountedCall {
  readonly traceId: string;
  readonly spanId: string;
  readonly responseId: string | undefined;
  readonly kind: InteractionKind;
  readonly model: string | undefined;
  readonly scope: string;
}

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
 * It knows the spans of one process, or those that one service received lately, in any order.
 */
export class UsageLedger {
  readonly #spans = new RecentMap<KnownSpan>(MAX_SPANS);
  readonly #below = new RecentMap<CountedCall[]>(MAX_SPANS);
  readonly #byResponse = new RecentMap<CountedCall>(MAX_SPANS);

  /** Tells of a span before it is settled, for spans that arrive in any order. */
  link(span: ReadableSpan, kind: InteractionKind | undefined): void {
    const { traceId, spanId } = span.spanContext();
    if (this.#known(traceId, spanId) === undefined) this.#add(traceId, spanId, span, kind);
  }

  /**
   * Decides where the tokens and cost of an ended span are counted.
   * @param hasUsage whether it has any.
   * @param model the model that answered, as far as it is known.
   * @returns the id of another span, `undefined` for the span itself.
   */
  settle(
    span: ReadableSpan,
    kind: InteractionKind | undefined,
    hasUsage: boolean,
    model?: string,
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
    const call: CountedCall = { traceId, spanId, responseId, kind, model, scope };
    const around = below?.find((inner) => isSameCall(inner, call)) ?? this.#above(known.parent, call);
    const same = around ?? this.#beside(call);
    if (same !== undefined && same.spanId !== spanId) {
      this.#cover(known.parent, same);
      return same.spanId;
    }
    known.counted = call;
    this.#cover(known.parent, call);
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
  const isNamed = a.responseId !== undefined && b.responseId !== undefined;
  return isNamed ? a.responseId === b.responseId : isSameModel(a.model, b.model);
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
