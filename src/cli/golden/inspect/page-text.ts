import { type Html, html } from './html.ts';
import { jsonMarkup, parsedJson } from './page-json.ts';
import { countWords } from './words.ts';

/** Longer texts are folded behind their first line. */
const FOLD_CHARS = 1_500;
const FOLD_LINES = 24;
/** Of each text at most this much is on the page; the golden has all of it. */
const MAX_CHARS = 2_000_000;
const TEASER_CHARS = 110;

/** A text as it is, spaces and line breaks kept; a long one is folded. */
export function textBlock(text: string, className: string): Html {
  if (text === '') return html``;
  const value = parsedJson(text);
  const shown = value === undefined ? html`${cut(text)}` : jsonMarkup(value);
  return folded(text, html`<pre class="${className}">${shown}</pre>`);
}

/** A JSON value; a text that should have been one stands as it is. */
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
