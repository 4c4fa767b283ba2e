import type { Attributes } from '@opentelemetry/api';
import { semconv } from '../base/index.ts';
import {
  answerContent,
  contentJson,
  type Interaction,
  promptContent,
  requestContent,
  responseContent,
} from '../interaction/index.ts';
import type { WritableSpan } from './set-fields.ts';

/**
 * Writes attached data to a span's content attributes as JSON text, which every SDK keeps: the messages if given, else
 * the texts. Attributes set by the instrumentation are kept, as they hold more than the joined text.
 */
export function captureInteraction(span: WritableSpan, attached: Interaction): void {
  const { prompt, answer, toolArguments, toolResult, content } = attached;
  if (content !== undefined) {
    const { input, output, toolDefinitions } = content();
    setMissing(span, { ...requestContent(input, toolDefinitions), ...responseContent(output) });
  }
  setMissing(span, { ...promptContent(prompt), ...answerContent(answer) });
  if (toolArguments !== undefined)
    setMissing(span, { [semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS]: contentJson(toolArguments) });
  if (toolResult !== undefined)
    setMissing(span, { [semconv.ATTR_GEN_AI_TOOL_CALL_RESULT]: contentJson(toolResult) });
}

function setMissing(span: WritableSpan, attributes: Attributes): void {
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined && span.attributes[name] === undefined) span.setAttribute(name, value);
  }
}
