import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, isOwnScope } from '../base/index.ts';
import {
  type Interaction,
  type InteractionKind,
  isModelCall,
  kindInWords,
  says,
} from '../interaction/index.ts';
import {
  addTo,
  type BegunSpan,
  type Call,
  countOnChildren,
  embeddingsKey,
  findTwin,
  isOneCall,
  isOneFailure,
  isOwnCall,
  isSumOfCalls,
  readAgain,
  readKnownUsage,
  type SaidOfCall,
  type Sum,
  sameResponse,
  saySure,
  toCall,
  toSaid,
  usageKey,
  wasUnderWay,
} from './known-call.ts';
import { type KnownSpan, KnownSpans, MAX_SPANS, MAX_STEPS } from './known-spans.ts';
import { processKey } from './process-key.ts';
import { RecentMap } from './recent-map.ts';

/** Calls kept in mind below one span, for a span around many. */
const MAX_BELOW = 32;
/** Calls with equal usage kept in mind, to find a twin among. */
const MAX_EQUAL = 16;
/** Calls of one process kept in mind, to find among them that of a span without usage, or what an agent was doing. */
const MAX_RECENT = 64;
/** Spans that have begun and are not yet in the ledger; one more, and all of them are. */
const MAX_BEGUN = 64;

/**
 * Counts each model call once.
 *
 * A span with usage is a call unless calls are counted below it. Then it is an aggregate if its usage is their sum, or if
 * it does not say that it is a model call.
 *
 * Several instrumentations may have spans of one call: one around the other, with nothing of an agent or a tool between
 * them, or anywhere with the same response id. The span that ends (or arrives) first counts, unless another of its
 * instrumentation has the cost. Two spans with different response ids, of different models, or with other tokens at other
 * times are two calls. What is decided does not depend on the order of the spans; what would, the store settles.
 *
 * An instrumentation of a framework may give its spans neither a response id nor a place in the same trace. Such a span
 * is a call already counted if another instrumentation of the same process counted one of the same model, with the same
 * tokens, at the same time; one for one.
 *
 * Where an instrumentation does not read the usage of a call, as many do not of a stream, its tokens are an estimate. It
 * does not count if ours has a span of the call, even if that one has not ended.
 *
 * A call that failed without usage is found again among the failures of the same model around it and below it.
 *
 * It knows the spans of one process, or those that one service received lately, in any order.
 */
export class UsageLedger {
  readonly #spans = new KnownSpans();
  readonly #below = new RecentMap<Call[]>(MAX_SPANS);
  readonly #byResponse = new RecentMap<Call>(MAX_SPANS);
  readonly #byUsage = new RecentMap<Call[]>(MAX_SPANS);
  readonly #ownCalls = new RecentMap<Call[]>(MAX_SPANS);
  readonly #counted = new RecentMap<Call[]>(MAX_SPANS);
  readonly #sums = new RecentMap<Sum>(MAX_SPANS);
  /** Traces by the ids of spans above a call that is known and may not be settled. */
  readonly #calling = new RecentMap<string>(MAX_SPANS);
  #begun: BegunSpan[] = [];

  /** Tells of a span before it is settled, for spans that arrive in any order. */
  link(span: ReadableSpan, kind: InteractionKind | undefined): void {
    this.#enterBegun();
    const { traceId, spanId } = span.spanContext();
    const { parent } = this.#spans.get(traceId, spanId) ?? this.#spans.add(span, kind);
    const isCall = isModelCall(kind) && says('count', span.attributes);
    if (isCall || this.#calling.get(spanId) === traceId) this.#foretell(traceId, parent);
    const said = saySure(span, kind);
    if (said !== undefined) this.#enter(span, isModelCall(kind) ? kind : 'model', said, span.ended);
  }

  /** Notes at the spans around a call that they are. */
  #foretell(traceId: string, parent: string | undefined): void {
    let at = parent;
    while (at !== undefined && this.#calling.get(at) !== traceId) {
      this.#calling.set(at, traceId);
      at = this.#spans.get(traceId, at)?.parent;
    }
  }

  /**
   * Tells of a span that begins; those of model calls of ours are awaited. They are entered when anything is asked of the
   * ledger: the caller of a model does not wait for that.
   */
  open(span: ReadableSpan, kind: InteractionKind | undefined): void {
    if (!isOwnCall(span, kind)) return;
    this.#begun.push({ span, kind, said: toSaid(span.attributes, {}) });
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
    const known = this.#spans.get(traceId, spanId) ?? this.#spans.add(span, kind);
    if (known.call !== undefined) return;
    const call = toCall(span, kind, said);
    call.isOpen = true;
    if (!hasEnded) call.end = Number.POSITIVE_INFINITY;
    known.call = call;
    this.#cover(known.parent, call);
    addTo(this.#ownCalls, call.process, call, MAX_RECENT);
  }

  /**
   * Whether no call is known whose tokens an agent, a tool or a span that does not say what it is could repeat: none below
   * it, nor, unless it names a model and says nothing else, in its process while it was under way (or embeddings equal to it).
   * @param isWhole whether the spans below it are known by now. An agent of this process may end before its calls do.
   */
  isAlone(span: ReadableSpan, { usage, model }: Interaction, isWhole: boolean): boolean {
    const isNamed = kindInWords(span) !== undefined;
    if (isNamed && !isWhole && span.kind !== SpanKind.CLIENT) return false;
    this.#enterBegun();
    const { traceId, spanId } = span.spanContext();
    if (this.#spans.get(traceId, spanId)?.call?.isNeeded === true) return true;
    if (this.#calling.get(spanId) === traceId || this.#sumBelow(traceId, spanId) !== undefined) return false;
    if (this.#callsBelow(traceId, spanId) !== undefined) return false;
    if (model !== undefined && !isNamed) return true;
    const during = this.#counted.get(processKey('model', span));
    const equal = this.#byUsage.get(embeddingsKey(span, usage));
    return ![during, equal].some((calls) => calls?.some((call) => wasUnderWay(call, span)));
  }

  /**
   * Decides where the tokens and cost of an ended span are counted.
   * @param hasUsage whether it has any.
   * @param values its fields, as far as they are known.
   * @returns the id of another span, `children` for an aggregate of calls, `undefined` for the span itself.
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
    const sum = this.#sumBelow(traceId, spanId);
    // Between two calls, or between none.
    if (!isCall && below === undefined && sum === undefined && !this.#isInCall(traceId, span))
      return undefined;
    const known = this.#spans.get(traceId, spanId) ?? this.#spans.add(span, kind);
    let on: string | undefined;
    if (isCall && hasUsage) on = this.#countCall(span, kind, known, values);
    else if (isCall && span.status?.code === SpanStatusCode.ERROR) on = this.#countFailure(span, kind, known);
    if (!isCall || !hasUsage) {
      if (known.isBoundary) this.#below.delete(spanId);
      else if (below !== undefined) for (const call of below) this.#cover(known.parent, call);
      if (known.call !== undefined) known.call.isVoid = true;
    }
    if (known.isSettled) return on;
    known.isSettled = true;
    // Of a call that is counted elsewhere, the calls below are not counted either, or are what it repeats.
    if (sum !== undefined) this.#handUp(traceId, known.parent, sum);
    if (isCall && hasUsage && on === undefined)
      this.#handUp(traceId, known.parent, readKnownUsage(traceId, values));
    return on;
  }

  #countCall(
    span: ReadableSpan,
    kind: InteractionKind,
    known: KnownSpan,
    values: FieldValues,
  ): string | undefined {
    const { traceId, spanId } = span.spanContext();
    const said = toSaid(span.attributes, values);
    const call = readAgain(known.call, span, kind, said);
    known.call = call;
    const sum = call.isNeeded ? undefined : this.#sumBelow(traceId, spanId);
    const isSum = sum !== undefined && isSumOfCalls(sum, span, values);
    if (isSum && sum.calls > 1) return countOnChildren(call);
    if (!known.isBoundary) this.#cover(known.parent, call);
    const same = (known.isBoundary ? undefined : this.#around(known, call)) ?? this.#elsewhere(call, values);
    const on = same?.countedOn ?? same;
    if (on !== undefined && on.spanId !== spanId) {
      call.countedOn = on;
      on.spans = [...(on.spans ?? []), call];
      if (on.said.costOf !== undefined) on.isNeeded = true;
      return on.spanId;
    }
    if (isSum) return countOnChildren(call);
    const key = usageKey(call, values);
    if (key !== undefined) addTo(this.#byUsage, key, call, MAX_EQUAL);
    if (said.responseId !== undefined) this.#byResponse.set(said.responseId, call);
    addTo(this.#counted, call.process, call, MAX_RECENT);
    return undefined;
  }

  /** A call that failed has no usage: it is found again by the failures on spans around it or below it. */
  #countFailure(span: ReadableSpan, kind: InteractionKind, known: KnownSpan): string | undefined {
    const said = toSaid(span.attributes, {});
    const call = readAgain(known.call, span, kind, said);
    known.call = call;
    call.hasFailed = true;
    if (known.isBoundary) return undefined;
    this.#cover(known.parent, call);
    const below = this.#callsBelow(call.traceId, call.spanId);
    const same =
      below?.find((inner) => isOneFailure(inner, call)) ?? this.#above(known.parent, call, isOneFailure);
    if (same === undefined) return undefined;
    call.countedOn = same.countedOn ?? same;
    return call.countedOn.spanId;
  }

  #callsBelow(traceId: string, spanId: string): Call[] | undefined {
    const calls = this.#below.get(spanId);
    return calls?.[0]?.traceId === traceId ? calls : undefined;
  }

  #sumBelow(traceId: string, spanId: string): Sum | undefined {
    const sum = this.#sums.get(spanId);
    return sum?.traceId === traceId ? sum : undefined;
  }

  /** Adds what is counted on or below a span to the spans around it, as far as they have handed on theirs. */
  #handUp(traceId: string, parent: string | undefined, { calls, input, output }: Sum): void {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const sum = this.#sumBelow(traceId, at) ?? { traceId, calls: 0, input: 0, output: 0 };
      sum.calls += calls;
      sum.input += input;
      sum.output += output;
      this.#sums.set(at, sum);
      const known = this.#spans.get(traceId, at);
      if (known?.isSettled !== true) return;
      at = known.parent;
    }
  }

  #isInCall(traceId: string, span: ReadableSpan): boolean {
    const parent = span.parentSpanContext?.spanId;
    return parent !== undefined && this.#spans.get(traceId, parent)?.isBoundary === false;
  }

  readonly #isOne = (one: Call, call: Call, isAbove = false): boolean =>
    isOneCall(one, call, isAbove) && this.#spans.isInLine(one, call);

  /** The same call on a span around this one. */
  #above(parent: string | undefined, call: Call, isOne = this.#isOne): Call | undefined {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#spans.get(call.traceId, at);
      if (known === undefined || known.isBoundary) return undefined;
      if (known.call !== undefined && isOne(known.call, call)) return known.call;
      at = known.parent;
    }
    return undefined;
  }

  /** The same call on a span around this one or below it. */
  #around(known: KnownSpan, call: Call): Call | undefined {
    const below = call.isNeeded ? undefined : this.#callsBelow(call.traceId, call.spanId);
    const inner = below?.find((one) => this.#isOne(one, call, true));
    return inner ?? this.#above(known.parent, call);
  }

  /** The same call on a span of another instrumentation: by its response, else by its usage and time. */
  #elsewhere(call: Call, values: FieldValues): Call | undefined {
    const { responseId, isEstimated } = call.said;
    const same = responseId === undefined ? undefined : sameResponse(this.#byResponse.get(responseId), call);
    if (same !== undefined) return same;
    const key = usageKey(call, values);
    if (key !== undefined) {
      const others = this.#byUsage.get(key);
      return findTwin(
        call,
        others?.filter((other) => !this.#spans.isPart(call, other)),
      );
    }
    if (!isEstimated || isOwnScope(call.scope)) return undefined;
    return findTwin(call, this.#ownCalls.get(call.process));
  }

  /** Notes a call at the spans around it, as far as they are known, up to the agent or tool. */
  #cover(parent: string | undefined, call: Call): void {
    let at = parent;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#spans.get(call.traceId, at);
      if (known?.isBoundary === true) return;
      const calls = this.#callsBelow(call.traceId, at);
      if (calls === undefined) this.#below.set(at, [call]);
      else if (!calls.includes(call) && calls.length < MAX_BELOW) calls.push(call);
      at = known?.parent;
    }
  }
}
