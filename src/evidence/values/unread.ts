import { type ReadStep, textOfValue } from '../trace/index.ts';

const MAX_CHARS = 524_288;

/** Results of which only the ends were read: a figure that is missed may stand in their middle. */
export class Unread {
  /** `undefined` if there is more than can be looked through, or more than was handed on. */
  readonly #text: string | undefined;

  /** @param hasEarlier whether calls were made before these steps. */
  constructor(steps: readonly ReadStep[], hasEarlier: boolean) {
    const texts: string[] = [];
    let left = hasEarlier || steps.some(({ isPart }) => isPart) ? 0 : MAX_CHARS;
    for (const { value, isCut } of steps) {
      if (!isCut || left <= 0) continue;
      texts.push(textOfValue(value, left));
      left -= (texts.at(-1) as string).length;
    }
    this.#text = left <= 0 ? undefined : texts.join('\n');
  }

  /** Whether this number stands there, with or without a comma between thousands, or may do so. */
  mayHave(raw: string): boolean {
    const digits = raw.replace(/[\s,'’](?=\d{3})/g, '');
    const grouped = digits.replace(/\B(?=(?:\d{3})+(?!\d))/g, ',');
    const form = [raw, digits, grouped].map((one) => one.replaceAll('.', '\\.')).join('|');
    return this.#text === undefined || new RegExp(`(?<![\\d.])(?:${form})(?!\\d|[.,]\\d)`).test(this.#text);
  }
}
