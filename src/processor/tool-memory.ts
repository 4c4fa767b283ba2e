import type { HrTime } from '@opentelemetry/api';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { semconv } from '../base/index.ts';
import type { Interaction } from '../interaction/index.ts';
import { textOf } from '../json/index.ts';
import type { TraceStep } from '../signals/index.ts';

const MAX_TRACES = 500;
const MAX_STEPS = 50;

interface KnownCall {
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly end: HrTime;
  readonly step: TraceStep;
}

/**
 * How the tool calls of recent traces ended, so that an answer whose conversation does not carry its calls can be held
 * against them. Outcomes only: tools, and whether they failed. It forgets the oldest trace first, and a trace with the
 * end of its root span.
 */
export class ToolMemory {
  readonly #traces = new Map<string, KnownCall[]>();

  /** Remembers a tool's span that ended, once. Of a call and its transport, the outer span counts. */
  add(span: ReadableSpan): void {
    const tool = textOf(span.attributes[semconv.ATTR_GEN_AI_TOOL_NAME]);
    if (tool === undefined || span.kind === SpanKind.SERVER) return;
    const { traceId, spanId } = span.spanContext();
    const isError = span.status.code === SpanStatusCode.ERROR || span.attributes['error.type'] !== undefined;
    const known = this.#traces.get(traceId) ?? [];
    const parentId = span.parentSpanContext?.spanId;
    if (known.some((call) => call.spanId === spanId || call.spanId === parentId)) return;
    const calls = known.filter((call) => call.parentId !== spanId);
    calls.push({
      spanId,
      parentId,
      end: span.endTime,
      step: isError ? { tool, isError } : { tool, isOpaque: true },
    });
    this.#traces.delete(traceId);
    this.#traces.set(traceId, calls.slice(-MAX_STEPS));
    if (this.#traces.size > MAX_TRACES)
      for (const oldest of this.#traces.keys()) return void this.#traces.delete(oldest);
  }

  /** The interaction with the calls of its trace that ended before it began, if its conversation has none. */
  complete(span: ReadableSpan, interaction: Interaction): Interaction {
    const { steps, answer } = interaction;
    if (this.#traces.size === 0 || steps !== undefined || answer === undefined) return interaction;
    const calls = this.#traces
      .get(span.spanContext().traceId)
      ?.filter(({ end }) => isBefore(end, span.startTime));
    if (calls === undefined || calls.length === 0) return interaction;
    return { ...interaction, steps: calls.map(({ step }) => step), stepsArePartial: true };
  }

  /** Forgets the trace if this span is its root: nothing of it follows in this process. */
  forgetAfter(span: ReadableSpan): void {
    if (this.#traces.size > 0 && span.parentSpanContext === undefined)
      this.#traces.delete(span.spanContext().traceId);
  }
}

/** Starts are read from a clock of milliseconds, ends from a finer one: a start may seem to be just before the end. */
const CLOCK_MS = 2;
const isBefore = (end: HrTime, start: HrTime): boolean =>
  (end[0] - start[0]) * 1e3 + (end[1] - start[1]) / 1e6 <= CLOCK_MS;
