import { countWords } from './words.ts';

/** Safe HTML, built by {@link html} from literal markup and escaped values. */
class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

export type { Html };

/** Template values: text and numbers are escaped; markup and lists of it are inserted unchanged. */
type Insert = string | number | Html | readonly Html[] | undefined;

/** Builds markup. Every value that is not markup is escaped, for text and for quoted attributes. */
export function html(literals: TemplateStringsArray, ...inserts: readonly Insert[]): Html {
  let markup = literals[0] ?? '';
  for (const [index, insert] of inserts.entries()) markup += shown(insert) + (literals[index + 1] ?? '');
  return new Html(markup);
}

function shown(insert: Insert): string {
  if (insert === undefined) return '';
  if (insert instanceof Html) return insert.toString();
  if (typeof insert === 'object') return insert.map(String).join('');
  return escapeHtml(String(insert));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const UNSHOWN = /[\p{Cc}\p{Bidi_Control}]/gu;

/** Control characters that HTML forbids become control pictures (from U+2400), bidirectional marks their code. */
function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
    .replace(UNSHOWN, (char) => {
      if (char === '\n' || char === '\t' || char === '\r') return char;
      const code = char.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code < 0x100 ? '\u2421' : `\\u${code.toString(16)}`;
    });
}

/** Longer texts are folded after their first line. */
const FOLD_CHARS = 1_500;
const FOLD_LINES = 24;
/** Maximum of each text on the page. */
const MAX_CHARS = 2_000_000;
const TEASER_CHARS = 110;

/** A text with its spaces and line breaks; folded if long. */
export function textBlock(text: string, className: string): Html {
  if (text === '') return html``;
  const value = parsedJson(text);
  const shown = value === undefined ? html`${cut(text)}` : jsonMarkup(value);
  return folded(text, html`<pre class="${className}">${shown}</pre>`);
}

/** A JSON value; text that is not JSON is shown unchanged. */
export function valueBlock(value: unknown, className: string): Html {
  if (value === undefined) return html``;
  if (typeof value === 'string') return textBlock(value, className);
  const text = JSON.stringify(value, null, 2);
  return folded(text, html`<pre class="${className}">${jsonMarkup(value)}</pre>`);
}

function folded(text: string, block: Html): Html {
  if (text.length <= FOLD_CHARS && lineCount(text) <= FOLD_LINES) return block;
  const teaser = text.slice(0, TEASER_CHARS).replace(/\s+/g, ' ').trim();
  return html`<details><summary><span class="teaser">${teaser}…</span> <span class="size">${countWords(text.length)} characters</span></summary>${block}</details>`;
}

function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0 && count <= FOLD_LINES; at = text.indexOf('\n', at + 1))
    count += 1;
  return count;
}

function cut(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  return `${text.slice(0, MAX_CHARS)}\n… ${countWords(text.length - MAX_CHARS)} more characters in the golden`;
}

/** Longer JSON is shown without colors: one element per token would make the page slow. */
const MAX_COLOURED_CHARS = 20_000;
/** Shorter JSON is shown on one line. */
const MAX_LINE_CHARS = 100;
const MAX_DEPTH = 40;
/** Longer texts are not parsed as JSON. */
const MAX_PARSED_CHARS = 1_000_000;

/** A JSON value, indented and colored by kind. */
export function jsonMarkup(value: unknown): Html {
  const text = JSON.stringify(value, null, 2) ?? '';
  if (text.length > MAX_COLOURED_CHARS) return html`${text}`;
  return colored(value, text.length > MAX_LINE_CHARS ? '' : undefined, 0);
}

/** Parses a JSON object or array; undefined for any other text. */
export function parsedJson(text: string): object | undefined {
  const first = text.trimStart()[0];
  if ((first !== '{' && first !== '[') || text.length > MAX_PARSED_CHARS) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @param indent of the line on which the value begins; undefined for a value on one line. */
function colored(value: unknown, indent: string | undefined, depth: number): Html {
  if (typeof value === 'string') return html`<span class="s">${JSON.stringify(value)}</span>`;
  if (typeof value !== 'object' || value === null) return html`<span class="n">${String(value)}</span>`;
  if (depth >= MAX_DEPTH) return html`${JSON.stringify(value)}`;
  const inner = indent === undefined ? undefined : `${indent}  `;
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(([key, member]) => {
    const name = isList ? html`` : html`<span class="k">${JSON.stringify(key)}</span>: `;
    return html`${name}${colored(member, inner, depth + 1)}`;
  });
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (members.length === 0) return html`${open}${close}`;
  const [before, between, after] =
    inner === undefined ? ['', ', ', ''] : [`\n${inner}`, `,\n${inner}`, `\n${indent}`];
  const rows = members.map((member, index) => html`${index === 0 ? before : between}${member}`);
  return html`${open}${rows}${after}${close}`;
}
