/**
 * Tolerant looks at values nobody has checked: attributes of other instrumentations, bodies of providers.
 * Nothing here throws; what cannot be used is `undefined`.
 */

/** An object whose fields are not known. Arrays and `null` are not records. */
export type UnknownRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is UnknownRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a record, or an empty one, so that fields can be read without asking first. */
export function recordOf(value: unknown): UnknownRecord {
  return isRecord(value) ? value : EMPTY_RECORD;
}

const EMPTY_RECORD: UnknownRecord = Object.freeze({});

/** The value as a list, or an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is text. The empty text is text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The first value that is text. */
export function firstText(...values: readonly unknown[]): string | undefined {
  for (const value of values) if (typeof value === 'string') return value;
  return undefined;
}

/** The value if it can be a count: a whole number from 0 up. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Parses text that looks like a JSON object or array; anything else, and JSON that is broken, is `undefined`. */
export function parseJson(text: string): unknown {
  const first = text.charCodeAt(firstInk(text));
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Index of the first character that is not JSON white space. */
function firstInk(text: string): number {
  let index = 0;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
  }
  return index;
}

/** Structured values stay as they are (SDK 3 keeps them), JSON text is parsed, other text stays text. */
export function decode(value: unknown): unknown {
  return typeof value === 'string' ? (parseJson(value) ?? value) : value;
}

/** JSON text of a value that comes from anywhere; `undefined` where it has none (cycles, BigInt, too deep). */
export function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
