/** How long a server may ask a client to wait before it opens an event stream again, in milliseconds. */
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 300_000;

const NAME = Buffer.from('retry:');
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** More digits than any number that counts has. */
const MAX_VALUE_CHARS = 20;

/**
 * Bounds the `retry` fields of an event stream. The SDKs give their value to a timer as it is: 0 makes them ask again
 * without a pause, and so does more than 2^31, for which Node warns on stderr each time.
 *
 * Bytes are held from the start of a line for as long as it may be such a field, also across chunks.
 */
export class RetryField {
  /** Bytes of the name that the line has had so far. */
  #matched = 0;
  #value = '';
  #markBytes = 0;
  /** Whether the next byte of the line is to be given to {@link take}. */
  isHolding = true;

  /** The most bytes that come of a chunk: `retry:0` becomes longer, and a line may be held since an earlier one. */
  static mostBytes(chunkBytes: number): number {
    return 2 * chunkBytes + 2 * NAME.length + MAX_VALUE_CHARS;
  }

  /** Takes a byte of a line that may be a `retry` field. @returns the length of `text` afterwards. */
  take(byte: number, text: Uint8Array, length: number): number {
    // The decoder drops a mark at the start of the stream, and the field begins behind it.
    if (byte === BYTE_ORDER_MARK[this.#markBytes]) {
      this.#markBytes += 1;
      return length;
    }
    this.#markBytes = BYTE_ORDER_MARK.length;
    if (this.#matched === NAME.length) {
      if (this.#value.length < MAX_VALUE_CHARS) this.#value += String.fromCharCode(byte);
      return length;
    }
    if (byte === NAME[this.#matched]) {
      this.#matched += 1;
      return length;
    }
    const end = this.#giveName(text, length);
    text[end] = byte;
    this.isHolding = false;
    return end + 1;
  }

  /** Gives what was held of a line that has ended, without its line end. */
  endLine(text: Uint8Array, length: number): number {
    let end = this.#giveName(text, length);
    // The parsers ignore a value that is anything else than digits.
    if (/^ ?\d+$/.test(this.#value)) {
      const bounded = Math.min(Math.max(Number(this.#value), MIN_RETRY_MS), MAX_RETRY_MS);
      for (const char of String(bounded)) text[end++] = char.charCodeAt(0);
    }
    this.#value = '';
    this.isHolding = true;
    return end;
  }

  #giveName(text: Uint8Array, length: number): number {
    for (let at = 0; at < this.#matched; at += 1) text[length + at] = NAME[at] as number;
    const end = length + this.#matched;
    this.#matched = 0;
    return end;
  }
}
