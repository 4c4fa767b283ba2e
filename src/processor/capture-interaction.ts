import type { Interaction, Message } from '../interaction/index.ts';
import {
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
} from '../semconv.ts';
import type { WritableSpan } from './set-fields.ts';

/**
 * Writes the texts that travelled beside a span to its content attributes, as JSON text, which every SDK keeps.
 * Attributes that an instrumentation wrote itself are left alone: they say more than the joined text does.
 */
export function captureInteraction(span: WritableSpan, attached: Interaction): void {
  const { prompt, answer, toolArguments } = attached;
  if (prompt !== undefined) setOnce(span, ATTR_GEN_AI_INPUT_MESSAGES, [message('user', prompt)]);
  if (answer !== undefined) setOnce(span, ATTR_GEN_AI_OUTPUT_MESSAGES, [message('assistant', answer)]);
  if (toolArguments !== undefined) setOnce(span, ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, toolArguments);
}

function setOnce(span: WritableSpan, name: string, value: unknown): void {
  if (span.attributes[name] === undefined) span.setAttribute(name, JSON.stringify(value));
}

function message(role: Message['role'], content: string): Message {
  return { role, parts: [{ type: 'text', content }] };
}
