import type { ComponentChildren } from 'preact';

/** Longest JSON that is read to be shown in order. */
const MAX_PRETTY_CHARS = 262_144;

/** A JSON text indented, any other as it is. */
export function indented(text: string): string {
  if (text.length > MAX_PRETTY_CHARS || !/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** JSON with its keys set back and its strings in the accent color; any other text as it is. */
export function Payload({ text }: { text: string }) {
  const shown = indented(text);
  if (!/^\s*[[{]/u.test(shown) || shown.length > MAX_PRETTY_CHARS) return <>{shown}</>;
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of shown.matchAll(/"(?:[^"\\]|\\.)*"(:?)/gsu)) {
    parts.push(shown.slice(at, match.index));
    const isKey = match[1] === ':';
    const word = isKey ? match[0].slice(0, -1) : match[0];
    parts.push(
      <span key={match.index} class={isKey ? 'jk' : 'js'}>
        {word}
      </span>,
    );
    if (isKey) parts.push(':');
    at = match.index + match[0].length;
  }
  parts.push(shown.slice(at));
  return <>{parts}</>;
}

const MAX_BRIEF_CHARS = 200;

/** A payload in one line: `account: DE89, page: 2` for an object, the text itself otherwise. */
export function brief(text: string | undefined): string {
  if (text === undefined) return '';
  const inner = openEnvelope(text);
  if (inner !== text) return brief(inner);
  const value = parsed(text);
  const line =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value)
          .slice(0, 12)
          .map(([name, one]) => `${name}: ${word(one)}`)
          .join(', ')
      : text.slice(0, MAX_BRIEF_CHARS * 4).replace(/\s+/gu, ' ');
  return line.length > MAX_BRIEF_CHARS ? `${line.slice(0, MAX_BRIEF_CHARS)}…` : line;
}

/**
 * What a result of a tool says, out of its envelope: of MCP the structured content, else its texts; the content of a message of
 * LangChain; any other text as it is.
 */
export function openEnvelope(text: string): string {
  const value = parsed(text);
  if (
    isObject(value) &&
    isObject(value.data) &&
    typeof value.data.content === 'string' &&
    value.type === 'tool'
  )
    return value.data.content;
  if (!isObject(value) || !Array.isArray(value.content)) return text;
  if (isObject(value.structuredContent)) return JSON.stringify(value.structuredContent);
  const texts = value.content.map((part: unknown) => {
    if (!isObject(part)) return undefined;
    return part.type === 'image' ? `[${part.mimeType}]` : part.type === 'text' ? part.text : undefined;
  });
  return texts.length > 0 && texts.every((one) => typeof one === 'string') ? texts.join('\n') : text;
}

/** What differs between the arguments of calls: `page 1 to 14`; empty where nothing is known or all are equal. */
export function varying(texts: readonly (string | undefined)[]): string {
  const objects = texts.map((text) => parsed(text ?? ''));
  const [first] = objects;
  if (!isObject(first)) return '';
  for (const name of Object.keys(first).slice(0, 12)) {
    const values = objects.map((one) => (isObject(one) ? one[name] : undefined));
    if (new Set(values.map((value) => JSON.stringify(value))).size === 1) continue;
    return `${name} ${word(values[0])} to ${word(values.at(-1))}`;
  }
  return texts.length > 1 ? brief(texts[0]) : '';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  if (text.length > MAX_PRETTY_CHARS || !text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function word(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.slice(0, 80).replace(/\s+/gu, ' ');
}
