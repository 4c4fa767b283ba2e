const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The message, its result or parameters, and their `_meta`: the SDKs check and copy these member by member. */
const CHECKED_LEVELS = 3;

/** One value, in the units counted here. */
const VALUE = 256;
/** What a member of a checked level costs more than to parse it. */
const CHECKED_MEMBER = 6 * VALUE;
/** What a message costs more than its parts: an SDK tries several schemas on it. */
const MESSAGE = 200 * VALUE;
const TEXT_BYTE = 1;
/** An escape in a text, beside its bytes. */
const ESCAPE = 8;
/** A byte of a number or literal. A number in the middle between two doubles takes a hundred times as long as others. */
const DIGIT = 12;

/** Names of members that are longer have all one hash in V8, so that each is compared with all others. */
const MAX_NAME = 16_000;
/** One such name. At the default limit of a message there are at most 50. */
const LONG_NAME = 2_000 * VALUE;

const SPACE = 1;
const STRING = 2;
const ELEMENT = 3;
const MEMBER = 4;
const OBJECT = 5;
const ARRAY = 6;
const END = 7;
const LINE_END = 8;

/** What each byte is outside strings; 0 is a part of a number or literal. */
const KINDS: Uint8Array = new Uint8Array(256);
KINDS[0x20] = SPACE;
KINDS[0x09] = SPACE;
KINDS[LF] = LINE_END;
KINDS[CR] = LINE_END;
KINDS[QUOTE] = STRING;
for (const [text, kind] of [
  [',', ELEMENT],
  [':', MEMBER],
  ['{', OBJECT],
  ['[', ARRAY],
  ['}', END],
  [']', END],
] as const)
  KINDS[text.charCodeAt(0)] = kind;

/**
 * Counts the values of a JSON-RPC message in UTF-8 as its bytes arrive, before anything is decoded or parsed: one for
 * each of `[`, `{` and `,` outside strings and two for each `:`, that is about one for each element of an array and
 * three for each member of an object, whose name may be new to the engine. They, more than the length of the text,
 * decide how long reading it takes. A name of more than 16,000 bytes counts as 2,000. 256 bytes of text, 32 escapes, or 21 bytes of numbers and literals count as one
 * more. What the MCP SDKs check one by one counts more: each message, and each member of its upper levels. Never counts
 * too few: a line end ends a string, since no valid one contains it and a parser stops there.
 */
export class ValueCounter {
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Units since the string began that is being read, or of the one that has just ended. */
  #string = 0;
  readonly #isLines: boolean;

  /** @param isLines the text comes in lines that need not all belong to it, as in events: levels end with the line. */
  constructor(isLines = false) {
    this.#isLines = isLines;
  }

  /** How many values `bytes` adds from `start` to `end`. Takes linear time. */
  count(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
    let inString = this.#inString;
    let escaped = this.#escaped;
    let depth = this.#depth;
    let units = 0;
    let stringAt = -this.#string;
    let name = this.#string;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (inString) {
        units += TEXT_BYTE;
        if (byte === LF || byte === CR) {
          inString = false;
          escaped = false;
          if (this.#isLines) depth = 0;
        } else if (escaped) {
          escaped = false;
        } else if (byte === QUOTE) {
          inString = false;
          name = units - stringAt;
        } else if (byte === BACKSLASH) {
          escaped = true;
          units += ESCAPE;
        }
        continue;
      }
      switch (KINDS[byte]) {
        case SPACE:
          break;
        case STRING:
          inString = true;
          stringAt = units;
          break;
        case ELEMENT:
          name = 0;
          units += VALUE;
          break;
        case MEMBER:
          if (name > MAX_NAME) units += LONG_NAME;
          units += depth <= CHECKED_LEVELS ? 2 * VALUE + CHECKED_MEMBER : 2 * VALUE;
          break;
        case OBJECT:
          units += depth === 0 ? VALUE + MESSAGE : VALUE;
          depth += 1;
          break;
        case ARRAY:
          units += VALUE;
          // An array around messages is no level.
          if (depth > 0) depth += 1;
          break;
        case END:
          name = 0;
          if (depth > 0) depth -= 1;
          break;
        case LINE_END:
          if (this.#isLines) depth = 0;
          break;
        default:
          units += DIGIT;
      }
    }
    this.#inString = inString;
    this.#escaped = escaped;
    this.#depth = depth;
    this.#string = inString ? units - stringAt : name;
    return units / VALUE;
  }

  /** Begins a new text. */
  reset(): void {
    this.#inString = false;
    this.#escaped = false;
    this.#depth = 0;
    this.#string = 0;
  }
}
