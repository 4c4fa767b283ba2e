/** The spans that are known of the traces lately, and which of them are around each other. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { InteractionKind } from '../interaction/index.ts';
import { type Call, isBoundary } from './known-call.ts';
import { RecentMap } from './recent-map.ts';

/** Spans kept in mind; beyond it the oldest are forgotten. */
export const MAX_SPANS = 8_192;
/** Spans between two instrumentations of one call: HTTP, retries, callbacks. */
export const MAX_STEPS = 16;

export interface KnownSpan {
  readonly traceId: string;
  readonly parent: string | undefined;
  /** It says that it is an agent or a tool: calls below it are not the call above it. */
  readonly isBoundary: boolean;
  /** What is counted below it has been handed on to its parent. */
  isSettled: boolean;
  call: Call | undefined;
}

export class KnownSpans {
  readonly #byId = new RecentMap<KnownSpan>(MAX_SPANS);

  get size(): number {
    return this.#byId.size;
  }

  get(traceId: string, spanId: string): KnownSpan | undefined {
    const known = this.#byId.get(spanId);
    return known?.traceId === traceId ? known : undefined;
  }

  add(span: ReadableSpan, kind: InteractionKind | undefined): KnownSpan {
    const { traceId, spanId } = span.spanContext();
    const parent = span.parentSpanContext?.spanId;
    const known: KnownSpan = {
      traceId,
      parent,
      isBoundary: isBoundary(span, kind),
      isSettled: false,
      call: undefined,
    };
    this.#byId.set(spanId, known);
    return known;
  }

  /** Whether all spans of a call and another one are around each other: of two calls side by side, one is not the other. */
  isInLine(one: Call, call: Call): boolean {
    const first = one.countedOn ?? one;
    const id = call.said.responseId;
    return [first, ...(first.spans ?? [])].every(
      (span) => (id !== undefined && id === span.said.responseId) || this.#areNested(span, call),
    );
  }

  /** Whether a call is, or may be, a part of another one with an agent between them, be that the other one itself. */
  isPart(call: Call, other: Call): boolean {
    const isOfTrace = call.traceId === other.traceId;
    const isAgent = isOfTrace && this.get(other.traceId, other.spanId)?.isBoundary === true;
    return isAgent || (isOfTrace && this.#areNested(call, other));
  }

  #areNested(one: Call, other: Call): boolean {
    return this.#isAbove(one, other) || this.#isAbove(other, one);
  }

  #isAbove(outer: Call, { traceId, spanId }: Call): boolean {
    let at: string | undefined = spanId;
    for (let step = 0; at !== undefined && step <= MAX_STEPS; step += 1) {
      if (at === outer.spanId) return true;
      at = this.get(traceId, at)?.parent;
    }
    return false;
  }
}
