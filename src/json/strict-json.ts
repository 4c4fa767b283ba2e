/**
 * JSON as the gate reads it: what JSON.parse accepts, minus everything that two parsers could read differently.
 *
 * JSON.parse lets the last of two equal keys win, makes own `__proto__` keys, rounds integers above 2^53, turns `1e400`
 * into Infinity and passes lone surrogates. Each of these lets a plan mean one thing to a reviewer and another to the
 * server, so each is refused here. Syntax itself is left to JSON.parse, which rejects all 188 `n_` files of
 * JSONTestSuite; the scan below then only reads text that is known to be JSON.
 */
import { isWellFormed } from './canonical-json.ts';
import { parseExactJson } from './exact-integers.ts';

/** Why a text was refused. */
export type JsonProblem =
  | 'not_json'
  | 'not_utf8'
  | 'byte_order_mark'
  | 'too_large'
  | 'too_deep'
  | 'too_many_values'
  | 'duplicate_key'
  | 'prototype_key'
  | 'unsafe_number'
  | 'ill_formed_string';

export class StrictJsonError extends Error {
  readonly problem: JsonProblem;

  constructor(problem: JsonProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StrictJsonError';
    this.problem = problem;
  }
}

/** Bounds on one JSON document. */
export interface JsonLimits {
  /** Size of the UTF-8 text in bytes. */
  readonly maxBytes: number;
  /** Nesting of arrays and objects; a scalar has depth 0. */
  readonly maxDepth: number;
  /** Total of scalars, arrays and objects. */
  readonly maxValues: number;
  /** Integers that no double holds: refused, or the text of their digits. @defaultValue 'refuse' */
  readonly largeIntegers?: 'refuse' | 'text' | undefined;
}

/** Bounds for a plan: 64 KiB, 32 levels, 10,000 values. */
export const PLAN_LIMITS: JsonLimits = { maxBytes: 65_536, maxDepth: 32, maxValues: 10_000 };

/** Bounds for a policy, allowlist or pin file: 4 MiB, 64 levels, 500,000 values. */
export const FILE_LIMITS: JsonLimits = { maxBytes: 4_194_304, maxDepth: 64, maxValues: 500_000 };

/**
 * Parses one JSON document.
 * @throws StrictJsonError naming the problem.
 */
export function parseStrictJson(input: string | Uint8Array, limits: JsonLimits = PLAN_LIMITS): unknown {
  const size = typeof input === 'string' ? Buffer.byteLength(input, 'utf8') : input.byteLength;
  if (size > limits.maxBytes) {
    throw new StrictJsonError('too_large', `The JSON is ${size} bytes; at most ${limits.maxBytes} are read`);
  }
  const text = typeof input === 'string' ? input : decode(input);
  if (text.charCodeAt(0) === 0xfeff) {
    throw new StrictJsonError(
      'byte_order_mark',
      'The JSON starts with a byte order mark; save it without one',
    );
  }
  let value: unknown;
  try {
    value = limits.largeIntegers === 'text' ? parseExactJson(text) : JSON.parse(text);
  } catch (cause) {
    throw new StrictJsonError('not_json', 'The text is not exactly one JSON value', { cause });
  }
  scan(text, limits);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new StrictJsonError('not_utf8', 'The bytes are not UTF-8', { cause });
  }
}

/** An open array (`keys` undefined) or object. */
interface Frame {
  readonly keys: Set<string> | undefined;
  /** The key of this value in its parent. */
  readonly ownKey: string | undefined;
  /** The key last read in this object. */
  key: string | undefined;
  /** True where the next string is a key. */
  expectsKey: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Scans text that JSON.parse has accepted for what it should have refused. */
function scan(text: string, limits: JsonLimits): void {
  const stack: Frame[] = [];
  let top: Frame | undefined;
  let values = 0;
  let at = 0;
  const count = (): void => {
    values += 1;
    if (values > limits.maxValues) {
      throw new StrictJsonError('too_many_values', `The JSON holds more than ${limits.maxValues} values`);
    }
  };
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const content = decodeString(text, at, end);
      at = end;
      if (top?.expectsKey === true) addKey(top, content);
      else count();
    } else if (code === 0x7b || code === 0x5b) {
      count();
      if (stack.length >= limits.maxDepth) {
        throw new StrictJsonError('too_deep', `The JSON is nested more than ${limits.maxDepth} levels deep`);
      }
      const isObject = code === 0x7b;
      top = {
        keys: isObject ? new Set() : undefined,
        ownKey: top?.key,
        key: undefined,
        expectsKey: isObject,
      };
      stack.push(top);
      at += 1;
    } else if (code === 0x7d || code === 0x5d) {
      stack.pop();
      top = stack.at(-1);
      at += 1;
    } else if (code === 0x2c) {
      if (top?.keys !== undefined) top.expectsKey = true;
      at += 1;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      count();
      at = checkNumber(text, at, limits);
    } else if (code === 0x74 || code === 0x66 || code === 0x6e) {
      count();
      at += code === 0x66 ? 5 : 4;
    } else {
      at += 1;
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
}

function decodeString(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  const content = raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
  if (!isWellFormed(content)) {
    throw new StrictJsonError('ill_formed_string', 'A string holds half of a surrogate pair');
  }
  return content;
}

function addKey(frame: Frame, key: string): void {
  frame.expectsKey = false;
  frame.key = key;
  if (isPrototypeKey(key, frame.ownKey)) {
    throw new StrictJsonError('prototype_key', `The key '${key}' reaches an object's prototype`);
  }
  if (frame.keys?.has(key) === true) {
    throw new StrictJsonError('duplicate_key', `The key ${JSON.stringify(key)} stands twice in one object`);
  }
  frame.keys?.add(key);
}

/** `__proto__` anywhere, and `prototype` inside `constructor`: the two ways JSON reaches a prototype. */
function isPrototypeKey(key: string, parentKey: string | undefined): boolean {
  return key === '__proto__' || (key === 'prototype' && parentKey === 'constructor');
}

/** Reads a number literal. Integers are checked on the literal, because `1E22` is a valid float. */
function checkNumber(text: string, start: number, { largeIntegers }: JsonLimits): number {
  let end = start + 1;
  let isInteger = true;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code >= 0x30 && code <= 0x39) continue;
    if (code === 0x2e || code === 0x65 || code === 0x45) isInteger = false;
    else if (code !== 0x2b && code !== 0x2d) break;
  }
  if (isInteger && end - start < 16) return end;
  const number = Number(text.slice(start, end));
  const isLarge = isInteger && !Number.isSafeInteger(number) && largeIntegers !== 'text';
  if (!Number.isFinite(number) || isLarge) {
    const literal = text.slice(start, Math.min(end, start + 40));
    throw new StrictJsonError('unsafe_number', `The number ${literal} cannot be held exactly`);
  }
  return end;
}

/**
 * The same checks for a value that is already parsed, where duplicate keys can no longer be seen. Only plain objects,
 * arrays and JSON scalars pass; a cycle shows as excess depth.
 * @throws StrictJsonError naming the problem.
 */
export function checkJsonValue(value: unknown, limits: JsonLimits = PLAN_LIMITS): void {
  const budget = { values: limits.maxValues, bytes: limits.maxBytes };
  checkNode(value, undefined, 0, limits, budget);
}

function checkNode(
  value: unknown,
  ownKey: string | undefined,
  depth: number,
  limits: JsonLimits,
  budget: { values: number; bytes: number },
): void {
  budget.values -= 1;
  budget.bytes -= 1;
  if (budget.values < 0) {
    throw new StrictJsonError('too_many_values', `The value holds more than ${limits.maxValues} values`);
  }
  if (typeof value === 'string') {
    spend(value, limits, budget);
  } else if (typeof value === 'number') {
    // From 1e21 on, numbers print with an exponent and count as floats; below that it is a rounded integer.
    const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;
    if (!Number.isFinite(value) || (isRounded && limits.largeIntegers !== 'text')) {
      throw new StrictJsonError('unsafe_number', `The number ${value} cannot be held exactly`);
    }
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= limits.maxDepth) {
      throw new StrictJsonError('too_deep', `The value is nested more than ${limits.maxDepth} levels deep`);
    }
    if (Array.isArray(value)) {
      for (const item of value) checkNode(item, undefined, depth + 1, limits, budget);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new StrictJsonError('not_json', 'The value holds an object that is not plain JSON');
    }
    for (const key of Object.keys(value)) {
      spend(key, limits, budget);
      if (isPrototypeKey(key, ownKey)) {
        throw new StrictJsonError('prototype_key', `The key '${key}' reaches an object's prototype`);
      }
      const member = (value as Record<string, unknown>)[key];
      // JSON.stringify omits such a member, and so does every later reader.
      if (member !== undefined) checkNode(member, key, depth + 1, limits, budget);
    }
  } else if (typeof value !== 'boolean' && value !== null) {
    throw new StrictJsonError('not_json', `The value holds a ${typeof value}, which JSON cannot`);
  }
}

function spend(text: string, limits: JsonLimits, budget: { bytes: number }): void {
  // Count UTF-16 units first, to avoid measuring a huge string byte by byte.
  budget.bytes -= text.length > budget.bytes ? text.length : Buffer.byteLength(text, 'utf8');
  if (budget.bytes < 0) {
    throw new StrictJsonError('too_large', `The value is larger than ${limits.maxBytes} bytes`);
  }
  if (!isWellFormed(text)) {
    throw new StrictJsonError('ill_formed_string', 'A string holds half of a surrogate pair');
  }
}
