/** Reads message parts in the formats of providers and dialects; unknown ones are skipped. */
import {
  firstText,
  isObject,
  type JsonObject,
  parseContainer,
  parseContainerOrKeep,
  readList,
  readObject,
  toJsonText,
  toText,
} from '../json/index.ts';
import type { MessagePart } from './messages.ts';

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
export function parseSerializedParts(content: unknown): MessagePart[] {
  const parsed = typeof content === 'string' ? parseContainer(content) : undefined;
  const isParts = Array.isArray(parsed) && parsed.every((p) => isObject(p) && typeof p.type === 'string');
  return parseParts(isParts ? parsed : content);
}

export function parsePart(item: unknown): MessagePart | undefined {
  if (typeof item === 'string') return { type: 'text', content: item };
  if (!isObject(item)) return undefined;
  const type = toText(item.type) ?? untypedKind(item);
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return parseTextPart(item.content ?? item.text);
    case 'refusal':
      return parseTextPart(item.refusal);
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
    case 'toolUse':
      return parseToolCall(item);
    case 'reasoningContent': {
      const { reasoningText } = readObject(item.reasoningContent);
      return { type: 'reasoning', content: toText(readObject(reasoningText).text) ?? '' };
    }
    case 'codeExecutionResult':
      return codeResult(readObject(item.codeExecutionResult));
    default:
      return type !== undefined && TOOL_RESULT_TYPE.test(type) ? parseToolResult(item) : undefined;
  }
}

/** `tool_result`, `tool-result`, `web_search_tool_result`, `tool_call_response`, `functionResponse` ... */
const TOOL_RESULT_TYPE =
  /^(?:\w{0,64}tool[_-]result|(?:server_)?tool_call_response|function_result|functionResponse|toolResult)$/;

/** Parts of Gemini and Bedrock have no type; the field present identifies them. */
function untypedKind(part: JsonObject): string | undefined {
  if (typeof part.text === 'string') return part.thought === true ? 'reasoning' : 'text';
  if (isObject(part.functionCall)) return 'functionCall';
  if (isObject(part.functionResponse)) return 'functionResponse';
  if (isObject(part.codeExecutionResult)) return 'codeExecutionResult';
  return ['toolUse', 'toolResult', 'reasoningContent'].find((field) => isObject(part[field]));
}

/** The result of code that Gemini wrote and ran. */
function codeResult({ outcome, output }: JsonObject): MessagePart {
  return { type: 'tool_call_response', response: output, isError: outcome !== 'OUTCOME_OK' };
}

export function parseTextPart(content: unknown): MessagePart | undefined {
  return typeof content === 'string' ? { type: 'text', content } : undefined;
}

/** Reads a tool call in the form of any provider; arguments that are JSON text are parsed. */
export function parseToolCall(value: unknown): Extract<MessagePart, { type: 'tool_call' }> | undefined {
  if (!isObject(value)) return undefined;
  const inner = [value.function, value.functionCall, value.toolUse, value.custom].find(isObject) ?? value;
  const name = firstText(inner.name, inner.toolName);
  const id = firstText(value.call_id, value.id, value.toolCallId, inner.id, inner.toolUseId);
  if (name === undefined && id === undefined) return undefined;
  const given = inner.arguments ?? inner.input ?? inner.args;
  return { type: 'tool_call', id, name, arguments: parseContainerOrKeep(given) };
}

function parseToolResult(item: JsonObject): MessagePart {
  if (isObject(item.toolResult)) return parseBedrockResult(item.toolResult);
  const inner = isObject(item.functionResponse) ? item.functionResponse : item;
  return {
    type: 'tool_call_response',
    id: firstText(inner.tool_use_id, inner.toolCallId, inner.tool_call_id, inner.call_id, inner.id),
    name: firstText(inner.name, inner.toolName),
    response: inner.response ?? inner.result ?? inner.output ?? inner.content,
    isError: readFlag(inner),
  };
}

/** Bedrock's blocks are `{text}`, `{json}`, `{image}` ... */
function parseBedrockResult({ toolUseId, content, status }: JsonObject): MessagePart {
  const response = readList(content)
    .filter(isObject)
    .map((block) => {
      const [type] = Object.keys(block);
      const text = type === 'json' ? toJsonText(block.json) : toText(block.text);
      return text === undefined ? { type } : { type: 'text', text };
    });
  return {
    type: 'tool_call_response',
    id: toText(toolUseId),
    response,
    isError: typeof status === 'string' ? status === 'error' : undefined,
  };
}

/** Whether a result or its message is flagged as failed. */
export function readFlag(value: JsonObject): boolean | undefined {
  const flag = value.is_error ?? value.isError;
  return typeof flag === 'boolean' ? flag : undefined;
}
