/**
 * Lenient readers for JSON that other programs wrote: provider bodies, span attributes, MCP messages. They never throw;
 * a value of another type is `undefined` or empty. `strict-json.ts` is for input that must be refused.
 */

/** A JSON object whose fields are not checked. Arrays and `null` are not objects here. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one, so that fields can be read without a check. */
export function readObject(value: unknown): JsonObject {
  return isObject(value) ? value : EMPTY_OBJECT;
}

const EMPTY_OBJECT: JsonObject = Object.freeze({});

/** The value if it is an array, else an empty one. */
export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a string; the empty string counts. */
export function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function firstText(...values: readonly unknown[]): string | undefined {
  for (const value of values) if (typeof value === 'string') return value;
  return undefined;
}

/** The value if it is a count: a safe integer from 0 up. */
export function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The sum of the counts that are present, or `undefined` when none is. */
export function addUp(...counts: readonly (number | undefined)[]): number | undefined {
  let sum: number | undefined;
  for (const count of counts) if (count !== undefined) sum = (sum ?? 0) + count;
  return sum;
}

export function objectAt(value: unknown, key: string): JsonObject | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : undefined;
}

export function stringAt(value: unknown, key: string): string | undefined {
  return isObject(value) ? toText(value[key]) : undefined;
}

/** The finite number under a key. */
export function numberAt(value: unknown, key: string): number | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

/** The array under a key, or an empty one. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  return isObject(value) ? readList(value[key]) : [];
}

/** The strings of the array under a key; a single string counts as an array of one. */
export function stringsAt(value: unknown, key: string): string[] | undefined {
  const found = isObject(value) ? value[key] : undefined;
  if (typeof found === 'string') return [found];
  const strings = readList(found).filter((item): item is string => typeof item === 'string');
  return strings.length > 0 ? strings : undefined;
}

/** Parses a JSON object or array; `undefined` for other text and for invalid JSON. */
export function parseContainer(text: string): unknown {
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

/** Parses text that holds a JSON object or array; returns anything else unchanged. */
export function parseContainerOrKeep(value: unknown): unknown {
  return typeof value === 'string' ? (parseContainer(value) ?? value) : value;
}

/** Parses text that is JSON of any kind, such as tool arguments a model wrote; returns anything else unchanged. */
export function parseOrKeep(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** JSON text of a value, or `undefined` where it has none: cycles, BigInt, too deep. */
export function toJsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The place behind the quote that ends the string that begins with the one at `start`. */
export function endOfJsonString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}
