import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type FieldValues, ownTurn, semconv, takeInSlices, toAttribute } from '../base/index.ts';
import { computeEvidence, warmEvidence } from '../evidence/index.ts';
import {
  type Interaction,
  type InteractionKind,
  isModelCall,
  readInteraction,
  readTextField,
} from '../interaction/index.ts';
import type { ContextTax } from './context-tax.ts';
import { enrich, enrichToolCall, HashMemo } from './enrich.ts';
import { hasLongTexts, readAhead, tellScored, withHashes } from './long-texts.ts';
import type { ResolvedProcessorOptions } from './options.ts';
import { RunningUsage } from './running-usage.ts';
import type { WritableSpan } from './set-fields.ts';
import type { ToolMemory } from './tool-memory.ts';
import type { UsageLedger } from './usage-ledger.ts';

const OFFERED_TOOLS = toAttribute('offered_tools');

/**
 * When a span is enriched: as it ends, while its caller waits; late, some time after its end and before its export; or as
 * it is received from another process, where nobody else holds it.
 */
export type Way = 'ending' | 'late' | 'received';

/** Computes the fields of an ended span, of what is on it, what is attached to it, and the tool calls of its trace. */
export class CallFields {
  readonly #options: ResolvedProcessorOptions;
  readonly #tools: ToolMemory;
  readonly #ledger: UsageLedger;
  readonly #tax: ContextTax | undefined;
  readonly #onFault: (error: unknown) => void;
  readonly #memo = new HashMemo();
  readonly #running = new RunningUsage();
  #isAnswerExpected = false;

  /** @param onFault called with an error that costs only a part of the fields. */
  constructor(
    options: ResolvedProcessorOptions,
    tools: ToolMemory,
    ledger: UsageLedger,
    tax: ContextTax | undefined,
    onFault: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#tools = tools;
    this.#ledger = ledger;
    this.#tax = tax;
    this.#onFault = onFault;
  }

  /** Prepares the scores of answers as the first span begins that may end with one. */
  expectAnswer(kind: InteractionKind | undefined): void {
    if (this.#isAnswerExpected || kind === undefined || kind === 'tool') return;
    this.#isAnswerExpected = true;
    if (this.#options.signals.enableEvidence) void warmEvidence();
  }

  /** Notes a span that ended in another process, before those of its batch are enriched. */
  expectReceived(span: ReadableSpan): void {
    this.#running.note(span);
  }

  /** The fields of a call that our instrumentation of MCP describes; undefined for all others. */
  ofToolCall(span: ReadableSpan, attached: Interaction | undefined): FieldValues | undefined {
    return attached && enrichToolCall(span, attached, this.#memo);
  }

  /**
   * @param target receives the share of large texts that was read.
   * @param way a caller waits for a span that is ending: large texts that were not hashed ahead are then hashed within a
   * bound of time.
   */
  of(
    span: ReadableSpan,
    target: WritableSpan,
    saidKind: InteractionKind,
    attached: Interaction | undefined,
    way: Way,
  ): FieldValues {
    const { signals, prices } = this.#options;
    // With the root of a trace its calls are forgotten.
    if (saidKind === 'tool' && span.parentSpanContext !== undefined) this.#tools.add(span);
    const known = this.ofToolCall(span, attached);
    if (known !== undefined) return known;
    const read = readInteraction(span, attached);
    const whole = way === 'received' ? this.#running.ofCallAlone(span, read) : read;
    const interaction = withHashes(target, whole, way === 'ending');
    const kind = this.#isCall(span, saidKind, interaction, way) ? 'model' : saidKind;
    const values = enrich(this.#withTools(span, interaction, kind), {
      config: signals,
      prices,
      kind,
      // Prices depend on it, and only models have one.
      at: isModelCall(kind) ? toStart(span) : undefined,
      failed: span.status.code === SpanStatusCode.ERROR,
      memo: this.#memo,
    });
    tellScored(target, interaction);
    if (kind === 'tool') nameTool(span, values);
    if (kind === 'model' && interaction.tools !== undefined && span.attributes[OFFERED_TOOLS] === undefined) {
      Object.assign(values, this.#findTax(interaction, toStart(span)));
    }
    return values;
  }

  /** Whether a span that does not say so is a model call: it has tokens, and no call is known that they could be of. */
  #isCall(span: ReadableSpan, kind: InteractionKind, interaction: Interaction, way: Way): boolean {
    const { usage } = interaction;
    if (isModelCall(kind)) return false;
    if (usage?.inputTokens === undefined && usage?.outputTokens === undefined) return false;
    return this.#ledger.isAlone(span, interaction, way === 'received');
  }

  /**
   * Reads long texts in turns of the event loop of their own, for {@link of}. Never throws or rejects.
   * @returns undefined if the texts are short.
   */
  readAhead(span: ReadableSpan): Promise<void> | undefined {
    // What fails here fails once more, where faults are counted.
    try {
      if (!hasLongTexts(span)) return undefined;
      const steps = readAhead(span, (read, kind) => this.#computeEvidence(span, read, kind));
      // What follows has a turn of its own.
      return takeInSlices(steps)
        .then(ownTurn)
        .catch(() => {});
    } catch {
      return undefined;
    }
  }

  #computeEvidence(span: ReadableSpan, read: Interaction, kind: InteractionKind): Interaction['evidence'] {
    return computeEvidence(this.#withTools(span, read, kind), this.#options.signals);
  }

  #withTools(span: ReadableSpan, interaction: Interaction, kind: InteractionKind): Interaction {
    return kind === 'model' ? this.#tools.complete(span, interaction) : interaction;
  }

  #findTax(interaction: Interaction, at: Date): FieldValues | undefined {
    try {
      const { model, provider, serviceTier, serverAddress } = interaction;
      const providerApiUrl = serverAddress === undefined ? undefined : this.#memo.urlOf(serverAddress);
      const price = { model, provider, providerApiUrl, serviceTier, at, overrides: this.#options.prices };
      return this.#tax?.fieldsOf(interaction, price);
    } catch (error) {
      this.#onFault(error);
      return undefined;
    }
  }
}

/**
 * Says in the words of the conventions that a span executes a tool, where another instrumentation says it in its own. Most
 * of those name the span after the tool.
 */
function nameTool({ name, attributes }: ReadableSpan, values: FieldValues): void {
  const isNamed = (column: 'operation' | 'method' | 'tool_name') =>
    readTextField(attributes, column) !== undefined;
  if (isNamed('method') || isNamed('operation')) return;
  Object.assign(values, {
    operation: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
    ...(!isNamed('tool_name') && { tool_name: name }),
  });
}

const toStart = ({ startTime }: ReadableSpan): Date => new Date(startTime[0] * 1000);
