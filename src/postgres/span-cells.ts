import type { HrTime, SpanContext } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, type Column, evaluationIn, ObservatoryError } from '../base/index.ts';
import { COUNTED_ON_CHILDREN, isModelCall, isUsageColumn, kindInWords } from '../interaction/index.ts';
import { cutText } from './clean-text.ts';
import type { Scalar } from './coerce.ts';
import { AttributeDivider, toPosition } from './columns.ts';
import { spanIdHex, traceIdHex } from './ids.ts';
import { Marks } from './marks.ts';
import { ResourceCache, type ResourceParts } from './resource-parts.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import { isRepresentable, UNKNOWN_TIME } from './time.ts';

const TRACE_ID = toPosition('trace_id');
const SPAN_ID = toPosition('span_id');
const PARENT_SPAN_ID = toPosition('parent_span_id');
const START_TIME = toPosition('start_time');
const END_TIME = toPosition('end_time');
const SPAN_NAME = toPosition('span_name');
const SPAN_KIND = toPosition('span_kind');
const STATUS_CODE = toPosition('status_code');
const STATUS_MESSAGE = toPosition('status_message');
const SCOPE = toPosition('scope');

const PROMPT_TOKENS = toPosition('prompt_tokens');
const COMPLETION_TOKENS = toPosition('completion_tokens');
const COUNTED_ON = toPosition('counted_on');
const COST = toPosition('cost_usd');
const COST_SOURCE = toPosition('cost_source');
const USAGE_COLUMNS = COLUMNS.filter(isUsageColumn).map(toPosition);
/** Columns of a model call that an agent or a tool may have too. */
const CALL_COLUMNS = [toPosition('model'), ...USAGE_COLUMNS];

/** Names of `SpanKind` and `SpanStatusCode`, by their numbers. */
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUSES = ['unset', 'ok', 'error'] as const;

/** The value of a cell: ids as hex digits or a UUID, text not cleaned yet. */
export type Cell = Scalar | HrTime | null;

/**
 * The cells of one row of `mcp_traces`, read from a span: the only definition of which value goes where. It is reused
 * for many spans; its values are valid until the next one is read.
 */
export class SpanCells {
  /** Values by position of the column; null for JSON columns, which are written from the span. */
  readonly values: Cell[] = COLUMNS.map(() => null);
  readonly marks: Marks = new Marks();
  readonly limits: ResolvedRowLimits;
  readonly #divider: AttributeDivider;
  readonly #resources: ResourceCache;
  #context: SpanContext | undefined;
  #resource: ResourceParts | undefined;
  readonly #isRepresentable: (time: HrTime) => boolean;

  /** @param isTime whether the store can represent a time. @defaultValue as Postgres and ISO 8601 */
  constructor(limits: ResolvedRowLimits, isTime: (time: HrTime) => boolean = isRepresentable) {
    this.limits = limits;
    this.#isRepresentable = isTime;
    this.#divider = new AttributeDivider('span', limits.maxColumnChars);
    this.#resources = new ResourceCache(limits);
  }

  /** The span's attributes, and which of them columns are equivalent to. */
  get attributes(): AttributeDivider {
    return this.#divider;
  }

  /** The name to mark when the text of a cell is changed. */
  nameBehind(position: number): string {
    const ofResource = this.#resource?.columns.find((column) => column.position === position);
    return this.#divider.nameBehind(position) ?? ofResource?.name ?? (COLUMNS[position] as Column);
  }

  get resourceJson(): string {
    return this.#resource?.json as string;
  }

  get context(): SpanContext {
    return this.#context as SpanContext;
  }

  /**
   * A column is filled from `observatory.<column>`, else from the first of its sources that has a value of the column's
   * type (see `coerce`).
   * @throws ObservatoryError `INVALID_INPUT` when the trace or span id is not valid: such a row has no key.
   */
  read(span: ReadableSpan): void {
    const { values, marks } = this;
    const context = span.spanContext();
    const traceId = traceIdHex(context.traceId);
    const spanId = spanIdHex(context.spanId);
    if (traceId === undefined || spanId === undefined) throw invalidIds(context);
    this.#context = context;
    marks.clear();
    values.fill(null);
    this.#fillFromAttributes(span);
    if (span.events.length > 0) this.#fillFromEvaluations(span.events);
    values[TRACE_ID] = traceId;
    values[SPAN_ID] = spanId;
    values[PARENT_SPAN_ID] = this.#findParent(span);
    values[START_TIME] = this.time(span.startTime, 'start_time');
    values[END_TIME] = this.time(span.endTime, 'end_time');
    values[SPAN_KIND] = KINDS[span.kind] ?? 'internal';
    values[STATUS_CODE] = STATUSES[span.status.code] ?? 'unset';
    this.#fillText(SPAN_NAME, 'span_name', String(span.name));
    this.#fillText(STATUS_MESSAGE, 'status_message', span.status.message);
    this.#fillText(SCOPE, 'scope', span.instrumentationScope?.name);
  }

  /** The time, or an unknown time and a mark if it cannot be stored. */
  time(time: HrTime, name: string): HrTime {
    if (this.#isRepresentable(time)) return time;
    this.marks.sanitize(name);
    return UNKNOWN_TIME;
  }

  #fillFromAttributes(span: ReadableSpan): void {
    const { values } = this;
    const resource = this.#resources.partsOf(span.resource);
    this.#resource = resource;
    if (!resource.marks.isEmpty) this.marks.addAll(resource.marks.sanitized, resource.marks.truncated);
    for (const { position, value } of resource.columns) values[position] = value;
    this.#divider.divide(span.attributes, values);
    this.#forgetZeros();
    this.#countOnce(span);
  }

  /** No prompt is empty: zeros stand for what nobody counted. */
  #forgetZeros(): void {
    const { values } = this;
    if (values[PROMPT_TOKENS] !== 0) return;
    this.#release(PROMPT_TOKENS);
    if (values[COMPLETION_TOKENS] === 0) this.#release(COMPLETION_TOKENS);
  }

  #release(position: number): void {
    this.values[position] = null;
    this.#divider.release(position);
  }

  /**
   * Tokens and cost of an agent are the sum of the calls inside, and those of a call may stand on several spans. Their
   * columns are filled on one of them; on the others they stay in `attributes`.
   */
  #countOnce(span: ReadableSpan): void {
    const { values } = this;
    if (values[COUNTED_ON] === null) {
      if (!CALL_COLUMNS.some((position) => values[position] !== null)) return;
      // The processor has seen the calls below it, or that there are none.
      if (values[COST_SOURCE] !== null) return;
      const kind = kindInWords(span, this.#divider.hasGenAi);
      if (kind === undefined || isModelCall(kind)) return;
      // A cost that an application sets on a tool's span is the tool's own.
      if (values[COST] !== null && kind === 'tool') return;
      values[COUNTED_ON] = COUNTED_ON_CHILDREN;
    }
    for (const position of USAGE_COLUMNS) {
      if (values[position] !== null) this.#release(position);
    }
  }

  /** Scores that others gave to the span fill columns that have no value; the first one counts. */
  #fillFromEvaluations(events: ReadableSpan['events']): void {
    for (const event of events) {
      const told = evaluationIn(event);
      if (told === undefined) continue;
      const position = toPosition(told.column);
      this.values[position] ??= told.value;
    }
  }

  #fillText(position: number, column: Column, text: unknown): void {
    if (text === undefined || text === null) return;
    const whole = String(text);
    const kept = cutText(whole, this.limits.maxColumnChars);
    if (kept !== whole) this.marks.truncate(column);
    this.values[position] = kept;
  }

  #findParent(span: ReadableSpan): string | null {
    const spanId = span.parentSpanContext?.spanId;
    if (spanId === undefined) return null;
    const hex = spanIdHex(spanId);
    if (hex === undefined && !/^0*$/.test(spanId)) this.marks.sanitize('parent_span_id');
    return hex ?? null;
  }
}

function invalidIds({ traceId, spanId }: SpanContext): ObservatoryError {
  return new ObservatoryError(
    'INVALID_INPUT',
    `A span needs a trace id of 32 and a span id of 16 hex digits, not all zero; got '${traceId}' and '${spanId}'`,
  );
}
