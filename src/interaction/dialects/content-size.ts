/** How much there is to read on a span: what other instrumentations write there is as long as they like. */
import { endOfJsonString } from '../../json/index.ts';
import { STEP_CHARS } from '../../signals/index.ts';
import type { SpanView } from '../span-view.ts';

interface Limits {
  /** Of all texts together, in UTF-16 code units. */
  readonly characters: number;
  /** Values in lists and objects, those in JSON text included. */
  readonly values: number;
}

/** Reading more takes many milliseconds. */
const LONG: Limits = { characters: STEP_CHARS, values: 8_192 };
/** Reading more takes too many: JSON text is parsed at once. */
const READABLE: Limits = { characters: 4_194_304, values: 65_536 };
const MAX_DEPTH = 32;

/** Whether reading the attributes and events of a span takes more than a few milliseconds. */
export function hasLongContent(span: SpanView): boolean {
  return exceeds(span, LONG, false);
}

/** Whether the attributes and events of a span can be read in some tens of milliseconds. */
export function isReadable(span: SpanView): boolean {
  return !exceeds(span, READABLE, true);
}

function exceeds({ attributes, events = [] }: SpanView, limits: Limits, looksIntoText: boolean): boolean {
  const size = new Size(limits, looksIntoText);
  if (size.exceedsWith(attributes)) return true;
  for (const event of events) {
    if (event.attributes !== undefined && size.exceedsWith(event.attributes)) return true;
  }
  return false;
}

class Size {
  #characters: number;
  #values: number;
  readonly #looksIntoText: boolean;

  constructor({ characters, values }: Limits, looksIntoText: boolean) {
    this.#characters = characters;
    this.#values = values;
    this.#looksIntoText = looksIntoText;
  }

  /** Adds up the members of an object or list. */
  exceedsWith(record: object, depth = 0): boolean {
    for (const key in record) {
      const value = (record as Readonly<Record<string, unknown>>)[key];
      if (typeof value === 'string') {
        this.#characters -= value.length;
        if (this.#looksIntoText && this.#characters >= 0) this.#values -= valuesIn(value, this.#values);
      } else if (typeof value === 'object' && value !== null) {
        this.#values -= 1;
        if (depth === MAX_DEPTH || this.#values < 0 || this.exceedsWith(value, depth + 1)) return true;
      }
      if (this.#characters < 0 || this.#values < 0) return true;
    }
    return false;
  }
}

/** About how many values a JSON list or object in a text has, up to one more than `most`; none in other texts. */
function valuesIn(text: string, most: number): number {
  if (!/^\s{0,1000}[[{]/.test(text)) return 0;
  let values = 0;
  for (let at = 0; at < text.length && values <= most; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === OPEN_BRACKET || code === OPEN_BRACE) values += 1;
    else if (code === QUOTE) at = endOfJsonString(text, at) - 1;
  }
  return values;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
