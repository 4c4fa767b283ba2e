import { hash } from 'node:crypto';

/** Zero bytes after a text, so that scanners may read whole words past its end and stop at the first zero. */
export const PADDING = 64;

/** Larger buffers are released after use, so that one huge prompt does not stay in memory. */
const RETAINED_BYTES = 4 * 1024 * 1024;

const INITIAL_BYTES = 16 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * A text as UTF-8 in a reused buffer: the scanners of this folder read bytes, four at a time, and the hashes are
 * computed over bytes. Lone surrogates become U+FFFD, as everywhere in Node.
 */
export class Utf8Text {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(INITIAL_BYTES);
  /** The same bytes for unaligned 4-byte reads; always little-endian. */
  view: DataView<ArrayBuffer> = new DataView(this.bytes.buffer);
  /** Bytes of the text. */
  length = 0;
  /** Whether every character is below U+0080. */
  ascii = true;

  /** Replaces the text. */
  encode(text: string): this {
    this.reserve(text.length);
    let { read, written } = encoder.encodeInto(text, this.bytes);
    if (read < text.length || written + PADDING > this.bytes.length) {
      this.reserve(Buffer.byteLength(text));
      ({ read, written } = encoder.encodeInto(text, this.bytes));
    }
    this.ascii = written === text.length;
    this.end(written);
    return this;
  }

  /** Makes room for `size` bytes and keeps the content. */
  reserve(size: number): void {
    const needed = size + PADDING;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.bytes.length));
    grown.set(this.bytes);
    this.bytes = grown;
    this.view = new DataView(grown.buffer);
  }

  /** Declares the text to be the first `length` bytes. There must be room for the padding. */
  end(length: number): void {
    this.length = length;
    this.bytes.fill(0, length, length + PADDING);
  }

  /** SHA-256 of the text, in lower-case hex. */
  sha256(): string {
    return hash('sha256', this.bytes.subarray(0, this.length), 'hex');
  }

  /** Code points of the text, as `promptSizeChars` counts them: every byte except continuation bytes. */
  codePoints(): number {
    if (this.ascii) return this.length;
    let continuations = 0;
    for (let i = 0; i < this.length; i += 4) {
      const word = this.view.getInt32(i, true);
      // A continuation byte is 10xxxxxx; the product gathers the four marks in the top byte.
      const marks = ((word >>> 7) & ~(word >>> 6) & 0x01010101) >>> 0;
      continuations += Math.imul(marks, 0x01010101) >>> 24;
    }
    return this.length - continuations;
  }

  toString(): string {
    return decoder.decode(this.bytes.subarray(0, this.length));
  }

  /** Releases an oversized buffer. */
  release(): void {
    if (this.bytes.length <= RETAINED_BYTES) return;
    this.bytes = new Uint8Array(INITIAL_BYTES);
    this.view = new DataView(this.bytes.buffer);
    this.length = 0;
  }
}
