import {
  type Attributes,
  type Context,
  context,
  diag,
  INVALID_SPAN_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type CamelFieldValues,
  errorClass,
  type FieldValues,
  fromAttributes,
  semconv,
  toAttribute,
  toColumns,
} from '../base/index.ts';
import { attachInteraction, type Interaction, OuterCall, withOuterCall } from '../interaction/index.ts';
import { checkFields, type Enricher, type GovernanceFields, toAttributes } from '../processor/index.ts';
import { GOVERNANCE_OPTIONS, governanceDecided } from './governance.ts';
import { countFallback } from './metrics.ts';
import { StandInSpan } from './stand-in-span.ts';
import type { GovernanceOptions, JudgeCall } from './types.ts';

/** Settings an interceptor shares with the spans of its calls. */
export interface CallSettings {
  readonly tracer: () => Tracer;
  readonly serviceName: string;
  /** Whether error messages, which may quote content, may be recorded on spans. */
  readonly captureContent: boolean;
  /** Computes the fields, whether or not it is registered. Registered processors skip spans it has enriched. */
  readonly enricher: Enricher;
}

/** What is recorded on the span when the call has returned. */
export interface CallOutcome {
  readonly attributes: Attributes;
  readonly interaction: Interaction;
  /** Set for a call that returned a failure, such as an MCP tool result with `isError`. */
  readonly errorType?: string | undefined;
  /** What that failure says: content. */
  readonly errorText?: string | undefined;
}

export interface SpanDescription<T> {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly governance: GovernanceFields;
  /** Known independently of the outcome. */
  readonly interaction: Interaction;
  readonly outcome: (result: T) => CallOutcome;
  /** Whether an instrumented SDK called inside adds to this span instead of opening its own. */
  readonly isModelCall?: boolean | undefined;
  /** Decides governance fields from the computed fields. */
  readonly judge?: JudgeCall | undefined;
  /** Parent span. @defaultValue the active one */
  readonly parent?: SpanContext | undefined;
  /** Whether the fields are needed by a caller; they are then computed even if the span is not recording. */
  readonly needsFields?: boolean | undefined;
}

/** A completed call with its span and computed fields. */
export interface TracedCall<T> {
  readonly result: T;
  readonly span: Span;
  readonly fields: CamelFieldValues;
}

/**
 * Runs a call inside its span. Nested spans become children, the result or error passes through unchanged, and internal
 * errors are logged through `diag` only: a call that cannot be described, for instance because its model is no text, is
 * made all the same.
 * @param operation `gen_ai.operation.name`, for a call that cannot be described.
 */
export async function traceCall<T>(
  settings: CallSettings,
  operation: string,
  describe: () => SpanDescription<T>,
  work: () => T | Promise<T>,
): Promise<TracedCall<T>> {
  const { description, around, attributes, span, note } = open(settings, operation, describe);
  const outer = description.isModelCall === true ? new OuterCall(span) : undefined;
  const active = trace.setSpan(around, span);
  let fields: CamelFieldValues = {};
  try {
    const result = await context.with(outer === undefined ? active : withOuterCall(active, outer), work);
    quietly(() => describeResult(note, description, settings, result));
    quietly(() => outer?.close());
    quietly(() => {
      fields = finish(span, note, attributes, description, settings);
    });
    return { result, span, fields };
  } catch (error) {
    quietly(() => describeError(note, description, settings, error));
    quietly(() => outer?.close());
    quietly(() => finish(span, note, attributes, description, settings));
    throw error;
  } finally {
    quietly(() => span.end());
  }
}

interface OpenCall<T> {
  readonly description: SpanDescription<T>;
  readonly around: Context;
  readonly attributes: Attributes;
  readonly span: Span;
  readonly note: Span;
}

function open<T>(settings: CallSettings, operation: string, describe: () => SpanDescription<T>): OpenCall<T> {
  try {
    return start(settings, describe());
  } catch (error) {
    reportUndescribed(error);
  }
  const attributes = { [semconv.ATTR_GEN_AI_OPERATION_NAME]: operation };
  const description: SpanDescription<T> = {
    name: operation,
    kind: SpanKind.INTERNAL,
    attributes,
    governance: {},
    interaction: {},
    outcome: () => ({ attributes: {}, interaction: {} }),
  };
  try {
    return start(settings, description);
  } catch {
    // The tracer fails.
    const span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
    return { description, around: context.active(), attributes, span, note: span };
  }
}

function start<T>(settings: CallSettings, description: SpanDescription<T>): OpenCall<T> {
  const { parent } = description;
  const around = parent === undefined ? context.active() : trace.setSpanContext(context.active(), parent);
  const attributes = startAttributes(settings, description);
  const span = settings.tracer().startSpan(description.name, { kind: description.kind, attributes }, around);
  return { description, around, attributes, span, note: toNote(span, description, attributes) };
}

const SERVICE = 'observatory.service';

function startAttributes<T>(settings: CallSettings, description: SpanDescription<T>): Attributes {
  const values = checked(description.governance);
  return { ...description.attributes, ...toAttributes(values), [SERVICE]: settings.serviceName };
}

/** Governance fields by column; those of the wrong type are left out and logged. */
function checked(fields: GovernanceFields): FieldValues {
  const { values, refused } = checkFields(toColumns(fields));
  if (refused.length > 0) {
    diag.warn(
      `mcp-observatory: governance fields of the wrong type or range left out: ${refused.join(', ')}`,
    );
  }
  return values;
}

/** The span a call is recorded on: its own if readable, else a stand-in when the fields are needed. */
function toNote<T>(span: Span, description: SpanDescription<T>, attributes: Attributes): Span {
  const isReadable = span.isRecording() && 'attributes' in span;
  if (isReadable || !(span.isRecording() || isAsked(description))) return span;
  return new StandInSpan(description.kind, attributes) as unknown as Span;
}

function isAsked<T>({ needsFields, judge }: SpanDescription<T>): boolean {
  return needsFields === true || judge !== undefined;
}

function describeResult<T>(
  note: Span,
  { interaction, outcome }: SpanDescription<T>,
  settings: CallSettings,
  result: T,
): void {
  attachInteraction(note, interaction);
  const { attributes, interaction: more, errorType, errorText } = outcome(result);
  note.setAttributes(attributes);
  attachInteraction(note, more);
  if (errorType === undefined) return;
  note.setAttribute(semconv.ATTR_ERROR_TYPE, errorType);
  setFailed(note, settings.captureContent ? errorText : undefined);
}

function setFailed(note: Span, message: string | undefined): void {
  note.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}

function describeError<T>(
  note: Span,
  { interaction }: SpanDescription<T>,
  settings: CallSettings,
  error: unknown,
): void {
  attachInteraction(note, interaction);
  note.setAttribute(semconv.ATTR_ERROR_TYPE, errorClass(error, settings.captureContent));
  setFailed(note, settings.captureContent && error instanceof Error ? error.message : undefined);
}

/**
 * Computes the fields, runs the judge, and copies a stand-in's attributes to the span.
 * @param started attributes the span was started with, for a span without room for them.
 */
function finish<T>(
  span: Span,
  note: Span,
  started: Attributes,
  description: SpanDescription<T>,
  settings: CallSettings,
): CamelFieldValues {
  if (!('attributes' in note)) {
    count(description, description.governance);
    return {};
  }
  const dropped = toAttributes(settings.enricher.enrichEnding(note as never));
  const known = { ...started, ...dropped };
  const computed = isAsked(description) ? toFields(note, known) : {};
  let decided: GovernanceFields = {};
  quietly(() => {
    decided = governanceDecided(description.judge?.(computed) ?? NOTHING);
    warnOfUnknown(decided);
  });
  const judged = toAttributes(checked(decided));
  note.setAttributes(judged);
  if (note !== span) copyTo(span, note as unknown as StandInSpan);
  count(description, { ...description.governance, ...decided });
  return isAsked(description) ? toFields(note, { ...known, ...judged }) : computed;
}

const NOTHING: GovernanceOptions = Object.freeze({});

function toFields(note: Span, known: Attributes): CamelFieldValues {
  const { attributes } = note as unknown as { readonly attributes: Readonly<Record<string, unknown>> };
  return fromAttributes({ ...known, ...attributes });
}

function copyTo(span: Span, { attributes, status }: StandInSpan): void {
  span.setAttributes(attributes);
  if (status.code !== SpanStatusCode.UNSET) span.setStatus(status);
}

/** What a judge decided cannot be refused any more. */
function warnOfUnknown(decided: GovernanceFields): void {
  const unknown = Object.keys(decided).filter((name) => !GOVERNANCE_OPTIONS.includes(name));
  if (unknown.length === 0) return;
  diag.warn(`mcp-observatory: what judge() returned has no such fields: ${unknown.slice(0, 8).join(', ')}`);
}

function count<T>({ attributes }: SpanDescription<T>, fields: GovernanceFields): void {
  const { fallbackUsed, fallbackType: type, fallbackReason: reason } = fields;
  if (fallbackUsed !== true || type === undefined || reason === undefined) return;
  const toolName = attributes[toAttribute('tool_name')];
  countFallback({ type, reason, toolName: typeof toolName === 'string' ? toolName : undefined });
}

function quietly(describe: () => void): void {
  try {
    describe();
  } catch (error) {
    reportUndescribed(error);
  }
}

function reportUndescribed(error: unknown): void {
  diag.error('mcp-observatory: a call could not be described', error);
}
