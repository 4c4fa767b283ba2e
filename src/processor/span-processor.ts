import { type Context, context as contextApi } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { FieldValues } from '../base/index.ts';
import { addEvaluationEvents, attributeOf, type EventSpan, MCP_SCOPE, toColumns } from '../base/index.ts';
import {
  attachedTo,
  COUNTED_ON_CHILDREN,
  hasInteraction,
  type Interaction,
  type InteractionKind,
  interactionKind,
  isAggregate,
  isEnriched,
  isModelCall,
  keepInteraction,
  kindOfAttached,
  markEnriched,
  readInteractions,
  takeInteraction,
} from '../interaction/index.ts';
import { CallFields } from './call-fields.ts';
import { captureInteraction } from './capture-interaction.ts';
import { ContextTax } from './context-tax.ts';
import { EndedSpan, endTimeOf, writeEnded } from './ended-span.ts';
import { enrichToolCall } from './enrich.ts';
import { expectAnswer } from './expect-answer.ts';
import { type EnrichmentFault, FaultLog, nameOfError } from './fault-log.ts';
import { type GovernanceFields, getGovernance, namesTemplate } from './governance.ts';
import { SpendMetrics } from './metrics.ts';
import {
  type ObservatorySpanProcessorOptions,
  type ResolvedProcessorOptions,
  resolveProcessorOptions,
} from './options.ts';
import type { ProcessorStats } from './processor-stats.ts';
import { type RedactOptions, redactSpan } from './redact.ts';
import {
  checkFields,
  countFields,
  hasFigures,
  hasUsage,
  setFields,
  takeFields,
  toAttributes,
  type WritableSpan,
  withoutUsage,
} from './set-fields.ts';
import { ToolMemory } from './tool-memory.ts';
import { UnreadSpans } from './unread-spans.ts';
import { UsageLedger } from './usage-ledger.ts';

/**
 * Enriches GenAI and MCP spans of any instrumentation: governance fields at the start; hashes, scores, tokens and cost
 * at the end, as `observatory.*` attributes (see the field dictionary). Other spans are left alone.
 *
 * Model calls are enriched within 50 ms after they have ended, so that callers do not wait, or as soon as anybody reads
 * the span before that: all processors and exporters see the fields. With a meter provider, whose metrics are then
 * complete when a call has ended, and with `redactContent` they are enriched in `onEnding`, as other spans are. SDKs
 * before 2.3 have no `onEnding`: there it runs in `onEnd`, visible only to processors registered later, with one warning.
 *
 * A failure leaves the span without the fields; {@link stats} counts it and `diag` logs the reason once.
 */
export class ObservatorySpanProcessor implements SpanProcessor {
  readonly #options: ResolvedProcessorOptions;
  readonly #log = new FaultLog();
  readonly #metrics: SpendMetrics | undefined;
  readonly #tools = new ToolMemory();
  readonly #ledger = new UsageLedger();
  readonly #fields: CallFields;
  readonly #governed = new WeakMap<object, GovernanceFields>();
  readonly #unread: UnreadSpans | undefined;
  readonly #stats = { enriched: 0, faults: 0, untemplated: 0, attributesDropped: 0, attributesRedacted: 0 };
  #hasOnEnding = false;

  /** @throws ObservatoryError `INVALID_OPTION` for an option that cannot be used. */
  constructor(options: ObservatorySpanProcessorOptions = {}) {
    this.#options = resolveProcessorOptions(options, (error) => this.#fault('verifier', error));
    const { meterProvider, contextTax } = this.#options;
    const tax = contextTax ? new ContextTax() : undefined;
    this.#fields = new CallFields(this.#options, this.#tools, tax, (error) =>
      this.#fault('enrichment', error),
    );
    readInteractions(tax && ((tools, model) => tax.prepare(tools, model)));
    this.#metrics = meterProvider === false ? undefined : new SpendMetrics(meterProvider);
    // Who collects metrics right after a call finds it in them; what is to be redacted is on no span for any time.
    const mayWait = () => this.#metrics?.areRead !== true;
    this.#unread = this.#options.redactContent ? undefined : new UnreadSpans(this, mayWait, this.#tools);
  }

  get stats(): ProcessorStats {
    this.#unread?.settleNow();
    return { ...this.#stats };
  }

  onStart(span: Span, parentContext: Context): void {
    if (isModelCall(this.begin(span, parentContext))) this.#unread?.accept(span);
  }

  /** As {@link onStart}, for a pipeline that says when spans are enriched. Never throws. */
  begin(span: Span, parentContext: Context): InteractionKind | undefined {
    let kind: InteractionKind | undefined;
    try {
      kind = interactionKind(span);
      this.#ledger.open(span, kind);
      expectAnswer(kind, this.#options.signals.enableEvidence);
      const fields = getGovernance(parentContext) ?? getGovernance(contextApi.active());
      // A span may turn out to be a GenAI span only later, so the fields wait for its end.
      if (fields !== undefined) this.#governed.set(span, fields);
      if (fields !== undefined && kind !== undefined) this.#govern(span, span);
    } catch (error) {
      this.#fault('governance', error);
    }
    return kind;
  }

  onEnding(span: Span): void {
    this.#hasOnEnding = true;
    if (this.#finishToolCall(span) || this.#unread?.take(span) === true) return;
    this.#finish(span, span);
  }

  /**
   * Does what {@link #finish} does for a tool call that our instrumentation of MCP describes and of which nothing else is
   * known, in fewer steps: there are many of them, and their callers wait.
   * @returns false for all others.
   */
  #finishToolCall(span: ReadableSpan & WritableSpan): boolean {
    let isTaken = false;
    try {
      if (span.instrumentationScope?.name !== MCP_SCOPE) return false;
      if (this.#options.redactContent || this.#options.captureContent) return false;
      if (this.#unread?.isOutOfTurn(span) === false || isEnriched(span)) return false;
      if (this.#governed.has(span) || hasFigures(span.attributes)) return false;
      const values = enrichToolCall(span, attachedTo(span) ?? {});
      if (values === undefined) return false;
      takeInteraction(span);
      markEnriched(span);
      isTaken = true;
      this.#tools.add(span);
      this.#ledger.settle(span, 'tool', false);
      this.#stats.enriched += 1;
      this.#countDropped(setFields(span, values));
    } catch (error) {
      // Else it fails once more, where faults are counted.
      if (isTaken) this.#fault('enrichment', error);
    }
    return isTaken;
  }

  /**
   * Enriches a span before its end, for code that creates spans itself.
   * @returns computed fields that exceeded the span's attribute limit.
   */
  enrichNow(span: ReadableSpan & WritableSpan): FieldValues {
    this.#unread?.settleNow();
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

  /**
   * Keeps what an ended span is to be enriched from, as it is now, for {@link enrichLate}. Never throws.
   * @returns the characters that are kept.
   */
  keepForLater(span: ReadableSpan): number {
    try {
      if (this.#options.captureContent && hasInteraction(span) && !isEnriched(span)) {
        const attached = attachedTo(span);
        if (attached !== undefined) writeEnded(span, (target) => captureInteraction(target, attached));
      }
      return keepInteraction(span);
    } catch (error) {
      this.#fault('enrichment', error);
      // It would fail once more.
      takeInteraction(span);
      return 0;
    }
  }

  /** @internal Whether the texts of an ended span are worth {@link readAhead}. Never throws. */
  isLong(span: ReadableSpan): boolean {
    return this.#fields.areLong(span);
  }

  /** @internal Reads long texts in turns of the event loop, for an enrichment that follows. Never rejects. */
  readAhead(span: ReadableSpan, isBounded = false): Promise<void> {
    return this.#fields.readAhead(span, isBounded);
  }

  /** Enriches a span of this process some time after its end, before anything exports it. Never throws. */
  enrichLate(span: ReadableSpan, isBounded = false): void {
    writeEnded(span, (target) => this.#finish(span, target, { isBounded }));
  }

  /** Tells of a span that ended in another process, before those around it are enriched. Never throws. */
  expectEnded(span: ReadableSpan): void {
    try {
      const kind = interactionKind(span);
      this.#ledger.link(span, kind);
      if (kind === 'tool') this.#tools.add(span);
    } catch (error) {
      this.#fault('enrichment', error);
    }
  }

  /** Enriches a span that ended in another process and that nobody else holds. Never throws. */
  enrichEnded(span: ReadableSpan): void {
    this.#finish(span, new EndedSpan(span), { isOwned: true, isBounded: false });
  }

  async forceFlush(): Promise<void> {
    await this.#unread?.settle();
  }

  async shutdown(): Promise<void> {
    await this.#unread?.settle();
  }

  /** @param isBounded whether large texts that were not hashed ahead are hashed within a bound of time. */
  #finish(span: ReadableSpan, target: WritableSpan, { isOwned = false, isBounded = true } = {}): FieldValues {
    let kind: InteractionKind | undefined;
    let attached: Interaction | undefined;
    let computed: FieldValues | undefined;
    let dropped: FieldValues = {};
    try {
      kind = interactionKind(span);
      if (kind === undefined && !hasInteraction(span)) {
        this.#ledger.settle(span, kind, false);
        this.#tools.forgetAfter(span);
        if (this.#options.redactContent) this.#redact(span, dropped, { redactNames: false, isOwned });
        return dropped;
      }
      attached = takeInteraction(span);
      this.#govern(span, target);
      if (!isEnriched(span)) {
        markEnriched(span);
        const known = kind ?? kindOfAttached(attached);
        computed = this.#countOnce(span, known, this.#fields.of(span, target, known, attached, isBounded));
        this.#stats.enriched += 1;
        if (known === 'model') this.#noteTemplate(span);
        if (!isOwned || !this.#options.redactContent) dropped = setFields(target, computed);
        if (this.#options.captureContent && attached !== undefined) captureInteraction(target, attached);
      } else this.#countDropped(setFields(target, this.#countOnce(span, kind, {})));
      this.#tools.forgetAfter(span);
    } catch (error) {
      this.#fault('enrichment', error);
    }
    if (this.#options.redactContent)
      this.#redact(span, dropped, { redactNames: true, isOwned, fields: computed });
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
      this.#log.warnOnce(
        'governance',
        `governance fields of the wrong type or range left out: ${refused.join(', ')}`,
      );
    }
    this.#countDropped(setFields(target, values));
  }

  #noteTemplate(span: ReadableSpan): void {
    if (!this.#options.countsUntemplated || namesTemplate(span.attributes)) return;
    this.#stats.untemplated += 1;
    this.#log.warnOnce('template', `the model call '${span.name}' has no prompt_template_id`);
  }

  /** The fields without tokens and cost, where another span of the same call has them. */
  #countOnce(span: ReadableSpan, kind: InteractionKind | undefined, values: FieldValues): FieldValues {
    if (span.attributes[COUNTED_ON] !== undefined) return withoutUsage(values);
    const hasSpent = hasUsage(span.attributes, values);
    const settled = this.#ledger.settle(span, kind, hasSpent, values);
    const isOuter = hasSpent && (kind === 'other' || kind === 'tool') && isAggregate(span);
    const countedOn = isOuter ? COUNTED_ON_CHILDREN : settled;
    return countedOn === undefined ? values : { ...withoutUsage(values), counted_on: countedOn };
  }

  /** Emits the scores as events, after other events were redacted, and as metrics. */
  #publish(span: ReadableSpan, target: WritableSpan, values: FieldValues): void {
    try {
      if (this.#options.evaluationEvents && 'addEvent' in target) {
        addEvaluationEvents(target as WritableSpan & EventSpan, values, endTimeOf(span));
      }
      if (span.attributes[COUNTED_ON] === undefined) this.#metrics?.record(span.attributes, values);
    } catch (error) {
      this.#fault('publishing', error);
    }
  }

  #redact(span: ReadableSpan, dropped: FieldValues, options: Omit<RedactOptions, 'keep'>): void {
    try {
      const { keepAttributes: keep } = this.#options;
      const removed = redactSpan(span, { keep, ...options });
      this.#stats.attributesRedacted += removed;
      // The SDK does not notice the freed attributes, so the remaining fields are written directly.
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

  #fault(kind: EnrichmentFault, error: unknown): void {
    this.#stats.faults += 1;
    this.#log.warnOnce(
      kind,
      `${kind} failed with ${nameOfError(error)}; the span is exported without its fields`,
    );
  }
}

const COUNTED_ON = attributeOf('counted_on');
