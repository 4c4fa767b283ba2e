/** HTML that is known to be safe: made by {@link html} from literal markup and escaped values. */
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

/** What may stand in a template: text and numbers are escaped, markup and lists of it go in as they are. */
type Insert = string | number | Html | readonly Html[] | undefined;

/** Builds markup; every value that is not markup itself is escaped, in text and in quoted attributes alike. */
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

/** Controls that HTML forbids are shown as their pictures (U+2400 and on), marks that turn
 * the direction of text around by their code. */
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
