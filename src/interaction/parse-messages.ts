/**
 * From the wire forms of the providers and the dialects to {@link Message}: OpenAI Chat and Responses, Anthropic
 * Messages, Gemini contents, the AI SDK, and the semantic conventions' own `{role, parts}`. What is not understood
 * is left out; nothing throws.
 */
import { decode, firstText, isRecord, listOf, parseJson, textOf, type UnknownRecord } from './json.ts';
import type { Message, MessagePart, MessageRole } from './messages.ts';

/** Reads one message, a list of messages, or bare text, which is a message of `role`. */
export function parseMessages(value: unknown, role: MessageRole = 'user'): Message[] {
  const messages: Message[] = [];
  for (const item of Array.isArray(value) ? value : [value]) {
    const message = parseMessage(item, role);
    if (message !== undefined) messages.push(message);
  }
  return messages;
}

/**
 * Reads the messages of a whole request, its separate system text first: `{system | instructions |
 * systemInstruction, messages | contents | input | prompt}`. A list or text is read as {@link parseMessages} does.
 */
export function parseRequest(request: unknown): Message[] {
  if (!isRecord(request) || typeof request.role === 'string') return parseMessages(request);
  const config = isRecord(request.config) ? request.config : undefined;
  const system =
    request.system ?? request.instructions ?? request.systemInstruction ?? config?.systemInstruction;
  const messages = request.messages ?? request.contents ?? request.input ?? request.prompt;
  return [...parseInstructions(system), ...(messages === undefined ? [] : parseMessages(messages))];
}

/** Reads system instructions: text, a list of parts, or Gemini's `{parts}`. */
export function parseInstructions(value: unknown): Message[] {
  if (value === undefined || value === null) return [];
  const parts = parseParts(isRecord(value) && Array.isArray(value.parts) ? value.parts : value);
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

/**
 * Reads the text of an attribute that holds a request or messages as JSON, or simply the prompt. Text that is JSON
 * but no messages is the prompt itself.
 */
export function parseConversation(value: unknown, role: MessageRole = 'user'): Message[] {
  const decoded = decode(value);
  if (typeof decoded !== 'string') {
    const messages = parseRequest(decoded);
    if (messages.some((message) => message.parts.length > 0)) return messages;
  }
  return typeof value === 'string' ? [{ role, parts: [{ type: 'text', content: value }] }] : [];
}

function parseMessage(item: unknown, role: MessageRole): Message | undefined {
  if (typeof item === 'string') return { role, parts: [{ type: 'text', content: item }] };
  if (!isRecord(item)) return undefined;
  const itemOfResponses = typeof item.role === 'string' ? undefined : parseResponsesItem(item);
  if (itemOfResponses !== undefined) return itemOfResponses;
  const spoken = parseRole(item.role) ?? role;
  const parts = Array.isArray(item.parts) ? parseParts(item.parts) : parseParts(item.content ?? item.text);
  const message = { role: spoken, parts: spoken === 'tool' ? asToolResult(parts, item) : parts };
  for (const call of listOf(decode(item.tool_calls ?? item.toolCalls))) {
    const part = parseToolCall(call);
    if (part !== undefined) message.parts.push(part);
  }
  if (message.parts.length === 0 && typeof item.refusal === 'string') {
    message.parts.push({ type: 'text', content: item.refusal });
  }
  return message;
}

/** Items of OpenAI's Responses API that have a type in place of a role. */
function parseResponsesItem(item: UnknownRecord): Message | undefined {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
    case 'mcp_call': {
      const call = parsePart(item);
      return { role: 'assistant', parts: call === undefined ? [] : [call] };
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return {
        role: 'tool',
        parts: [{ type: 'tool_call_response', id: textOf(item.call_id), response: item.output }],
      };
    default:
      return undefined;
  }
}

/** A message of a tool carries results, even where the dialect writes them as plain text. */
function asToolResult(parts: MessagePart[], message: UnknownRecord): MessagePart[] {
  const text = parts.filter((part) => part.type === 'text');
  if (text.length === 0 || text.length < parts.length) return parts;
  return [
    {
      type: 'tool_call_response',
      id: firstText(message.tool_call_id, message.toolCallId, message.id),
      name: textOf(message.name),
      response: text.map((part) => part.content).join('\n'),
      isError: flagOf(message),
    },
  ];
}

/** Reads the content of a message: text, one part, or a list of parts. */
export function parseParts(content: unknown): MessagePart[] {
  const parts: MessagePart[] = [];
  for (const item of Array.isArray(content) ? content : [content]) {
    const part = parsePart(item);
    if (part !== undefined) parts.push(part);
  }
  return parts;
}

/** Like {@link parseParts}, for content that may be a list of parts written as JSON text. */
export function parseSerialisedParts(content: unknown): MessagePart[] {
  const parsed = typeof content === 'string' ? parseJson(content) : undefined;
  const isParts = Array.isArray(parsed) && parsed.every((p) => isRecord(p) && typeof p.type === 'string');
  return parseParts(isParts ? parsed : content);
}

function parsePart(item: unknown): MessagePart | undefined {
  if (typeof item === 'string') return { type: 'text', content: item };
  if (!isRecord(item)) return undefined;
  const type = textOf(item.type) ?? untypedKind(item);
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return textPart(item.content ?? item.text);
    case 'refusal':
      return textPart(item.refusal);
    case 'reasoning':
    case 'thinking':
      return { type: 'reasoning', content: firstText(item.content, item.thinking, item.text) ?? '' };
    case 'tool_call':
    case 'tool-call':
    case 'tool_use':
    case 'server_tool_call':
    case 'server_tool_use':
    case 'mcp_tool_use':
    case 'function':
    case 'function_call':
    case 'custom_tool_call':
    case 'mcp_call':
    case 'functionCall':
      return parseToolCall(item);
    default:
      return type !== undefined && TOOL_RESULT_TYPE.test(type) ? parseToolResult(item) : undefined;
  }
}

/** `tool_result`, `tool-result`, `web_search_tool_result`, `tool_call_response`, `functionResponse` ... */
const TOOL_RESULT_TYPE = /^(?:\w{0,64}tool[_-]result|(?:server_)?tool_call_response|functionResponse)$/;

/** Gemini's parts have no type: the field that is there tells. */
function untypedKind(part: UnknownRecord): string | undefined {
  if (typeof part.text === 'string') return part.thought === true ? 'reasoning' : 'text';
  if (isRecord(part.functionCall)) return 'functionCall';
  if (isRecord(part.functionResponse)) return 'functionResponse';
  return undefined;
}

function textPart(content: unknown): MessagePart | undefined {
  return typeof content === 'string' ? { type: 'text', content } : undefined;
}

/** Reads a tool call in the form of any provider; arguments that are JSON text are parsed. */
export function parseToolCall(value: unknown): Extract<MessagePart, { type: 'tool_call' }> | undefined {
  if (!isRecord(value)) return undefined;
  const inner = [value.function, value.functionCall, value.custom].find(isRecord) ?? value;
  const name = firstText(inner.name, inner.toolName);
  const id = firstText(value.call_id, value.id, value.toolCallId, inner.id);
  if (name === undefined && id === undefined) return undefined;
  const given = inner.arguments ?? inner.input ?? inner.args;
  return { type: 'tool_call', id, name, arguments: decode(given) };
}

function parseToolResult(item: UnknownRecord): MessagePart {
  const inner = isRecord(item.functionResponse) ? item.functionResponse : item;
  return {
    type: 'tool_call_response',
    id: firstText(inner.tool_use_id, inner.toolCallId, inner.tool_call_id, inner.call_id, inner.id),
    name: firstText(inner.name, inner.toolName),
    response: inner.response ?? inner.result ?? inner.output ?? inner.content,
    isError: flagOf(inner),
  };
}

function flagOf(value: UnknownRecord): boolean | undefined {
  const flag = value.is_error ?? value.isError;
  return typeof flag === 'boolean' ? flag : undefined;
}

function parseRole(role: unknown): MessageRole | undefined {
  return typeof role === 'string' ? ROLES.get(role.toLowerCase()) : undefined;
}

/** The words for a role in the dialects. A role nobody knows speaks like the one expected at that place. */
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
