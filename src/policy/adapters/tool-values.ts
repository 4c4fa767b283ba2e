/**
 * What a tool of a framework returns, as the result that the gate judges, and back: the model reads what the tool gave,
 * not an envelope.
 */
import { isObject, type JsonObject } from '../../json/index.ts';

/** A value as a `CallToolResult`. */
export interface SentValue {
  readonly result: JsonObject;
  /** The value that a result stands for, once the gate has judged it: the tool's own, unless the gate changed it. */
  read(judged: unknown): unknown;
}

const LEFT_OUT = '[the result is no JSON, or too large, and is left out]';

/**
 * @param isTyped whether an output type wants a structure.
 * @param maxBytes a larger structure is sent as text, of which the gate keeps the beginning.
 */
export function sendValue(value: unknown, isTyped: boolean, maxBytes: number): SentValue {
  if (isToolResult(value)) return { result: value, read: (judged) => judged };
  if (typeof value === 'string' && !isTyped) return sendText(value, value);
  if (value === undefined || value === null) return sendText('', value);
  const json = readJson(value);
  if (json === undefined) return sendText(LEFT_OUT, value);
  if (!isTyped && Buffer.byteLength(json) > maxBytes) return sendText(json, value);
  return {
    result: { content: [], structuredContent: JSON.parse(json) },
    read: (judged) => {
      const { structuredContent = LEFT_OUT } = judged as JsonObject;
      return JSON.stringify(structuredContent) === json ? value : structuredContent;
    },
  };
}

function sendText(text: string, value: unknown): SentValue {
  return {
    result: { content: [{ type: 'text', text }] },
    read: (judged) => {
      const [part] = (judged as { content: readonly { text?: unknown }[] }).content;
      return part?.text === text && text !== LEFT_OUT ? value : part?.text;
    },
  };
}

const MEMBERS = ['content', 'structuredContent', 'isError', '_meta'];

/** A tool of MCP gives its results in this form already. */
function isToolResult(value: unknown): value is JsonObject {
  if (!isObject(value) || !Array.isArray(value.content)) return false;
  if (!Object.keys(value).every((key) => MEMBERS.includes(key))) return false;
  return value.content.every((part) => isObject(part) && typeof part.type === 'string');
}

/** The value as JSON, bytes as base64; undefined for what cannot be written. */
function readJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, function replace(this: JsonObject, key: string, member: unknown): unknown {
      const own = key === '' ? (this[key] ?? member) : this[key];
      if (ArrayBuffer.isView(own))
        return Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString('base64');
      return typeof member === 'bigint' ? member.toString() : member;
    });
  } catch {
    return undefined;
  }
}
