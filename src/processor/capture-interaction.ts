import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import {
  answerContent,
  type Interaction,
  promptContent,
  requestContent,
  responseContent,
  toolContent,
} from '../interaction/index.ts';
import type { WritableSpan } from './set-fields.ts';

const MAX_STATUS_CHARS = 1000;

/**
 * Writes attached data to a span's content attributes as JSON text, which every SDK keeps: the messages if given, else
 * the texts; and why a tool failed to a status without words. Attributes set by the instrumentation are kept, as they hold more than the joined text.
 */
export function captureInteraction(span: WritableSpan, attached: Interaction): void {
  const { prompt, answer, toolArguments, toolResult, toolResultSummary, content } = attached;
  const isMissing = (name: string) => span.attributes[name] === undefined;
  if (content !== undefined) {
    const { input, output, toolDefinitions } = content();
    setAll(span, requestContent(input, toolDefinitions, isMissing));
    setAll(span, responseContent(output, isMissing));
  }
  setAll(span, promptContent(prompt, isMissing));
  setAll(span, answerContent(answer, isMissing));
  setAll(span, toolContent(toolArguments, toolResult, isMissing));
  const { status } = span;
  // Set directly: setStatus() has no effect once a span has ended.
  if (toolResultSummary && status.code === SpanStatusCode.ERROR && status.message === undefined)
    status.message = toolResultSummary.slice(0, MAX_STATUS_CHARS);
}

function setAll(span: WritableSpan, attributes: Attributes): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) span.setAttribute(name, value);
  }
}
