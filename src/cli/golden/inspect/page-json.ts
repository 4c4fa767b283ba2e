import { type Html, html } from './html.ts';

/** JSON with more characters is shown without colours: a span for each of its tokens would make the page slow. */
const MAX_COLOURED_CHARS = 20_000;
/** Shorter JSON stands on one line. */
const MAX_LINE_CHARS = 100;
const MAX_DEPTH = 40;
/** A text beyond this is not looked at for JSON. */
const MAX_PARSED_CHARS = 1_000_000;

/** A JSON value, indented, keys and kinds of values in colours of their own. */
export function jsonMarkup(value: unknown): Html {
  const text = JSON.stringify(value, null, 2) ?? '';
  if (text.length > MAX_COLOURED_CHARS) return html`${text}`;
  return coloured(value, text.length > MAX_LINE_CHARS ? '' : undefined, 0);
}

/** The object or list a text is the JSON of; undefined for any other text. */
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

/** @param indent of the line the value begins on; undefined for a value on one line. */
function coloured(value: unknown, indent: string | undefined, depth: number): Html {
  if (typeof value === 'string') return html`<span class="s">${JSON.stringify(value)}</span>`;
  if (typeof value !== 'object' || value === null) return html`<span class="n">${String(value)}</span>`;
  if (depth >= MAX_DEPTH) return html`${JSON.stringify(value)}`;
  const inner = indent === undefined ? undefined : `${indent}  `;
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(([key, member]) => {
    const name = isList ? html`` : html`<span class="k">${JSON.stringify(key)}</span>: `;
    return html`${name}${coloured(member, inner, depth + 1)}`;
  });
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (members.length === 0) return html`${open}${close}`;
  const [before, between, after] =
    inner === undefined ? ['', ', ', ''] : [`\n${inner}`, `,\n${inner}`, `\n${indent}`];
  const rows = members.map((member, index) => html`${index === 0 ? before : between}${member}`);
  return html`${open}${rows}${after}${close}`;
}
