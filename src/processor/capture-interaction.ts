import { semconv } from '../base/index.ts';
import type { CallContent, Interaction, Message } from '../interaction/index.ts';
import type { WritableSpan } from './set-fields.ts';

/**
 * Writes attached data to a span's content attributes as JSON text, which every SDK keeps: the messages if given, else
 * the texts. Attributes set by the instrumentation are kept, as they hold more than the joined text.
 */
export function captureInteraction(span: WritableSpan, attached: Interaction): void {
  const { prompt, answer, toolArguments, toolResult, content } = attached;
  if (content !== undefined) captureContent(span, content());
  if (prompt !== undefined) setOnce(span, semconv.ATTR_GEN_AI_INPUT_MESSAGES, [message('user', prompt)]);
  if (answer !== undefined)
    setOnce(span, semconv.ATTR_GEN_AI_OUTPUT_MESSAGES, [message('assistant', answer)]);
  if (toolArguments !== undefined) setOnce(span, semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, toolArguments);
  if (toolResult !== undefined) setOnce(span, semconv.ATTR_GEN_AI_TOOL_CALL_RESULT, toolResult);
}

/** The semantic conventions keep system messages apart. */
function captureContent(span: WritableSpan, { input, output, toolDefinitions }: CallContent): void {
  const system = input.filter(({ role }) => role === 'system').flatMap(({ parts }) => parts);
  if (system.length > 0) setOnce(span, semconv.ATTR_GEN_AI_SYSTEM_INSTRUCTIONS, system);
  const rest = input.filter(({ role }) => role !== 'system');
  if (rest.length > 0) setOnce(span, semconv.ATTR_GEN_AI_INPUT_MESSAGES, rest.map(conventional));
  const said = output.map(({ finishReason, ...one }) => ({
    ...conventional(one),
    finish_reason: finishReason,
  }));
  if (said.length > 0) setOnce(span, semconv.ATTR_GEN_AI_OUTPUT_MESSAGES, said);
  if (toolDefinitions !== undefined) setOnce(span, semconv.ATTR_GEN_AI_TOOL_DEFINITIONS, toolDefinitions);
}

/** A message with the snake_case keys of the conventions. */
function conventional({ role, parts }: Message): object {
  return {
    role,
    parts: parts.map((part) => {
      if (part.type !== 'tool_call_response') return part;
      const { isError, ...rest } = part;
      return isError === undefined ? rest : { ...rest, is_error: isError };
    }),
  };
}

function setOnce(span: WritableSpan, name: string, value: unknown): void {
  if (span.attributes[name] === undefined) span.setAttribute(name, JSON.stringify(value));
}

function message(role: Message['role'], content: string): Message {
  return { role, parts: [{ type: 'text', content }] };
}
