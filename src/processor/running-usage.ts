/** Usage that grows from call to call: Spring AI 1 adds that of the calls before, where it called tools in between. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { semconv } from '../base/index.ts';
import { type Interaction, isSpringAi1 } from '../interaction/index.ts';
import { readCount } from '../signals/index.ts';
import { toMs } from './known-call.ts';
import { RecentMap } from './recent-map.ts';

/** Spans whose calls are kept in mind, and calls below one. */
const MAX_PARENTS = 1_024;
const MAX_CALLS = 64;

/** A call that asked for tools, or after which another begins anew. */
interface Before {
  readonly isForTools: boolean;
  readonly end: number;
  readonly input: number;
  readonly output: number;
}

export class RunningUsage {
  readonly #before = new RecentMap<readonly Before[]>(MAX_PARENTS);

  /** Tells of a span before those of its batch are asked about, which come in any order. */
  note(span: ReadableSpan): void {
    if (!isSpringAi1(span) || span.attributes[TOOLS] === undefined) return;
    const { [FINISH]: finish, [PROVIDER]: provider, [INPUT]: input, [OUTPUT]: output } = span.attributes;
    const isForTools = FOR_TOOLS.test(`${finish} ${provider}`);
    const sums = { input: readCount(input) ?? 0, output: readCount(output) ?? 0 };
    const call = { isForTools, end: toMs(span.endTime), ...sums };
    const calls = this.#before.get(toKey(span)) ?? [];
    this.#before.set(toKey(span), [...calls.slice(1 - MAX_CALLS), call]);
  }

  /** What was read of a call, with the usage of that call alone; it disagrees where that is not known. */
  ofCallAlone(span: ReadableSpan, read: Interaction): Interaction {
    const { usage } = read;
    if (usage === undefined || !isSpringAi1(span) || span.attributes[TOOLS] === undefined) return read;
    const start = toMs(span.startTime);
    const ended = (this.#before.get(toKey(span)) ?? []).filter(({ end }) => end <= start);
    const before = ended.sort((a, b) => b.end - a.end)[0];
    if (before?.isForTools !== true && span.parentSpanContext !== undefined) return read;
    const { input, output } = before?.isForTools === true ? before : NOT_KNOWN;
    const inputTokens = (usage.inputTokens ?? 0) - input;
    const outputTokens = (usage.outputTokens ?? 0) - output;
    const isKnown = inputTokens > 0 && outputTokens > 0;
    return {
      ...read,
      usage: { ...usage, ...(isKnown ? { inputTokens, outputTokens } : { disagrees: true }) },
    };
  }
}

/** Without a span around them, calls are not known to follow each other. */
const NOT_KNOWN = { input: Number.POSITIVE_INFINITY, output: Number.POSITIVE_INFINITY };

const toKey = (span: ReadableSpan) => `${span.spanContext().traceId} ${span.parentSpanContext?.spanId}`;

const FINISH = semconv.ATTR_GEN_AI_RESPONSE_FINISH_REASONS;
const INPUT = semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS;
const OUTPUT = semconv.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS;
const PROVIDER = semconv.ATTR_GEN_AI_SYSTEM;
const TOOLS = 'spring.ai.model.request.tool.names';

/** How a call ends that asks for tools; one of Gemini ends as any other. */
const FOR_TOOLS = /tool|function|vertex|google/i;
