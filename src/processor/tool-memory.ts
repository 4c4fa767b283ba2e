import type { HrTime } from '@opentelemetry/api';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { semconv } from '../base/index.ts';
import type { Interaction } from '../interaction/index.ts';
import { textOf } from '../json/index.ts';
import type { TraceStep } from '../signals/index.ts';
import { RecentMap } from './recent-map.ts';

const MAX_TRACES = 500;
const MAX_STEPS = 50;
/** Half of the entries of a map are kept at least. */
const MAX_ENTRIES = 2 * MAX_STEPS;

interface KnownCall {
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly end: HrTime;
  readonly step: TraceStep;
}

interface KnownCalls {
  /** By the id of their span, the oldest first. */
  readonly bySpan: RecentMap<KnownCall>;
  /** Of the call before: an agent makes many below one span. */
  lastParent: string | undefined;
  /** Ids of spans around calls: one that ends takes the place of those inside. */
  readonly parents: RecentMap<true>;
}

/**
 * How the tool calls of recent traces ended, so that an answer whose conversation does not carry its calls can be held
 * against them. Outcomes only: tools, and whether they failed. It forgets the oldest trace first, and a trace with the
 * end of its root span.
 */
export class ToolMemory {
  readonly #traces = new Map<string, KnownCalls>();
  /** Most calls belong to the trace of the call before. */
  #last: readonly [traceId: string, known: KnownCalls] | undefined;

  /** Remembers a tool's span that ended, once. Of a call and its transport, the outer span counts. */
  add(span: ReadableSpan): void {
    const tool = textOf(span.attributes[semconv.ATTR_GEN_AI_TOOL_NAME]);
    if (tool === undefined || span.kind === SpanKind.SERVER) return;
    const { traceId, spanId } = span.spanContext();
    const parentId = span.parentSpanContext?.spanId;
    const known = this.#callsOf(traceId);
    if (known.bySpan.get(spanId) !== undefined) return;
    if (parentId !== undefined && known.bySpan.get(parentId) !== undefined) return;
    if (known.parents.get(spanId) === true) {
      for (const call of known.bySpan.values())
        if (call.parentId === spanId) known.bySpan.delete(call.spanId);
    }
    const isError = span.status.code === SpanStatusCode.ERROR || span.attributes['error.type'] !== undefined;
    known.bySpan.set(spanId, {
      spanId,
      parentId,
      end: span.endTime,
      step: isError ? { tool, isError } : { tool, isOpaque: true },
    });
    if (parentId !== undefined && parentId !== known.lastParent) known.parents.set(parentId, true);
    known.lastParent = parentId;
  }

  /** Whether calls inside a tool's span are remembered, whose place it takes as it ends. */
  isAround(span: ReadableSpan): boolean {
    const { traceId, spanId } = span.spanContext();
    return this.#traces.get(traceId)?.parents.get(spanId) === true;
  }

  /** The calls of a trace, which is the one used last from now on. */
  #callsOf(traceId: string): KnownCalls {
    if (this.#last?.[0] === traceId) return this.#last[1];
    const known = this.#traces.get(traceId) ?? newCalls();
    this.#traces.delete(traceId);
    this.#traces.set(traceId, known);
    this.#last = [traceId, known];
    if (this.#traces.size > MAX_TRACES) {
      for (const oldest of this.#traces.keys()) {
        this.#traces.delete(oldest);
        break;
      }
    }
    return known;
  }

  /** The interaction with the calls of its trace that ended before it began, if its conversation has none. */
  complete(span: ReadableSpan, interaction: Interaction): Interaction {
    const { steps, answer } = interaction;
    if (this.#traces.size === 0 || steps !== undefined || answer === undefined) return interaction;
    const known = this.#traces.get(span.spanContext().traceId);
    if (known === undefined) return interaction;
    const latest = known.bySpan.values().slice(-MAX_STEPS);
    const calls = latest.filter(({ end }) => isBefore(end, span.startTime));
    if (calls.length === 0) return interaction;
    return { ...interaction, steps: calls.map(({ step }) => step), stepsArePartial: true };
  }

  /** Forgets the trace if this span is its root: nothing of it follows in this process. */
  forgetAfter(span: ReadableSpan): void {
    if (this.#traces.size === 0 || span.parentSpanContext !== undefined) return;
    this.#traces.delete(span.spanContext().traceId);
    this.#last = undefined;
  }
}

function newCalls(): KnownCalls {
  return {
    bySpan: new RecentMap(MAX_ENTRIES),
    parents: new RecentMap(MAX_ENTRIES),
    lastParent: undefined,
  };
}

/** Starts are read from a clock of milliseconds, ends from a finer one: a start may seem to be just before the end. */
const CLOCK_MS = 2;
const isBefore = (end: HrTime, start: HrTime): boolean =>
  (end[0] - start[0]) * 1e3 + (end[1] - start[1]) / 1e6 <= CLOCK_MS;
