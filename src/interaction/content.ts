/**
 * The one writer of captured content: messages, instructions, tools, arguments and results as attributes in the form of
 * the semantic conventions. Values are JSON texts, because SDK 2.x drops attributes that are objects.
 */
import type { Attributes } from '@opentelemetry/api';
import { semconv } from '../base/index.ts';
import { boundedJson } from '../json/index.ts';
import { toConventionalFinish } from '../wire/index.ts';
import type { Message, MessageRole } from './messages.ts';
import type { CallContent } from './types.ts';

/** Characters of values and keys kept on one attribute. What is cut is marked by `…`, and the JSON stays valid. */
export const MAX_CONTENT_CHARS = 262_144;

/** Which attributes are to be written: making their JSON text takes the time. */
type IsWanted = (attribute: string) => boolean;

const wantsAll: IsWanted = () => true;

/** What was said to the model, with the system's messages apart, and the tools it was offered. */
export function requestContent(
  input: readonly Message[],
  toolDefinitions?: unknown,
  isWanted: IsWanted = wantsAll,
): Attributes {
  const messages = toConventional(input);
  const system = messages.filter(isSystem).flatMap(({ parts }) => parts);
  const rest = messages.filter((message) => !isSystem(message));
  return {
    ...(system.length > 0 && writeContent(semconv.ATTR_GEN_AI_SYSTEM_INSTRUCTIONS, system, isWanted)),
    ...(rest.length > 0 && writeContent(semconv.ATTR_GEN_AI_INPUT_MESSAGES, rest, isWanted)),
    ...writeContent(semconv.ATTR_GEN_AI_TOOL_DEFINITIONS, toolDefinitions, isWanted),
  };
}

/** What the model said, one message per choice. */
export function responseContent(output: CallContent['output'], isWanted: IsWanted = wantsAll): Attributes {
  if (output.length === 0) return {};
  const messages = toConventional(output).map((message, index) => ({
    ...message,
    finish_reason: toConventionalFinish(output[index]?.finishReason),
  }));
  return writeContent(semconv.ATTR_GEN_AI_OUTPUT_MESSAGES, messages, isWanted);
}

/** A prompt that is known as one text; nothing without it. */
export function promptContent(prompt: string | undefined, isWanted?: IsWanted): Attributes {
  return prompt === undefined ? {} : requestContent([textMessage('user', prompt)], undefined, isWanted);
}

/** An answer that is known as one text; nothing without it. */
export function answerContent(answer: string | undefined, isWanted?: IsWanted): Attributes {
  return answer === undefined ? {} : responseContent([textMessage('assistant', answer)], isWanted);
}

/** The arguments and the result of a tool call, as far as they are known. */
export function toolContent(args: unknown, result: unknown, isWanted: IsWanted = wantsAll): Attributes {
  return {
    ...writeContent(semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, args, isWanted),
    ...writeContent(semconv.ATTR_GEN_AI_TOOL_CALL_RESULT, result, isWanted),
  };
}

function writeContent(name: string, value: unknown, isWanted: IsWanted): Attributes {
  return value !== undefined && isWanted(name) ? { [name]: contentJson(value) } : {};
}

/** Any part of content, within the bound. */
function contentJson(value: unknown): string {
  return boundedJson(value, MAX_CONTENT_CHARS);
}

/** Content that somebody else wrote as text: as it is, or its beginning as a JSON text if it is too long. */
export function contentText(text: string): string {
  return text.length <= MAX_CONTENT_CHARS ? text : contentJson(text);
}

function textMessage(role: MessageRole, content: string): Message {
  return { role, parts: [{ type: 'text', content }] };
}

function isSystem({ role }: Pick<Message, 'role'>): boolean {
  return role === 'system' || role === 'developer';
}

/**
 * Keys are snake_case, and what tools answered is said by the `tool`. That a tool failed is not in the conventions, nor
 * its name, which some providers have in the call alone.
 */
function toConventional(messages: readonly Message[]) {
  const names = new Map<string, string>();
  return messages.map(({ role, parts }) => ({
    role: parts.length > 0 && parts.every(({ type }) => type === 'tool_call_response') ? 'tool' : role,
    parts: parts.map((part): object => {
      if (part.type === 'tool_call' && part.id !== undefined && part.name !== undefined)
        names.set(part.id, part.name);
      if (part.type !== 'tool_call_response') return part;
      const { type, id, name, response, isError: is_error } = part;
      return { type, id, name: name ?? names.get(id ?? ''), response, is_error };
    }),
  }));
}
