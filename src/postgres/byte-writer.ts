import { cleanText } from './clean-text.ts';
import { HEX_DIGITS } from './ids.ts';

const SLAB_BYTES = 256 * 1024;

/** Kept free after each text and piece of JSON: more than the fixed-size values of a row need. */
const SPARE_BYTES = 4096;

/** Texts up to this length are written by character: a call into native code costs more. */
const SHORT_TEXT = 128;

/** Texts of a row up to this length are joined. */
const LONG_TEXTS = 16_384;

/** Four characters that UTF-8 writes as four bytes, where a length will stand. */
const LENGTH_GAP = '\x01\x01\x01\x01';
const NULL_LENGTH = -1;

const UUID_BYTES = 16;
const HYPHEN = 0x2d;

/** Bytes within a larger buffer. */
export interface Place {
  readonly slab: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The bytes of these places in their order; adjacent places become one buffer. */
export function joinPlaces(places: readonly Place[]): Buffer[] {
  const buffers: Buffer[] = [];
  for (let i = 0; i < places.length; ) {
    const { slab, start, end: firstEnd } = places[i] as Place;
    let end = firstEnd;
    for (i += 1; places[i]?.slab === slab && places[i]?.start === end; i += 1) end = places[i]?.end ?? end;
    buffers.push(slab.subarray(start, end));
  }
  return buffers;
}

/**
 * Writes records consecutively into large buffers, because a buffer per record would cost more than its content. A
 * record is contiguous and stays valid when later ones are written.
 *
 * Methods that write a fixed number of bytes need no call of {@link reserve} as long as a record has fewer than 4,096
 * such bytes between two texts.
 */
export class ByteWriter {
  #slab: Buffer = Buffer.alloc(0);
  #start = 0;
  #at = 0;

  /** Begins a record. */
  begin(): void {
    this.#start = this.#at;
    this.reserve(0);
  }

  /** The current record, so far. */
  get record(): Buffer {
    return this.#slab.subarray(this.#start, this.#at);
  }

  /** Begins the current record again. */
  restart(): void {
    this.#at = this.#start;
  }

  /** The place of the current record, so far, which is cheaper than a view of it. */
  get place(): Place {
    return { slab: this.#slab, start: this.#start, end: this.#at };
  }

  /** Bytes of the current record, so far. */
  get length(): number {
    return this.#at - this.#start;
  }

  /** Makes room; the current record moves to a new buffer when this one is full. */
  reserve(bytes: number): void {
    if (this.#at + bytes + SPARE_BYTES <= this.#slab.length) return;
    const begun = this.record;
    this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, 2 * (begun.length + bytes + SPARE_BYTES)));
    begun.copy(this.#slab);
    this.#at = begun.length;
    this.#start = 0;
  }

  byte(value: number): void {
    this.#slab[this.#at] = value;
    this.#at += 1;
  }

  int16(value: number): void {
    this.byte(value >> 8);
    this.byte(value);
  }

  /** Without the methods of Buffer, which check their arguments: most of a row is nulls and lengths. */
  int32(value: number): void {
    const slab = this.#slab;
    const at = this.#at;
    slab[at] = value >> 24;
    slab[at + 1] = value >> 16;
    slab[at + 2] = value >> 8;
    slab[at + 3] = value;
    this.#at = at + 4;
  }

  /** With the lowest byte first. */
  int32LE(value: number): void {
    const slab = this.#slab;
    const at = this.#at;
    slab[at] = value;
    slab[at + 1] = value >> 8;
    slab[at + 2] = value >> 16;
    slab[at + 3] = value >> 24;
    this.#at = at + 4;
  }

  doubleLE(value: number): void {
    this.#at = this.#slab.writeDoubleLE(value, this.#at);
  }

  double(value: number): void {
    this.#at = this.#slab.writeDoubleBE(value, this.#at);
  }

  /** Fills in the length of all bytes after `position`, where four bytes were reserved for it. */
  lengthAt(position: number): void {
    const end = this.#at;
    this.#at = this.#start + position;
    this.int32(end - this.#at - 4);
    this.#at = end;
  }

  /** The same as a LEB128 number, which may be padded: 28 bits in four bytes. */
  lengthAsLeb128At(position: number): void {
    const end = this.#at;
    const at = this.#start + position;
    const length = end - at - 4;
    const slab = this.#slab;
    slab[at] = length | 0x80;
    slab[at + 1] = (length >> 7) | 0x80;
    slab[at + 2] = (length >> 14) | 0x80;
    slab[at + 3] = (length >> 21) & 0x7f;
  }

  /** Writes bytes of any length. */
  bytes(value: Uint8Array): void {
    this.reserve(value.length);
    this.#slab.set(value, this.#at);
    this.#at += value.length;
  }

  /** Writes a well-formed text of any length. */
  utf8(text: string): void {
    // The maximum that UTF-8 may need; long texts are measured.
    this.reserve(text.length <= SLAB_BYTES / 8 ? 3 * text.length : Buffer.byteLength(text));
    this.#at += this.#slab.write(text, this.#at);
  }

  /** A text of any length, cleaned. @returns whether that changed it. */
  text(text: string): boolean {
    if (text.length <= SHORT_TEXT && this.#shortAscii(text)) return false;
    const clean = cleanText(text);
    this.utf8(clean);
    return clean !== text;
  }

  /**
   * Texts, each after its length in four bytes, null as the length -1. They are joined and written at once, since a call
   * into native code costs as much as a hundred characters.
   * @returns false, with nothing written, if one of them is not clean.
   */
  texts(texts: readonly (string | null)[]): boolean {
    let length = 0;
    for (let i = 0; i < texts.length; i += 1) length += texts[i]?.length ?? 0;
    if (length > LONG_TEXTS) {
      if (texts.some((text) => text !== null && cleanText(text) !== text)) return false;
    } else {
      const joined = texts.join(LENGTH_GAP);
      if (cleanText(joined) !== joined) return false;
      if (this.#joined(texts, joined)) return true;
    }
    for (const text of texts) {
      const lengthAt = this.length;
      this.int32(NULL_LENGTH);
      if (text === null) continue;
      this.utf8(text);
      this.lengthAt(lengthAt);
    }
    return true;
  }

  /** @returns false, with nothing written, if not all of it is ASCII: lengths in bytes are not known then. */
  #joined(texts: readonly (string | null)[], joined: string): boolean {
    // The maximum that UTF-8 may need.
    this.reserve(4 + 3 * joined.length);
    if (this.#slab.write(joined, this.#at + 4) !== joined.length) return false;
    for (let i = 0; i < texts.length; i += 1) {
      const length = texts[i]?.length;
      this.int32(length ?? NULL_LENGTH);
      this.#at += length ?? 0;
    }
    return true;
  }

  /** 32 hex digits, hyphens skipped; 16 digits fill the second half. */
  uuid(hex: string): void {
    const slab = this.#slab;
    let at = this.#at;
    for (let bytes = hex.length >> 1; bytes < UUID_BYTES; bytes += 1, at += 1) slab[at] = 0;
    for (let i = 0; i < hex.length; i += 2, at += 1) {
      if (hex.charCodeAt(i) === HYPHEN) i += 1;
      const high = HEX_DIGITS[hex.charCodeAt(i)] as number;
      slab[at] = (high << 4) | (HEX_DIGITS[hex.charCodeAt(i + 1)] as number);
    }
    this.#at = at;
  }

  /** ASCII text without NUL. @returns false, with nothing written, if it is not. */
  #shortAscii(text: string): boolean {
    this.reserve(text.length);
    const slab = this.#slab;
    const at = this.#at;
    const length = text.length;
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i);
      if (code === 0 || code > 0x7f) return false;
      slab[at + i] = code;
    }
    this.#at = at + length;
    return true;
  }
}
