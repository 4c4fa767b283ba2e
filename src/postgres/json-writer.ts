import type { ByteWriter } from './byte-writer.ts';
import { cleanText, cutText, REPLACEMENT } from './clean-text.ts';
import type { Marks } from './marks.ts';
import { MAX_DEPTH, MAX_KEY_CHARS, MAX_VALUES, type ResolvedRowLimits } from './row-limits.ts';

type JsonSource = Readonly<Record<string, unknown>>;

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;

const NULL = Buffer.from('null');
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');

/** Characters of base64 come in fours, of three bytes. */
const BASE64_GROUP = 4;
const BYTES_GROUP = 3;

/**
 * Writes any attribute value as JSON that `jsonb` accepts, in one pass.
 *
 * Values are mapped as OpenTelemetry specifies for formats other than OTLP ("Mapping to non-OTLP" of the common
 * specification): `NaN`, `Infinity` and `-Infinity` as those strings, bytes as a base64 string, empty as null. NUL and
 * lone surrogates, which Postgres refuses, become U+FFFD. What is too long, too deep or too much is cut. Both kinds of
 * change are marked with the name of the attribute or column.
 */
export class JsonWriter {
  readonly #out: ByteWriter;
  readonly #marks: Marks;
  readonly #limits: ResolvedRowLimits;
  #charsLeft = 0;
  #valuesLeft = 0;

  constructor(out: ByteWriter, marks: Marks, limits: ResolvedRowLimits) {
    this.#out = out;
    this.#marks = marks;
    this.#limits = limits;
  }

  /** Begins another column, with its full room. */
  begin(): void {
    this.#charsLeft = this.#limits.maxJsonChars;
    this.#valuesLeft = MAX_VALUES;
  }

  open(): void {
    this.#out.byte(OPEN_OBJECT);
  }

  close(): void {
    this.#out.byte(CLOSE_OBJECT);
  }

  /** A list; `write` writes each item. */
  list<T>(items: readonly T[], name: string, write: (item: T) => void): void {
    this.#out.byte(OPEN_ARRAY);
    for (let i = 0; i < items.length; i += 1) {
      if (this.#isSpent(name)) break;
      if (i > 0) this.#out.byte(COMMA);
      write(items[i] as T);
    }
    this.#out.byte(CLOSE_ARRAY);
  }

  /** The start of an object entry; the key must be clean. */
  entry(key: string, isFirst: boolean): void {
    if (!isFirst) this.#out.byte(COMMA);
    this.#charsLeft -= key.length;
    this.#out.jsonText(key);
    this.#out.byte(COLON);
  }

  /** A value; `name` is marked if it had to be changed. */
  value(value: unknown, name: string, depth = 0): void {
    this.#valuesLeft -= 1;
    switch (typeof value) {
      case 'string':
        this.text(value, name);
        break;
      case 'boolean':
        this.#out.bytes(value ? TRUE : FALSE);
        break;
      case 'number':
        this.#number(value);
        break;
      case 'bigint':
        this.text(String(value), name);
        break;
      case 'undefined':
        this.#out.bytes(NULL);
        break;
      case 'object':
        if (value === null) this.#out.bytes(NULL);
        else this.#structure(value, name, depth);
        break;
      default:
        this.#marks.sanitize(name);
        this.#out.jsonText(`[${typeof value}]`);
    }
  }

  text(text: string, name: string): void {
    const room = Math.min(this.#limits.maxAttributeChars, Math.max(this.#charsLeft, 0));
    this.#charsLeft -= text.length;
    const kept = text.length > room ? cutText(text, room) : text;
    if (kept !== text) this.#marks.truncate(name);
    if (this.#out.jsonText(kept)) this.#marks.sanitize(name);
  }

  /**
   * The entries of an object that are not `undefined`.
   * @param name what is marked; without one, each entry by its own key.
   * @param isLeftOut by the position of the entry.
   * @returns whether there were any.
   */
  entries(
    source: JsonSource,
    keys: readonly string[],
    name?: string,
    depth = 0,
    isLeftOut?: (i: number) => boolean,
  ): boolean {
    let isFirst = true;
    let names: FreeNames | undefined;
    for (let i = 0; i < keys.length; i += 1) {
      const key = keys[i] as string;
      const value = source[key];
      if (value === undefined || isLeftOut?.(i) === true) continue;
      if (this.#isSpent(name ?? key)) break;
      if (!isFirst) this.#out.byte(COMMA);
      let written = key;
      if (key.length > MAX_KEY_CHARS || !this.#out.cleanJsonText(key)) {
        names ??= new FreeNames(source);
        written = names.take(cleanText(cutText(key, MAX_KEY_CHARS)));
        this.#out.jsonText(written);
        if (key.length > MAX_KEY_CHARS) this.#marks.truncate(name ?? written);
        else this.#marks.sanitize(name ?? written);
      }
      this.#charsLeft -= written.length;
      this.#out.byte(COLON);
      isFirst = false;
      this.value(value, name ?? written, depth + 1);
    }
    return !isFirst;
  }

  /** An object with the entries of `source`. */
  record(source: JsonSource, name: string, depth = 0): void {
    this.open();
    this.entries(source, Object.keys(source), name, depth);
    this.close();
  }

  #number(value: number): void {
    if (Number.isFinite(value)) this.#out.digits(value);
    else this.#out.jsonText(String(value));
  }

  #structure(value: object, name: string, depth: number): void {
    if (value instanceof Uint8Array) {
      this.#base64(value, name);
    } else if (depth >= MAX_DEPTH) {
      this.#marks.truncate(name);
      this.#out.jsonText(`[nested deeper than ${MAX_DEPTH} levels]`);
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
    this.#out.byte(QUOTE);
    this.#out.utf8(text);
    this.#out.byte(QUOTE);
  }

  /** Whether the column has no room for another value; marks it if so. */
  #isSpent(name: string): boolean {
    if (this.#charsLeft > 0 && this.#valuesLeft > 0) return false;
    this.#marks.truncate(name);
    return true;
  }
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
