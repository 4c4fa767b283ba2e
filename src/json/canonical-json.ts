import { hash } from 'node:crypto';
import { ObservatoryError } from '../base/index.ts';

export interface CanonicalJsonOptions {
  /**
   * RFC 8785 forbids lone surrogates. The gate refuses them; telemetry escapes them as `\u`, so that everything is
   * recorded.
   * @defaultValue 'refuse'
   */
  readonly loneSurrogates?: 'refuse' | 'escape';
}

/** Deeper values are refused: they are attacks or cycles and would overflow the stack. */
const MAX_DEPTH = 512;

/**
 * Canonical JSON (RFC 8785, JCS): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript prints them.
 * Two values with the same canonical text are the same JSON value, whatever the order of their keys. Fields with the
 * value `undefined` are left out, as JSON.stringify does.
 *
 * @throws ObservatoryError `INVALID_INPUT` for what JSON cannot hold: non-finite numbers, BigInt, functions, symbols,
 * lone surrogates (see the option), and nesting beyond 512 levels, cycles included.
 */
export function canonicalJson(value: unknown, options: CanonicalJsonOptions = {}): string {
  return write(value, 0, options.loneSurrogates === 'escape');
}

/** The canonical JSON that telemetry hashes: lone surrogates are escaped. */
export function hashableText(value: unknown): string {
  return write(value, 0, true);
}

/** SHA-256 of the canonical JSON in UTF-8, hex; equal values hash alike. Lone surrogates are escaped. */
export function canonicalHash(value: unknown): string {
  return sha256Hex(hashableText(value));
}

/** Lower-case hex SHA-256 of a text's UTF-8 bytes. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

/** False when the text holds a lone surrogate, which no UTF-8 can carry. */
export function isWellFormed(text: string): boolean {
  return (text as unknown as WellFormed).isWellFormed();
}

/** The text with U+FFFD for each lone surrogate; the same text where there is none. */
export function toWellFormed(text: string): string {
  return isWellFormed(text) ? text : (text as unknown as WellFormed).toWellFormed();
}

/** A value whose texts and names are well-formed; the same value where they are. */
export function toWellFormedValue<T>(value: T, depth = 0): T {
  if (typeof value === 'string') return toWellFormed(value) as T;
  // Deeper values are refused by every reader.
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => toWellFormedValue(item, depth + 1));
    return items.some((item, at) => item !== value[at]) ? (items as T) : value;
  }
  let isChanged = false;
  const entries = Object.entries(value).map(([key, member]: [string, unknown]) => {
    const read = [toWellFormed(key), toWellFormedValue(member, depth + 1)] as const;
    isChanged ||= read[0] !== key || read[1] !== member;
    return read;
  });
  return isChanged ? (Object.fromEntries(entries) as T) : value;
}

function write(value: unknown, depth: number, escapes: boolean): string {
  if (depth > MAX_DEPTH) throw refused(`a value nested deeper than ${MAX_DEPTH} levels`);
  switch (typeof value) {
    case 'string':
      return quote(value, escapes);
    case 'number':
      if (!Number.isFinite(value)) throw refused(`the number ${value}`);
      // `String(-0)` is '0', as RFC 8785 section 3.2.2.3 asks.
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? writeArray(value, depth, escapes) : writeObject(value, depth, escapes);
    default:
      throw refused(`a value of type ${typeof value}`);
  }
}

function writeArray(items: readonly unknown[], depth: number, escapes: boolean): string {
  let text = '[';
  for (let i = 0; i < items.length; i += 1) {
    text += (i === 0 ? '' : ',') + write(items[i] ?? null, depth + 1, escapes);
  }
  return `${text}]`;
}

function writeObject(object: object, depth: number, escapes: boolean): string {
  const record = object as Readonly<Record<string, unknown>>;
  const keys = Object.keys(record);
  sortKeys(keys);
  let text = '{';
  for (const key of keys) {
    const member = record[key];
    if (member === undefined) continue;
    text += `${text === '{' ? '' : ','}${quote(key, escapes)}:${write(member, depth + 1, escapes)}`;
  }
  return `${text}}`;
}

/** Up to this number inserting each key in its place is cheaper than the engine's sort. */
const FEW_KEYS = 8;

/** Sorts by UTF-16 code units, which is the order RFC 8785 section 3.2.3 asks for. */
function sortKeys(keys: string[]): void {
  if (keys.length > FEW_KEYS) {
    if (!isSorted(keys)) keys.sort();
    return;
  }
  for (let i = 1; i < keys.length; i += 1) {
    const key = keys[i] as string;
    let place = i;
    for (; place > 0 && (keys[place - 1] as string) > key; place -= 1)
      keys[place] = keys[place - 1] as string;
    keys[place] = key;
  }
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i += 1) if ((keys[i - 1] as string) > (keys[i] as string)) return false;
  return true;
}

/** Up to this length checking each character is cheaper than JSON.stringify. */
const SHORT_CHARS = 32;

function quote(text: string, escapes: boolean): string {
  if (text.length <= SHORT_CHARS && isPlain(text)) return `"${text}"`;
  if (!escapes && !isWellFormed(text)) throw refused('a lone surrogate');
  return JSON.stringify(text);
}

/** Printable ASCII without quote and backslash needs no escape in JSON. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false;
  }
  return true;
}

function refused(what: string): ObservatoryError {
  return new ObservatoryError('INVALID_INPUT', `Canonical JSON cannot hold ${what}; pass a JSON value`);
}
