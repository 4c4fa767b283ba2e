/**
 * Converts the wire formats of providers and dialects to {@link Message}: OpenAI Chat and Responses, Anthropic
 * Messages, Gemini contents and interactions, Bedrock's Converse, LangChain, the AI SDK, and the semantic conventions' own
 * `{role, parts}`. Unknown items are skipped;
 * nothing throws.
 */
import {
  firstText,
  isObject,
  type JsonObject,
  parseContainerOrKeep,
  readList,
  readObject,
  stringAt,
  toText,
} from '../json/index.ts';
import type { Message, MessagePart, MessageRole } from './messages.ts';
import { parsePart, parseParts, parseTextPart, parseToolCall, readFlag } from './parse-parts.ts';

/** Reads one message, a list of messages, or bare text, which is a message of `role`. */
export function parseMessages(value: unknown, role: MessageRole = 'user'): Message[] {
  const messages: Message[] = [];
  // LangChain has a list of messages for each prompt.
  for (const item of Array.isArray(value) ? value.flat() : [value]) {
    const message = parseMessage(item, role);
    if (message !== undefined) messages.push(message);
  }
  return messages;
}

/**
 * Reads the messages of a whole request, its separate system text first: `{system | instructions |
 * systemInstruction | system_instruction, messages | contents | input | prompt}`. A list or text is read as {@link parseMessages} does.
 */
export function parseRequest(request: unknown): Message[] {
  if (!isObject(request) || typeof request.role === 'string' || isObject(request.kwargs)) {
    return parseMessages(request);
  }
  const config = isObject(request.config) ? request.config : undefined;
  const system =
    request.system ??
    request.instructions ??
    request.systemInstruction ??
    request.system_instruction ??
    config?.systemInstruction;
  const messages = request.messages ?? request.contents ?? request.input ?? request.prompt;
  return [...parseInstructions(system), ...(messages === undefined ? [] : parseMessages(messages))];
}

/** Reads system instructions: text, a list of parts, or Gemini's `{parts}`. */
export function parseInstructions(value: unknown): Message[] {
  if (value === undefined || value === null) return [];
  const parts = parseParts(isObject(value) && Array.isArray(value.parts) ? value.parts : value);
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

/**
 * Reads the text of an attribute that holds a request or messages as JSON, or simply the prompt. JSON text that holds
 * no messages is itself the prompt.
 */
export function parseConversation(value: unknown): Message[] {
  const decoded = parseContainerOrKeep(value);
  if (typeof decoded !== 'string') {
    const messages = parseRequest(decoded);
    if (messages.some((message) => message.parts.length > 0)) return messages;
  }
  return typeof value === 'string' ? [{ role: 'user', parts: [{ type: 'text', content: value }] }] : [];
}

/** Reads an item or block of an answer that is no plain text: a call the provider ran by itself, and its result. */
export function parseOutputItem(item: unknown): MessagePart[] {
  const message = isObject(item) ? parseResponsesItem(item) : undefined;
  return message === undefined ? parseParts(item) : [...message.parts];
}

function parseMessage(given: unknown, role: MessageRole): Message | undefined {
  if (typeof given === 'string') return { role, parts: [{ type: 'text', content: given }] };
  if (!isObject(given)) return undefined;
  const item = withoutClass(given);
  const itemOfResponses = typeof item.role === 'string' ? undefined : parseResponsesItem(item);
  if (itemOfResponses !== undefined) return itemOfResponses;
  const spoken = parseRole(item.role) ?? role;
  const parts = Array.isArray(item.parts) ? parseParts(item.parts) : parseParts(item.content ?? item.text);
  const message = { role: spoken, parts: spoken === 'tool' ? asToolResult(parts, item) : parts };
  for (const call of readList(parseContainerOrKeep(item.tool_calls ?? item.toolCalls))) {
    const part = parseToolCall(call);
    if (part !== undefined) message.parts.push(part);
  }
  if (message.parts.length === 0) {
    // A refusal, or a transcript.
    const said = parseTextPart(item.refusal ?? readObject(item.audio).transcript);
    if (said !== undefined) message.parts.push(said);
  }
  return message;
}

/** A message of LangChain: `{lc, id: [..., 'HumanMessage'], kwargs}`, `{type: 'human', data}` or `{type: 'human', content}`. */
function withoutClass(item: JsonObject): JsonObject {
  if (item.role !== undefined) return item;
  const inner = [item.kwargs, item.data].find(isObject) ?? item;
  const name = [inner.type, item.type, readList(item.id).at(-1)].find(
    (word) => parseRole(word) !== undefined,
  );
  if (name === undefined || (inner === item && item.content === undefined)) return inner;
  return { ...inner, type: undefined, role: name };
}

/** Items of OpenAI's Responses API and of Gemini's interactions with a type instead of a role. */
function parseResponsesItem(item: JsonObject): Message | undefined {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call': {
      const call = parsePart(item);
      return { role: 'assistant', parts: call === undefined ? [] : [call] };
    }
    case 'mcp_call':
      return { role: 'assistant', parts: parseServerCall(item) };
    case 'reasoning':
      // Of the conventions' own part, which has the same type, `content` is text.
      return Array.isArray(item.summary) ? { role: 'assistant', parts: parseReasoning(item) } : undefined;
    case 'model_output':
      return { role: 'assistant', parts: parseParts(item.content) };
    case 'function_result': {
      const result = parsePart(item);
      return { role: 'tool', parts: result === undefined ? [] : [result] };
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
    case 'shell_call_output':
    case 'apply_patch_call_output':
      return {
        role: 'tool',
        parts: [
          {
            type: 'tool_call_response',
            id: toText(item.call_id),
            response: item.output,
            isError: item.status === 'failed' ? true : undefined,
          },
        ],
      };
    default:
      return undefined;
  }
}

/** The reasoning that an item shows: paragraphs of a summary, or the reasoning itself. */
function parseReasoning(item: JsonObject): MessagePart[] {
  return [...readList(item.summary), ...readList(item.content)].flatMap((part): MessagePart[] => {
    const text = stringAt(part, 'text');
    return text === undefined ? [] : [{ type: 'reasoning', content: text }];
  });
}

/** A call run by the provider, with its result in the same item. */
function parseServerCall(item: JsonObject): MessagePart[] {
  const call = parseToolCall(item);
  if (call === undefined) return [];
  const failed = item.error !== undefined && item.error !== null;
  const response = failed ? item.error : item.output;
  if (response === undefined || response === null) return [call];
  return [
    call,
    {
      type: 'tool_call_response',
      id: call.id,
      name: call.name,
      response,
      isError: failed ? true : undefined,
    },
  ];
}

/** A tool message holds results, even if the dialect writes them as plain text. */
function asToolResult(parts: MessagePart[], message: JsonObject): MessagePart[] {
  const text = parts.filter((part) => part.type === 'text');
  if (text.length === 0 || text.length < parts.length) return parts;
  return [
    {
      type: 'tool_call_response',
      id: firstText(message.tool_call_id, message.toolCallId, message.id),
      name: toText(message.name),
      response: text.map((part) => part.content).join('\n'),
      isError: readFlag(message),
    },
  ];
}

function parseRole(role: unknown): MessageRole | undefined {
  return typeof role === 'string' ? ROLES.get(role.toLowerCase().replace(CLASS, '')) : undefined;
}

/** What LangChain's names of classes add. */
const CLASS = /message(?:chunk)?$/;

/** Role names of the dialects. An unknown role is read as the expected one. */
const ROLES: ReadonlyMap<string, MessageRole> = new Map([
  ['system', 'system'],
  ['developer', 'developer'],
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['model', 'assistant'],
  ['ai', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);
