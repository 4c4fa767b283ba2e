import type { Attributes } from '@opentelemetry/api';
import {
  answerContent,
  type Interaction,
  promptContent,
  requestContent,
  responseContent,
  toolContent,
} from '../interaction/index.ts';
import type { WritableSpan } from './set-fields.ts';

/**
 * Writes attached data to a span's content attributes as JSON text, which every SDK keeps: the messages if given, else
 * the texts. Attributes set by the instrumentation are kept, as they hold more than the joined text.
 */
export function captureInteraction(span: WritableSpan, attached: Interaction): void {
  const { prompt, answer, toolArguments, toolResult, content } = attached;
  const isMissing = (name: string) => span.attributes[name] === undefined;
  if (content !== undefined) {
    const { input, output, toolDefinitions } = content();
    setAll(span, requestContent(input, toolDefinitions, isMissing));
    setAll(span, responseContent(output, isMissing));
  }
  setAll(span, promptContent(prompt, isMissing));
  setAll(span, answerContent(answer, isMissing));
  setAll(span, toolContent(toolArguments, toolResult, isMissing));
}

function setAll(span: WritableSpan, attributes: Attributes): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) span.setAttribute(name, value);
  }
}
