import type { HrTime } from '@opentelemetry/api';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { semconv } from '../base/index.ts';
import type { TraceStep } from '../evidence/index.ts';
import type { Interaction } from '../interaction/index.ts';
import { toText } from '../json/index.ts';
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
  /** In the order in which they ended: sorted in when somebody asks, for callers wait while a call is added. */
  added: KnownCall[];
  /** By the id of their span, the oldest first. */
  readonly bySpan: RecentMap<KnownCall>;
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

  /** Remembers a tool's span that ended, once. */
  add(span: ReadableSpan): void {
    const tool = toText(span.attributes[semconv.ATTR_GEN_AI_TOOL_NAME]);
    if (tool === undefined || span.kind === SpanKind.SERVER) return;
    const { traceId, spanId } = span.spanContext();
    const isError =
      span.status.code === SpanStatusCode.ERROR || span.attributes[semconv.ATTR_ERROR_TYPE] !== undefined;
    const { added } = this.#toCalls(traceId);
    added.push({
      spanId,
      parentId: span.parentSpanContext?.spanId,
      end: span.endTime,
      step: isError ? { tool, isError } : { tool, isOpaque: true },
    });
    if (added.length >= 2 * MAX_ENTRIES) added.splice(0, MAX_ENTRIES);
  }

  /** The calls of a trace, which is the one used last from now on. */
  #toCalls(traceId: string): KnownCalls {
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
    const latest = sorted(known).bySpan.values().slice(-MAX_STEPS);
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
  return { added: [], bySpan: new RecentMap(MAX_ENTRIES), parents: new RecentMap(MAX_ENTRIES) };
}

/** Sorts in the calls that were added. Of a call and its transport, the outer one counts. */
function sorted(known: KnownCalls): KnownCalls {
  const { added, bySpan, parents } = known;
  if (added.length === 0) return known;
  known.added = [];
  for (const call of added) {
    const { spanId, parentId } = call;
    if (bySpan.get(spanId) !== undefined) continue;
    if (parentId !== undefined && bySpan.get(parentId) !== undefined) continue;
    if (parents.get(spanId) === true) {
      for (const inner of bySpan.values()) if (inner.parentId === spanId) bySpan.delete(inner.spanId);
    }
    bySpan.set(spanId, call);
    if (parentId !== undefined) parents.set(parentId, true);
  }
  return known;
}

/** Starts are read from a clock of milliseconds, ends from a finer one: a start may seem to be just before the end. */
const CLOCK_MS = 2;
const isBefore = (end: HrTime, start: HrTime): boolean =>
  (end[0] - start[0]) * 1e3 + (end[1] - start[1]) / 1e6 <= CLOCK_MS;
