import { type Context, context as contextApi, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { FieldValues } from '../base/index.ts';
import { addEvaluationEvents, type EventSpan, toColumns } from '../base/index.ts';
import {
  hasInteraction,
  type Interaction,
  type InteractionKind,
  interactionKind,
  isEnriched,
  markEnriched,
  readInteraction,
  readInteractions,
  takeInteraction,
} from '../interaction/index.ts';
import { captureInteraction } from './capture-interaction.ts';
import { enrich } from './enrich.ts';
import { FaultLog, nameOfError } from './fault-log.ts';
import { type GovernanceFields, getGovernance } from './governance.ts';
import { SpendMetrics } from './metrics.ts';
import {
  type ObservatorySpanProcessorOptions,
  type ResolvedProcessorOptions,
  resolveProcessorOptions,
} from './options.ts';
import { redactSpan } from './redact.ts';
import {
  checkFields,
  countFields,
  setFields,
  takeFields,
  toAttributes,
  type WritableSpan,
} from './set-fields.ts';

/** What a processor has done since it was made. */
export interface ProcessorStats {
  /** GenAI and MCP spans that got their signals. */
  readonly enriched: number;
  /** Times something went wrong inside; the span was exported without the fields concerned. */
  readonly faults: number;
  /** Attributes that did not fit on a span because of the SDK's limit (128 by default). */
  readonly attributesDropped: number;
  /** Attributes of other instrumentations removed by `redactContent`. */
  readonly attributesRedacted: number;
}

/**
 * Puts governance fields on GenAI and MCP spans when they start and, when they end, hashes, scores, tokens and cost:
 * `observatory.*`, see the field dictionary. It works on spans of any instrumentation; all other spans are untouched.
 *
 * Everything happens in `onEnding`, while the span can still be written to, so every exporter sees the fields, the
 * ones registered before this processor too. SDKs before 2.3 have no `onEnding`: there the work is done in `onEnd`,
 * where only processors registered after this one see it, and a warning says so once.
 *
 * Nothing that fails here reaches the application: the span is exported without the fields, {@link stats} counts it
 * and one line of `diag` says why.
 */
export class ObservatorySpanProcessor implements SpanProcessor {
  readonly #options: ResolvedProcessorOptions;
  readonly #log = new FaultLog();
  readonly #metrics: SpendMetrics | undefined;
  readonly #governed = new WeakMap<object, GovernanceFields>();
  readonly #stats = { enriched: 0, faults: 0, attributesDropped: 0, attributesRedacted: 0 };
  #hasOnEnding = false;

  /** @throws ObservatoryError `INVALID_OPTION` for an option that cannot be used. */
  constructor(options: ObservatorySpanProcessorOptions = {}) {
    this.#options = resolveProcessorOptions(options, (error) => this.#fault('verifier', error));
    readInteractions();
    const { meterProvider } = this.#options;
    this.#metrics = meterProvider === false ? undefined : new SpendMetrics(meterProvider);
  }

  get stats(): ProcessorStats {
    return { ...this.#stats };
  }

  onStart(span: Span, parentContext: Context): void {
    try {
      const fields = getGovernance(parentContext) ?? getGovernance(contextApi.active());
      // Whether the span is a GenAI one may show only later, so the fields wait for its end.
      if (fields !== undefined) this.#governed.set(span, fields);
      if (fields !== undefined && interactionKind(span) !== undefined) this.#govern(span, span);
    } catch (error) {
      this.#fault('governance', error);
    }
  }

  onEnding(span: Span): void {
    this.#hasOnEnding = true;
    this.#finish(span, span);
  }

  /**
   * Enriches a span before its end, for code that makes spans itself.
   * @returns the fields that were computed and found no room on the span.
   */
  enrichNow(span: ReadableSpan & WritableSpan): FieldValues {
    return this.#finish(span, span);
  }

  onEnd(span: ReadableSpan): void {
    if (this.#hasOnEnding) return;
    this.#log.warnOnce(
      'old SDK',
      'this OpenTelemetry SDK calls no onEnding (2.3 brought it); exporters registered before the processor miss its fields',
    );
    this.#finish(span, new EndedSpan(span));
  }

  /** Does for a span that ended in another process what is done here when one ends. Never throws. */
  enrichEnded(span: ReadableSpan): void {
    this.#finish(span, new EndedSpan(span));
  }

  /** Nothing is held back, so there is nothing to flush. */
  async forceFlush(): Promise<void> {}

  /** Nothing is open, so there is nothing to close. */
  async shutdown(): Promise<void> {}

  #finish(span: ReadableSpan, target: WritableSpan): FieldValues {
    let kind: InteractionKind | undefined;
    let attached: Interaction | undefined;
    let computed: FieldValues | undefined;
    let dropped: FieldValues = {};
    try {
      kind = interactionKind(span);
      if (kind === undefined && !hasInteraction(span)) return dropped;
      attached = takeInteraction(span);
      this.#govern(span, target);
      if (!isEnriched(span)) {
        markEnriched(span);
        computed = this.#compute(span, kind ?? kindOfAttached(attached), attached);
        dropped = setFields(target, computed);
        if (this.#options.captureContent && attached !== undefined) captureInteraction(target, attached);
      }
    } catch (error) {
      this.#fault('enrichment', error);
    }
    if (this.#options.redactContent) this.#redact(span, dropped);
    else this.#countDropped(dropped);
    if (computed !== undefined) this.#publish(span, target, computed);
    return dropped;
  }

  #govern(span: ReadableSpan, target: WritableSpan): void {
    const fields = this.#governed.get(span);
    if (fields === undefined) return;
    this.#governed.delete(span);
    const { values, refused } = checkFields(toColumns(fields));
    if (refused.length > 0) {
      this.#stats.faults += 1;
      this.#log.warnOnce('governance', `governance fields of the wrong type left out: ${refused.join(', ')}`);
    }
    this.#countDropped(setFields(target, values));
  }

  #compute(span: ReadableSpan, kind: InteractionKind, attached: Interaction | undefined): FieldValues {
    const { signals, prices } = this.#options;
    const values = enrich(readInteraction(span, attached), {
      config: signals,
      prices,
      kind,
      at: new Date(span.startTime[0] * 1000),
      failed: span.status.code === SpanStatusCode.ERROR,
    });
    this.#stats.enriched += 1;
    return values;
  }

  /** Tells the scores beyond the span's fields: as events, after redaction has closed those of others, and metrics. */
  #publish(span: ReadableSpan, target: WritableSpan, values: FieldValues): void {
    try {
      if (this.#options.evaluationEvents && 'addEvent' in target) {
        addEvaluationEvents(target as WritableSpan & EventSpan, values);
      }
      this.#metrics?.record(span.attributes, values);
    } catch (error) {
      this.#fault('publishing', error);
    }
  }

  #redact(span: ReadableSpan, dropped: FieldValues): void {
    try {
      const removed = redactSpan(span);
      this.#stats.attributesRedacted += removed;
      // The SDK does not notice that there is room again, so the fields that found none are written past it.
      const fitting = takeFields(dropped, removed);
      Object.assign(span.attributes, toAttributes(fitting));
      this.#countDropped(dropped, countFields(fitting));
    } catch (error) {
      this.#fault('redaction', error);
    }
  }

  #countDropped(dropped: FieldValues, placed = 0): void {
    const count = countFields(dropped) - placed;
    if (count === 0) return;
    this.#stats.attributesDropped += count;
    this.#log.warnOnce(
      'attribute limit',
      'a span is full and lost observatory attributes; raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
    );
  }

  #fault(kind: 'governance' | 'enrichment' | 'verifier' | 'redaction' | 'publishing', error: unknown): void {
    this.#stats.faults += 1;
    this.#log.warnOnce(
      kind,
      `${kind} failed with ${nameOfError(error)}; the span is exported without its fields`,
    );
  }
}

/** What a span nobody marked as GenAI stands for, by what was attached to it. */
function kindOfAttached(attached: Interaction | undefined): InteractionKind {
  return attached?.prompt === undefined && attached?.toolArguments !== undefined ? 'tool' : 'model';
}

/** Writes to a span that has ended: in another process, or in an SDK without `onEnding`. */
class EndedSpan implements WritableSpan {
  readonly attributes: Record<string, unknown>;

  constructor(span: ReadableSpan) {
    this.attributes = span.attributes;
  }

  setAttribute(key: string, value: unknown): void {
    this.attributes[key] = value;
  }
}
