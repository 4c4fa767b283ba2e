import { cleanText, cutText, REPLACEMENT } from './clean-text.ts';
import type { EntryHead } from './known-names.ts';
import type { Marks } from './marks.ts';
import { MAX_DEPTH, MAX_KEY_CHARS, MAX_VALUES, type ResolvedRowLimits } from './row-limits.ts';

type JsonSource = Readonly<Record<string, unknown>>;

/** Entries that were read from an object already. */
export interface ReadEntries {
  readonly keys: readonly string[];
  /** Values by the index of their keys. */
  readonly given: readonly unknown[];
  isHeld(key: number): boolean;
  /** Where it was made before. */
  headOf(key: number): EntryHead | undefined;
}

/** Characters that may need escaping in JSON: quotes, backslashes, control characters and surrogates. */
const UNSAFE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** Texts up to this length are searched for that first. In longer ones there is a line break most of the time. */
const SHORT_TEXT = 512;

/** Characters of base64 come in fours, of three bytes. */
const BASE64_GROUP = 4;
const BYTES_GROUP = 3;

/**
 * Writes any attribute value as JSON that `jsonb` accepts, in one pass.
 *
 * Values are mapped as OpenTelemetry specifies for formats other than OTLP ("Mapping to non-OTLP" of the common
 * specification): `NaN`, `Infinity` and `-Infinity` as those strings, bytes as a base64 string, empty as null. NUL and
 * lone surrogates, which Postgres refuses, become U+FFFD. Texts that are too long, and values that are too deep or too
 * many, are cut. Both kinds of change are marked with the name of the attribute or column.
 */
export class JsonWriter {
  readonly #marks: Marks;
  readonly #limits: ResolvedRowLimits;
  #json = '';
  #charsLeft = 0;
  #valuesLeft = 0;

  constructor(marks: Marks, limits: ResolvedRowLimits) {
    this.#marks = marks;
    this.#limits = limits;
  }

  /** Begins a column, and drops the rest of a column that failed. */
  begin(): void {
    this.#json = '';
    this.renewRoom();
  }

  /** The JSON of the column. */
  take(): string {
    const json = this.#json;
    this.#json = '';
    return json;
  }

  /** Resets the size limit for the next column. */
  renewRoom(): void {
    this.#charsLeft = this.#limits.maxJsonChars;
    this.#valuesLeft = MAX_VALUES;
  }

  open(): void {
    this.#json += '{';
  }

  close(): void {
    this.#json += '}';
  }

  /** A list; `write` writes each item. */
  list<T>(items: readonly T[], name: string, write: (item: T) => void): void {
    this.#json += '[';
    for (let i = 0; i < items.length; i += 1) {
      if (this.#isSpent(name)) break;
      if (i > 0) this.#json += ',';
      write(items[i] as T);
    }
    this.#json += ']';
  }

  /** The start of an object entry; the key must be clean. */
  entry(key: string, isFirst: boolean): void {
    if (!isFirst) this.#json += ',';
    this.#charsLeft -= key.length;
    this.#json += isSafe(key) ? `"${key}":` : `${JSON.stringify(key)}:`;
  }

  /** A value; `name` is marked if it had to be changed. */
  value(value: unknown, name: string, depth = 0): void {
    this.#valuesLeft -= 1;
    switch (typeof value) {
      case 'string':
        this.text(value, name);
        break;
      case 'boolean':
        this.#json += value ? 'true' : 'false';
        break;
      case 'number':
        this.#number(value);
        break;
      case 'bigint':
        this.text(String(value), name);
        break;
      case 'undefined':
        this.#json += 'null';
        break;
      case 'object':
        if (value === null) this.#json += 'null';
        else this.#structure(value, name, depth);
        break;
      default:
        this.#marks.sanitize(name);
        this.#json += `"[${typeof value}]"`;
    }
  }

  text(text: string, name: string): void {
    const room = Math.min(this.#limits.maxAttributeChars, Math.max(this.#charsLeft, 0));
    this.#charsLeft -= text.length;
    const kept = text.length > room ? cutText(text, room) : text;
    if (kept !== text) this.#marks.truncate(name);
    this.#json += this.#quoted(kept, name);
  }

  #quoted(text: string, name: string): string {
    if (isSafe(text)) return `"${text}"`;
    const clean = cleanText(text);
    if (clean !== text) this.#marks.sanitize(name);
    return JSON.stringify(clean);
  }

  /**
   * The entries of an object that are not `undefined`.
   * @param name what is marked; without one, each entry by its own key.
   * @param read the same entries, if they were read already; those that are held are left out.
   * @returns whether there were any.
   */
  entries(source: JsonSource, name?: string, depth = 0, read?: ReadEntries): boolean {
    const keys = read === undefined ? Object.keys(source) : read.keys;
    let isFirst = true;
    let names: FreeNames | undefined;
    for (let i = 0; i < keys.length; i += 1) {
      const key = keys[i] as string;
      const value = read === undefined ? source[key] : read.given[i];
      if (value === undefined || read?.isHeld(i) === true) continue;
      if (this.#isSpent(name ?? key)) break;
      const head = read?.headOf(i);
      let written = key;
      if (head !== undefined) {
        this.#charsLeft -= key.length;
        this.#json += isFirst ? head.first : head.later;
      } else {
        if (!canBeKey(key)) {
          names ??= new FreeNames(source);
          written = names.take(cleanText(cutText(key, MAX_KEY_CHARS)));
          if (key.length > MAX_KEY_CHARS) this.#marks.truncate(name ?? written);
          else this.#marks.sanitize(name ?? written);
        }
        this.entry(written, isFirst);
      }
      isFirst = false;
      this.value(value, name ?? written, depth + 1);
    }
    return !isFirst;
  }

  /** An object with the entries of `source`. */
  record(source: JsonSource, name: string, depth = 0): void {
    this.open();
    this.entries(source, name, depth);
    this.close();
  }

  #number(value: number): void {
    this.#json += Number.isFinite(value) ? String(value) : `"${value}"`;
  }

  #structure(value: object, name: string, depth: number): void {
    if (value instanceof Uint8Array) {
      this.#base64(value, name);
    } else if (depth >= MAX_DEPTH) {
      this.#marks.truncate(name);
      this.#json += `"[nested deeper than ${MAX_DEPTH} levels]"`;
    } else if (Array.isArray(value)) {
      this.list(value, name, (item: unknown) => this.value(item, name, depth + 1));
    } else {
      this.record(value as JsonSource, name, depth);
    }
  }

  #base64(value: Uint8Array, name: string): void {
    const room = Math.min(this.#limits.maxAttributeChars, Math.max(this.#charsLeft, 0));
    const kept = value.subarray(0, Math.floor(room / BASE64_GROUP) * BYTES_GROUP);
    if (kept.length < value.length) this.#marks.truncate(name);
    const text = Buffer.from(kept.buffer, kept.byteOffset, kept.byteLength).toString('base64');
    this.#charsLeft -= text.length;
    this.#json += `"${text}"`;
  }

  /** Whether the column has no room for another value; marks it if so. */
  #isSpent(name: string): boolean {
    if (this.#charsLeft > 0 && this.#valuesLeft > 0) return false;
    this.#marks.truncate(name);
    return true;
  }
}

/** Whether a text needs no escaping in JSON; false for long texts, which are not checked. */
function isSafe(text: string): boolean {
  return text.length <= SHORT_TEXT && !UNSAFE.test(text);
}

/** Whether the key is stored as it is. */
function canBeKey(key: string): boolean {
  return isSafe(key) || (key.length <= MAX_KEY_CHARS && cleanText(key) === key);
}

/**
 * Names for entries of one object whose own names could not be stored. Two names may become the same text when cleaned,
 * or that of an entry that needed no cleaning; none may replace another, and unchanged names take precedence.
 */
export class FreeNames {
  readonly #source: object;
  readonly #taken = new Set<string>();
  /** Continues from name to name: restarting for each would be quadratic. */
  #count = 1;

  constructor(source: object) {
    this.#source = source;
  }

  /** The text itself if it is free, else followed by U+FFFD and a number. */
  take(text: string): string {
    let name = text;
    while (this.#taken.has(name) || Object.hasOwn(this.#source, name)) {
      this.#count += 1;
      name = `${text}${REPLACEMENT}${this.#count}`;
    }
    this.#taken.add(name);
    return name;
  }
}
