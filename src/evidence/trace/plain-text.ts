import { isObject } from '../../json/index.ts';

/** Longer texts are not parsed: they are read as text. */
const MAX_JSON_CHARS = 262_144;
const MAX_ENVELOPES = 4;
const MAX_DEPTH = 12;
const ENVELOPES = ['return_value', 'result', 'output', 'text'];

const readTexts = (content: unknown): string | undefined =>
  Array.isArray(content) &&
  content.length > 0 &&
  content.every((part): part is { text: string } => isObject(part) && typeof part.text === 'string')
    ? content.map((part) => part.text).join('\n')
    : undefined;

/** The JSON that a text holds, or the text. */
export function parsed(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed.length > MAX_JSON_CHARS || !/^(?:[[{"]|(?:null|true|false|-?\d[\d.eE+-]{0,30})$)/.test(trimmed))
    return trimmed;
  try {
    return JSON.parse(trimmed);
  } catch {
    return trimmed;
  }
}

/** The value that a result carries: JSON in texts is parsed, the envelopes of MCP and of frameworks are taken off. */
export function unwrapped(result: unknown): unknown {
  let value = result;
  for (let depth = 0; depth < MAX_ENVELOPES; depth++) {
    if (typeof value === 'string') {
      const inner = parsed(value);
      if (typeof inner === 'string' && inner.trim() === value.trim()) return inner;
      value = inner;
    } else if (isObject(value)) {
      const text = readTexts(value.content);
      const record = value;
      // Only then are the keys counted, of which there may be many.
      const inner = ENVELOPES.find((key) => Object.hasOwn(record, key));
      if (text !== undefined) {
        if (value.isError === true) return value;
        value = text;
      } else if (inner !== undefined && Object.keys(record).length === 1) value = record[inner];
      else return value;
    } else return value;
  }
  return value;
}

/** A value as text of bounded length: `"key":value,`. Texts in it that are JSON are taken apart as well. */
export function textOfValue(value: unknown, room: number): string {
  const parts: string[] = [];
  let left = room;
  const put = (text: string) => {
    parts.push(text.length > left ? text.slice(0, Math.max(0, left)) : text);
    left -= text.length;
  };
  const walk = (part: unknown, depth: number): void => {
    if (left <= 0) return;
    if (typeof part === 'string') {
      const inner = depth > 0 && /^\s{0,8}[[{]/.test(part) && part.length <= left ? parsed(part) : part;
      if (typeof inner === 'object' && inner !== null && depth <= MAX_DEPTH) walk(inner, depth + 1);
      else put(depth === 0 ? unescaped(part, left) : `"${unescaped(part, left)}"`);
    } else if (typeof part !== 'object' || part === null) put(String(part));
    else if (depth > MAX_DEPTH) put('…');
    else if (Array.isArray(part))
      for (const item of part) {
        if (left <= 0) return;
        walk(item, depth + 1);
        // "212,184" would be one number.
        put(typeof item === 'number' ? ', ' : ',');
      }
    else
      for (const key in part) {
        if (left <= 0) return;
        put(`"${key}":`);
        walk((part as Record<string, unknown>)[key], depth + 1);
        put(', ');
      }
  };
  walk(value, 0);
  return parts.join('');
}

const ENTITIES = new Map(Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }));
const ESCAPED = /\\{1,4}(?:u([0-9a-fA-F]{4})|([nrt"'/]))|&(?:#(\d{1,6})|(amp|lt|gt|quot|apos|nbsp));/g;

/** Text without the escapes of JSON that was cut or printed, and without entities of HTML. */
function unescaped(whole: string, room: number): string {
  const text = whole.length > room ? `${whole.slice(0, room >> 1)}\n${whole.slice(-(room >> 1))}` : whole;
  if (!text.includes('\\') && !text.includes('&')) return text;
  return text.replace(ESCAPED, (_, unicode?: string, sign?: string, code?: string, entity?: string) => {
    if (unicode !== undefined) return String.fromCharCode(Number.parseInt(unicode, 16));
    if (code !== undefined) return Number(code) < 0x110000 ? String.fromCodePoint(Number(code)) : ' ';
    if (entity !== undefined) return ENTITIES.get(entity) ?? ' ';
    return sign === '"' || sign === "'" || sign === '/' ? sign : ' \n';
  });
}
