import { type ReadStep, textOfValue } from '../trace/index.ts';

const MAX_CHARS = 524_288;
const MAX_PLACES = 256;

/** Results of which only the ends were read: a figure that is missed may stand in their middle. */
export class Unread {
  /** `undefined` if there is more than can be looked through. */
  readonly #text: string | undefined;

  /** @param hasEarlier whether calls were made before these steps. */
  constructor(steps: readonly ReadStep[], hasEarlier: boolean) {
    this.#text = hasEarlier ? undefined : listUnread(steps);
  }

  /** Whether this number stands there, with or without a comma between thousands, or may do so. */
  mayHave(raw: string): boolean {
    const text = this.#text;
    if (text === undefined) return true;
    const digits = raw.replace(/[\s,'’](?=\d{3})/g, '');
    const grouped = digits.replace(/\B(?=(?:\d{3})+(?!\d))/g, ',');
    return [...new Set([raw, digits, grouped])].some((form) => hasNumber(text, form));
  }
}

function listUnread(steps: readonly ReadStep[]): string | undefined {
  const texts: string[] = [];
  let left = MAX_CHARS;
  for (const { value, text, isCut } of steps) {
    if (!isCut) continue;
    const whole = textOfValue(value, left);
    if (whole.length > text.length) texts.push(whole);
    left -= whole.length;
    if (left <= 0) return undefined;
  }
  return texts.join('\n');
}

/** Whether the text has these digits as a number of their own. */
function hasNumber(text: string, digits: string): boolean {
  let at = text.indexOf(digits);
  for (let places = 0; at >= 0 && places < MAX_PLACES; places++) {
    const end = at + digits.length;
    if (!/[\d.]/.test(text[at - 1] ?? '') && !/^(?:\d|[.,]\d)/.test(text.slice(end, end + 2))) return true;
    at = text.indexOf(digits, end);
  }
  return at >= 0;
}
