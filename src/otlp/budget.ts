import { DecodeError } from './decode-error.ts';

/**
 * Attributes, list items, events and links of one request: each may take only a few bytes on the wire but an object in
 * memory.
 */
const MAX_ITEMS = 1_000_000;

/**
 * Maximum nesting of values. Rows keep 100 levels and mark deeper values as truncated, so values cut here are marked
 * there too.
 */
export const MAX_VALUE_DEPTH = 120;

/** The remaining budget of one request, against small messages that expand to many objects. */
export class DecodeBudget {
  readonly #maxRecords: number;
  #records = 0;
  #items = 0;

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords;
  }

  /** Attributes, list items, events and links read so far. */
  get items(): number {
    return this.#items;
  }

  /** @throws DecodeError `too_large`. */
  takeRecord(): void {
    this.#records += 1;
    if (this.#records > this.#maxRecords) throw tooMany(this.#maxRecords, 'spans or log records');
  }

  /** @throws DecodeError `too_large`. */
  takeItem(): void {
    this.#items += 1;
    if (this.#items > MAX_ITEMS) throw tooMany(MAX_ITEMS, 'attributes, list items, events and links');
  }
}

function tooMany(max: number, what: string): DecodeError {
  return new DecodeError('too_large', `The request holds more than ${max} ${what}; send smaller batches`);
}
