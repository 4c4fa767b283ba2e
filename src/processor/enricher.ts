import { type Context, context as contextApi, type HrTime } from '@opentelemetry/api';
import type { ReadableSpan, Span } from '@opentelemetry/sdk-trace';
import type { FieldValues } from '../base/index.ts';
import { addEvaluationEvents, type EventSpan, MCP_SCOPE, toAttribute, toColumns } from '../base/index.ts';
import {
  attachedTo,
  COUNTED_ON_CHILDREN,
  hasInteraction,
  type Interaction,
  type InteractionKind,
  interactionKind,
  isEnriched,
  isModelCall,
  keepInteraction,
  kindOfAttached,
  markEnriched,
  readInteractions,
  takeInteraction,
} from '../interaction/index.ts';
import { CallFields, type Way } from './call-fields.ts';
import { captureInteraction } from './capture-interaction.ts';
import { ContextTax } from './context-tax.ts';
import {
  type GovernanceFields,
  getGovernance,
  namesTemplate,
  readSessionByWords,
  UsersAround,
} from './governance.ts';
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
  EndedSpan,
  hasFigures,
  hasUsage,
  raiseAttributeLimit,
  setFields,
  takeFields,
  toAttributes,
  type WritableSpan,
  withoutUsage,
} from './set-fields.ts';
import { type ProcessorStats, Tally } from './tally.ts';
import { ToolMemory } from './tool-memory.ts';
import { findServedRequest, ToolTwins } from './tool-twins.ts';
import { UsageLedger } from './usage-ledger.ts';

/** Enriches the spans of one pipeline, in one of three ways. No method throws. */
export class Enricher {
  readonly #options: ResolvedProcessorOptions;
  readonly #tally = new Tally();
  readonly #metrics: SpendMetrics | undefined;
  readonly #tools = new ToolMemory();
  readonly #twins = new ToolTwins();
  readonly #ledger = new UsageLedger();
  readonly #fields: CallFields;
  readonly #governed = new WeakMap<object, GovernanceFields>();
  readonly #users = new UsersAround();

  /** @throws ObservatoryError `INVALID_OPTION` for an option that cannot be used. */
  constructor(options: ObservatorySpanProcessorOptions = {}) {
    this.#options = resolveProcessorOptions(options, (error) => this.#tally.countFault('verifier', error));
    const { meterProvider, contextTax } = this.#options;
    const tax = contextTax ? new ContextTax() : undefined;
    this.#fields = new CallFields(this.#options, this.#tools, this.#ledger, tax, (error) =>
      this.#tally.countFault('enrichment', error),
    );
    readInteractions(tax && ((tools, model) => tax.prepare(tools, model)));
    this.#metrics = meterProvider === false ? undefined : new SpendMetrics(meterProvider);
  }

  get stats(): ProcessorStats {
    return this.#tally.stats;
  }

  /** Sets the governance fields of a span that starts. */
  begin(span: Span, parentContext: Context): void {
    try {
      const kind = interactionKind(span);
      raiseAttributeLimit(span, kind !== undefined);
      this.#ledger.open(span, kind);
      if (kind === 'tool') this.#twins.note(span as Span & ReadableSpan);
      const recorded = findServedRequest(span, contextApi.active());
      if (recorded !== undefined) span.setAttribute(COUNTED_ON, recorded);
      this.#fields.expectAnswer(kind);
      this.#users.begin(span, parentContext);
      const fields = getGovernance(parentContext) ?? getGovernance(contextApi.active());
      // A span may turn out to be a GenAI span only later, so the fields wait for its end.
      if (fields !== undefined) this.#governed.set(span, fields);
      if (fields !== undefined && kind !== undefined) this.#govern(span, span);
    } catch (error) {
      this.#tally.countFault('governance', error);
    }
  }

  /**
   * Enriches a span that is about to end. Large texts are hashed within a bound of time.
   * @returns computed fields that exceeded the span's attribute limit.
   */
  enrichEnding(span: ReadableSpan & WritableSpan): FieldValues {
    return this.#finishToolCall(span) ?? this.#finish(span, span, 'ending');
  }

  /** As {@link enrichEnding}, for an SDK that does not say when a span is about to end. */
  enrichEnded(span: ReadableSpan): void {
    this.#tally.warnOldSdk();
    this.#finish(span, new EndedSpan(span), 'ending');
  }

  /**
   * Keeps what an ended span is to be enriched from, as it is now, for {@link enrichLate}.
   * @returns the characters that are kept.
   */
  keepForLate(span: ReadableSpan, target: WritableSpan): number {
    try {
      if (this.#options.captureContent && hasInteraction(span) && !isEnriched(span)) {
        const attached = attachedTo(span);
        if (attached !== undefined) captureInteraction(target, attached);
      }
      return keepInteraction(span);
    } catch (error) {
      this.#tally.countFault('enrichment', error);
      // It would fail once more.
      takeInteraction(span);
      return 0;
    }
  }

  /** Enriches a span of this process some time after its end, before anything exports it. */
  enrichLate(span: ReadableSpan, target: WritableSpan): void {
    this.#finish(span, target, 'late');
  }

  /** Notes a span that ended in another process, before those around it are enriched. */
  expectReceived(span: ReadableSpan): void {
    try {
      const kind = interactionKind(span);
      this.#ledger.link(span, kind);
      this.#users.receive(span);
      this.#fields.expectReceived(span);
      if (kind !== 'tool') return;
      this.#tools.add(span);
      this.#twins.note(span);
    } catch (error) {
      this.#tally.countFault('enrichment', error);
    }
  }

  /** Enriches a span that ended in another process and that nobody else holds. */
  enrichReceived(span: ReadableSpan): void {
    this.#finish(span, new EndedSpan(span), 'received');
  }

  /**
   * Reads long texts in turns of the event loop, before {@link enrichLate} or {@link enrichReceived}. Never rejects.
   * @returns undefined if the texts are short.
   */
  readAhead(span: ReadableSpan): Promise<void> | undefined {
    return this.#fields.readAhead(span);
  }

  /**
   * Does what {@link #finish} does for a tool call that our instrumentation of MCP describes and of which nothing else is
   * known, in fewer steps: there are many of them, and their callers wait.
   * @returns undefined for all others.
   */
  #finishToolCall(span: ReadableSpan & WritableSpan): FieldValues | undefined {
    let dropped: FieldValues | undefined;
    try {
      if (span.instrumentationScope?.name !== MCP_SCOPE) return undefined;
      if (this.#options.redactContent || this.#options.captureContent) return undefined;
      // With the root of a trace its calls are forgotten.
      if (span.parentSpanContext === undefined || isEnriched(span)) return undefined;
      if (this.#governed.has(span) || hasFigures(span.attributes)) return undefined;
      if (this.#users.find(span) !== undefined) return undefined;
      const values = this.#fields.ofToolCall(span, attachedTo(span));
      if (values === undefined) return undefined;
      takeInteraction(span);
      markEnriched(span);
      dropped = {};
      this.#tools.add(span);
      this.#ledger.settle(span, 'tool', false);
      this.#tally.countEnriched();
      dropped = setFields(span, values);
      this.#tally.countDropped(dropped);
    } catch (error) {
      // Else it fails once more, where faults are counted.
      if (dropped !== undefined) this.#tally.countFault('enrichment', error);
    }
    return dropped;
  }

  #finish(span: ReadableSpan, target: WritableSpan, way: Way): FieldValues {
    const isOwned = way === 'received';
    let kind: InteractionKind | undefined;
    let attached: Interaction | undefined;
    let computed: FieldValues | undefined;
    let dropped: FieldValues = {};
    try {
      kind = interactionKind(span);
      if (kind === undefined && !hasInteraction(span)) {
        this.#ledger.settle(span, kind, false);
        this.#tools.forgetAfter(span);
        if (this.#options.redactContent) this.#redact(span, dropped, way, { redactNames: false });
        return dropped;
      }
      attached = takeInteraction(span);
      this.#govern(span, target);
      const [user, session] = [this.#users.find(span), readSessionByWords(span)];
      if ((user ?? session) !== undefined)
        this.#tally.countDropped(setFields(target, { user_id: user, session_id: session } as FieldValues));
      if (!isEnriched(span)) {
        markEnriched(span);
        const known = kind ?? kindOfAttached(attached);
        const fields = this.#fields.of(span, target, known, attached, way);
        computed = this.#countOnce(span, known, fields);
        this.#tally.countEnriched();
        if (known === 'model') this.#noteTemplate(span);
        if (!isOwned || !this.#options.redactContent) dropped = setFields(target, computed);
        if (this.#options.captureContent && attached !== undefined) captureInteraction(target, attached);
      } else this.#tally.countDropped(setFields(target, this.#countOnce(span, kind, {})));
      this.#tools.forgetAfter(span);
    } catch (error) {
      this.#tally.countFault('enrichment', error);
    }
    this.#redact(span, dropped, way, { redactNames: true, fields: computed });
    if (computed !== undefined) this.#publish(span, target, computed);
    return dropped;
  }

  #govern(span: ReadableSpan, target: WritableSpan): void {
    const fields = this.#governed.get(span);
    if (fields === undefined) return;
    this.#governed.delete(span);
    const { values, refused } = checkFields(toColumns(fields));
    if (refused.length > 0) this.#tally.countRefused(refused);
    this.#tally.countDropped(setFields(target, values));
  }

  #noteTemplate(span: ReadableSpan): void {
    if (this.#options.countsUntemplated && !namesTemplate(span.attributes))
      this.#tally.countUntemplated(span.name);
  }

  /** The fields without tokens and cost, where another span of the same call has them. */
  #countOnce(span: ReadableSpan, kind: InteractionKind | undefined, values: FieldValues): FieldValues {
    if (span.attributes[COUNTED_ON] !== undefined) return withoutUsage(values);
    const hasSpent = hasUsage(span.attributes, values);
    const isPriced = (values.cost_source ?? span.attributes[COST_SOURCE]) !== undefined;
    const asCall = isPriced && !isModelCall(kind) ? 'model' : kind;
    const settled = this.#ledger.settle(span, asCall, hasSpent, values);
    // A cost that an application sets on a tool's span is the tool's own.
    const isOuter = asCall === 'other' ? hasSpent : asCall === 'tool' && values.prompt_tokens !== undefined;
    const twin = kind === 'tool' ? this.#twins.find(span) : undefined;
    const countedOn = twin ?? (isOuter ? COUNTED_ON_CHILDREN : settled);
    return countedOn === undefined ? values : { ...withoutUsage(values), counted_on: countedOn };
  }

  /** Emits the scores as events, after other events were redacted, and as metrics. */
  #publish(span: ReadableSpan, target: WritableSpan, values: FieldValues): void {
    try {
      if (this.#options.evaluationEvents && 'addEvent' in target) {
        addEvaluationEvents(target as WritableSpan & EventSpan, values, readEndTime(span));
      }
      if (span.attributes[COUNTED_ON] === undefined) this.#metrics?.record(span.attributes, values);
    } catch (error) {
      this.#tally.countFault('publishing', error);
    }
  }

  /** Removes content if the options ask for it, and counts the fields that found no room. */
  #redact(
    span: ReadableSpan,
    dropped: FieldValues,
    way: Way,
    options: { readonly redactNames: boolean; readonly fields?: FieldValues | undefined },
  ): void {
    if (!this.#options.redactContent) {
      this.#tally.countDropped(dropped);
      return;
    }
    try {
      const { keepAttributes: keep } = this.#options;
      const removed = redactSpan(span, { keep, isOwned: way === 'received', ...options });
      this.#tally.countRedacted(removed);
      // The SDK does not notice the freed attributes, so the remaining fields are written directly.
      const fitting = takeFields(dropped, removed);
      Object.assign(span.attributes, toAttributes(fitting));
      this.#tally.countDropped(dropped, countFields(fitting));
    } catch (error) {
      this.#tally.countFault('redaction', error);
    }
  }
}

/**
 * The spans of a batch in the order in which {@link Enricher.enrichReceived} takes them: each before those around it, as
 * they end in one process, so that what an aggregate repeats is known by then.
 */
export function innermostFirst(spans: readonly ReadableSpan[]): readonly ReadableSpan[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const depths = new Map<ReadableSpan, number>();
  for (const span of spans) {
    const path: ReadableSpan[] = [];
    let at: ReadableSpan | undefined = span;
    while (at !== undefined && !depths.has(at)) {
      // A span of a circle is found again, with the depth of a root.
      depths.set(at, 0);
      path.push(at);
      at = byId.get(at.parentSpanContext?.spanId ?? '');
    }
    let depth = at === undefined ? -1 : (depths.get(at) ?? 0);
    for (const one of path.reverse()) {
      depth += 1;
      depths.set(one, depth);
    }
  }
  return [...spans].sort((a, b) => (depths.get(b) ?? 0) - (depths.get(a) ?? 0));
}

const COUNTED_ON = toAttribute('counted_on');
const COST_SOURCE = toAttribute('cost_source');

/** When a span ended, if it has: what is written later belongs to that time. */
function readEndTime({ endTime }: ReadableSpan): HrTime | undefined {
  return endTime !== undefined && endTime[0] > 0 ? endTime : undefined;
}
