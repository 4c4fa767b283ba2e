/**
 * Makes any attribute value storable: text that Postgres takes, and JSON that `jsonb` takes.
 *
 * The JSON forms are those OpenTelemetry gives for protocols other than OTLP ("Mapping to non-OTLP" of the common
 * specification): `NaN`, `Infinity` and `-Infinity` as those strings, bytes as a base64 string, empty as null.
 * Text loses two things that Postgres refuses: NUL, and surrogates without their partner. Each becomes U+FFFD.
 */

/** `String.prototype.isWellFormed`, which Node 20 has and the ES2023 library of TypeScript does not know. */
interface WellFormed {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

const REPLACEMENT = '\ufffd';

/** Levels of nesting kept in JSON; Postgres' own limit depends on its stack and is in the thousands. */
const MAX_DEPTH = 100;
/** Values kept in one row's JSON: an object that is referred to many times over would have no end. */
const MAX_VALUES = 1_000_000;

/** Text as Postgres takes it: NUL and lone surrogates replaced by U+FFFD, one for one. */
export function cleanText(text: string): string {
  const wellFormed = text as string & WellFormed;
  const clean = wellFormed.isWellFormed() ? text : wellFormed.toWellFormed();
  return clean.includes('\0') ? clean.replaceAll('\0', REPLACEMENT) : clean;
}

/** Cleans the values of one row and remembers the names of those that could not be kept as they were. */
export class Sanitiser {
  /** Names of the attributes and columns whose value was changed, in the order they were met. */
  readonly changed: Set<string> = new Set();
  #valuesLeft = MAX_VALUES;

  /** Cleans a text and marks `name` when that changed it. */
  text(text: string, name: string): string {
    const clean = cleanText(text);
    if (clean !== text) this.changed.add(name);
    return clean;
  }

  /** A JSON value that says the same as far as JSON and Postgres can; marks `name` when something is lost. */
  json(value: unknown, name: string, depth = 0): unknown {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) return this.#lost(`[more than ${MAX_VALUES} values]`, name);
    switch (typeof value) {
      case 'string':
        return this.text(value, name);
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) ? value : String(value);
      case 'bigint':
        return String(value);
      case 'undefined':
        return null;
      case 'object':
        return value === null ? null : this.#object(value, name, depth);
      default:
        return this.#lost(`[${typeof value}]`, name);
    }
  }

  /** The entries of an object as a JSON object; those that are `undefined` are left out. */
  record(entries: Iterable<readonly [string, unknown]>, name: string, depth = 0): Record<string, unknown> {
    const record: Record<string, unknown> = {};
    for (const [key, value] of entries) {
      if (value !== undefined) this.put(record, key, value, name, depth);
    }
    return record;
  }

  /** Puts one entry into a record under its cleaned key, beside an entry that has the same one already. */
  put(record: Record<string, unknown>, key: string, value: unknown, name: string, depth = 0): void {
    let clean = this.text(key, name);
    // Two keys may clean to the same text; the second must not replace the first.
    while (Object.hasOwn(record, clean)) clean += REPLACEMENT;
    const json = this.json(value, name, depth + 1);
    if (clean !== '__proto__') record[clean] = json;
    else Object.defineProperty(record, clean, { value: json, enumerable: true, configurable: true });
  }

  #object(value: object, name: string, depth: number): unknown {
    if (value instanceof Uint8Array) {
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
    }
    if (depth >= MAX_DEPTH) return this.#lost(`[nested deeper than ${MAX_DEPTH} levels]`, name);
    if (Array.isArray(value)) return value.map((item) => this.json(item, name, depth + 1));
    return this.record(Object.entries(value), name, depth);
  }

  #lost(placeholder: string, name: string): string {
    this.changed.add(name);
    return placeholder;
  }
}
