import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, isOwnScope, semconv } from '../base/index.ts';
import { type InteractionKind, isModelCall } from '../interaction/index.ts';
import {
  type Call,
  callOf,
  isOneCall,
  isOwnCall,
  processKey,
  readAgain,
  type SaidOfCall,
  saidOf,
  twinOf,
} from './known-call.ts';
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
/** Spans that have begun and are not yet in the ledger; one more, and all of them are. */
const MAX_BEGUN = 64;

/** A span that has begun, and what it said of its call then. */
interface BegunSpan {
  readonly span: ReadableSpan;
  readonly kind: InteractionKind;
  readonly said: SaidOfCall;
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
  #begun: BegunSpan[] = [];

  /** Tells of a span before it is settled, for spans that arrive in any order. */
  link(span: ReadableSpan, kind: InteractionKind | undefined): void {
    this.#enterBegun();
    const { traceId, spanId } = span.spanContext();
    if (this.#known(traceId, spanId) === undefined) this.#add(traceId, spanId, span, kind);
    const { attributes } = span;
    if (attributes[semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS] !== undefined && isOwnCall(span, kind))
      this.#enter(span, kind, saidOf(attributes, {}), span.ended);
  }

  /**
   * Tells of a span that begins; those of model calls of ours are awaited. They are entered when anything is asked of the
   * ledger: the caller of a model does not wait for that.
   */
  open(span: ReadableSpan, kind: InteractionKind | undefined): void {
    if (!isOwnCall(span, kind)) return;
    this.#begun.push({ span, kind, said: saidOf(span.attributes, {}) });
    if (this.#begun.length > MAX_BEGUN) this.#enterBegun();
  }

  #enterBegun(): void {
    if (this.#begun.length === 0) return;
    const begun = this.#begun;
    this.#begun = [];
    for (const { span, kind, said } of begun) {
      try {
        this.#enter(span, kind, said, false);
      } catch {
        // A broken span is not awaited, and takes nothing from the one that is asked about.
      }
    }
  }

  #enter(span: ReadableSpan, kind: InteractionKind, said: SaidOfCall, hasEnded: boolean): void {
    const { traceId, spanId } = span.spanContext();
    const known = this.#known(traceId, spanId) ?? this.#add(traceId, spanId, span, kind);
    if (known.call !== undefined) return;
    const call = callOf(span, kind, said);
    call.isOpen = true;
    if (!hasEnded) call.end = Number.POSITIVE_INFINITY;
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
    this.#enterBegun();
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
    const said = saidOf(span.attributes, values);
    const call =
      known.call === undefined ? callOf(span, kind, said) : readAgain(known.call, span, kind, said);
    known.call = call;
    this.#cover(known.parent, call);
    const around = below?.find((inner) => isOneCall(inner, call)) ?? this.#above(known.parent, call);
    const key = usageKey(span, kind, values);
    const same = around ?? this.#beside(call) ?? this.#twin(call, key, span);
    const on = same?.countedOn ?? same;
    if (on !== undefined && on.spanId !== spanId) {
      call.countedOn = on;
      return on.spanId;
    }
    if (key !== undefined) addTo(this.#byUsage, key, call, MAX_EQUAL);
    if (said.responseId !== undefined) this.#byResponse.set(said.responseId, call);
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
      if (known.call !== undefined && isOneCall(known.call, call)) return known.call;
      at = known.parent;
    }
    return undefined;
  }

  /** The same call, counted on a span of another instrumentation next to this one. */
  #beside(call: Call): Call | undefined {
    if (call.said.responseId === undefined) return undefined;
    const found = this.#byResponse.get(call.said.responseId);
    return found?.traceId === call.traceId && found.scope !== call.scope ? found : undefined;
  }

  /** The same call in a trace of its own. */
  #twin(call: Call, key: string | undefined, span: ReadableSpan): Call | undefined {
    if (key !== undefined) return twinOf(call, this.#byUsage.get(key));
    if (!call.said.isEstimated || isOwnScope(call.scope)) return undefined;
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

function isBoundary(kind: InteractionKind | undefined): boolean {
  return kind === 'tool' || kind === 'other';
}
