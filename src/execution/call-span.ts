import {
  type Attributes,
  context,
  diag,
  type Span,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { toColumns } from '../camel-case.ts';
import { type AttributeColumn, attributeOf } from '../fields.ts';
import { attachInteraction, type Interaction, OuterCall, withOuterCall } from '../interaction/index.ts';
import type { GovernanceFields, ObservatorySpanProcessor } from '../processor/index.ts';
import { ATTR_ERROR_TYPE } from '../semconv.ts';

/** What an interceptor lends to the spans of its calls. */
export interface CallSettings {
  readonly tracer: Tracer;
  readonly serviceName: string;
  /** Whether error messages, which may quote content, may stand on a span. */
  readonly captureContent: boolean;
  /** Computes the fields, registered or not; a span that it has enriched is left alone by registered ones. */
  readonly enricher: ObservatorySpanProcessor;
}

/** What a span tells of its call once that has returned. */
export interface CallOutcome {
  readonly attributes: Attributes;
  readonly interaction: Interaction;
  /** Set for a call that returned and failed all the same, as an MCP tool does with `isError`. */
  readonly errorType?: string | undefined;
}

export interface CallDescription<T> {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly governance: GovernanceFields;
  /** Whether an instrumented SDK called inside completes this span instead of making one of its own. */
  readonly isModelCall?: boolean | undefined;
  /** What is known however the call ends. */
  readonly interaction: Interaction;
  readonly outcome: (result: T) => CallOutcome;
}

/**
 * Runs a call inside its span: nested spans become children, the result or error comes through unchanged, and a fault
 * of ours is told through `diag` and goes no further.
 */
export async function traceCall<T>(
  settings: CallSettings,
  description: CallDescription<T>,
  work: () => T | Promise<T>,
): Promise<{ result: T; span: Span }> {
  const span = startSpan(settings, description);
  const outer = description.isModelCall === true ? new OuterCall(span) : undefined;
  const active = trace.setSpan(context.active(), span);
  try {
    const result = await context.with(outer === undefined ? active : withOuterCall(active, outer), work);
    quietly(() => describeResult(span, description, result));
    return { result, span };
  } catch (error) {
    quietly(() => describeError(span, description, settings, error));
    throw error;
  } finally {
    quietly(() => outer?.close());
    quietly(() => settings.enricher.onEnding(span as never));
    span.end();
  }
}

function startSpan<T>({ tracer, serviceName }: CallSettings, description: CallDescription<T>): Span {
  const { name, kind, attributes, governance } = description;
  const span = tracer.startSpan(name, { kind, attributes: { ...attributes, [SERVICE]: serviceName } });
  for (const [column, value] of Object.entries(toColumns(governance))) {
    span.setAttribute(attributeOf(column as AttributeColumn), value);
  }
  return span;
}

const SERVICE = 'observatory.service';

function describeResult<T>(span: Span, { interaction, outcome }: CallDescription<T>, result: T): void {
  attachInteraction(span, interaction);
  const { attributes, interaction: more, errorType } = outcome(result);
  span.setAttributes(attributes);
  attachInteraction(span, more);
  if (errorType === undefined) return;
  span.setAttribute(ATTR_ERROR_TYPE, errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function describeError<T>(
  span: Span,
  { interaction }: CallDescription<T>,
  settings: CallSettings,
  error: unknown,
): void {
  attachInteraction(span, interaction);
  span.setAttribute(ATTR_ERROR_TYPE, error instanceof Error ? error.constructor.name : typeof error);
  const message = settings.captureContent && error instanceof Error ? error.message : undefined;
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}

function quietly(describe: () => void): void {
  try {
    describe();
  } catch (error) {
    diag.error('mcp-observatory: a call could not be described', error);
  }
}
