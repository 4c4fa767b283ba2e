import { isObject, readList, stringAt } from '../json/index.ts';
import type { PlainRequest } from '../signals/index.ts';
import type { Message } from './messages.ts';

const MAX_MESSAGES = 8;
const MAX_CHARACTERS = 16_384;

/** Whether the messages of a request, in the form of any provider, hold texts alone: no media, no files, no calls. */
export function holdsTextAlone(messages: unknown): boolean {
  if (typeof messages === 'string') return true;
  const all = readList(messages);
  return all.length <= MAX_MESSAGES && all.every(isText);
}

function isText(item: unknown): boolean {
  if (typeof item === 'string') return true;
  if (!isObject(item)) return false;
  if (typeof item.text === 'string') return PLAIN_TYPES.has(stringAt(item, 'type') ?? 'text');
  const parts = item.content ?? item.parts;
  if (typeof parts === 'string') return true;
  return Array.isArray(parts) && parts.length > 0 && parts.length <= MAX_MESSAGES && parts.every(isTextPart);
}

function isTextPart(part: unknown): boolean {
  if (typeof part === 'string') return true;
  return isObject(part) && typeof part.text === 'string' && PLAIN_TYPES.has(stringAt(part, 'type') ?? 'text');
}

const PLAIN_TYPES: ReadonlySet<string> = new Set(['text', 'input_text']);

/** The texts of a request that opens a conversation; undefined when it is long, or holds answers or calls. */
export function findPlainRequest(messages: readonly Message[]): PlainRequest | undefined {
  const texts: string[] = [];
  let characters = 0;
  for (const { role, parts } of messages) {
    if (role === 'assistant' || role === 'tool') return undefined;
    let text = '';
    for (const part of parts) {
      if (part.type !== 'text') return undefined;
      text += part.content;
    }
    characters += text.length;
    if (characters > MAX_CHARACTERS || texts.length >= MAX_MESSAGES) return undefined;
    texts.push(text);
  }
  return texts.length === 0 ? undefined : { texts };
}
