import { cleanText } from './clean-text.ts';

const SLAB_BYTES = 256 * 1024;

/** Kept free after each text and piece of JSON: more than the fixed-size values of a row need. */
const SPARE_BYTES = 4096;

/** Texts up to this length are written by character: a call into native code costs more. */
const SHORT_TEXT = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const DIGIT_0 = 0x30;
const HEX = Buffer.from('0123456789abcdef', 'latin1');

/** Second character of two-character JSON escapes, by the escaped code. */
const SHORT_ESCAPES: ReadonlyMap<number, number> = new Map(
  ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\'].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]),
);

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

  /** Of any length. */
  bytes(value: Uint8Array): void {
    this.reserve(value.length);
    this.#slab.set(value, this.#at);
    this.#at += value.length;
  }

  /** Of any length, and well-formed. */
  utf8(text: string): void {
    // The maximum that UTF-8 may need; long texts are measured.
    this.reserve(text.length <= SLAB_BYTES / 8 ? 3 * text.length : Buffer.byteLength(text));
    this.#at += this.#slab.write(text, this.#at);
  }

  /** A finite number, in digits. */
  digits(value: number): void {
    if (value >= 0 && value <= 9 && Number.isInteger(value)) this.byte(DIGIT_0 + value);
    else this.#shortAscii(String(value));
  }

  /** A text of any length, cleaned. @returns whether that changed it. */
  text(text: string): boolean {
    if (text.length <= SHORT_TEXT && this.#shortAscii(text)) return false;
    const clean = cleanText(text);
    this.utf8(clean);
    return clean !== text;
  }

  /** Text of any length as a JSON string, cleaned. @returns whether that changed it. */
  jsonText(text: string): boolean {
    if (text.length <= SHORT_TEXT && this.#shortJson(text)) return false;
    const clean = cleanText(text);
    this.utf8(JSON.stringify(clean));
    return clean !== text;
  }

  /** Text as a JSON string if it is clean. @returns false, with nothing written, if it is not. */
  cleanJsonText(text: string): boolean {
    if (text.length <= SHORT_TEXT && this.#shortJson(text)) return true;
    if (cleanText(text) !== text) return false;
    this.utf8(JSON.stringify(text));
    return true;
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

  /** ASCII text without NUL as a JSON string. @returns false, with nothing written, if it is not. */
  #shortJson(text: string): boolean {
    this.reserve(6 * text.length + 2);
    const slab = this.#slab;
    let at = this.#at;
    slab[at] = QUOTE;
    at += 1;
    const length = text.length;
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(i);
      if (code === 0 || code > 0x7f) return false;
      if (code >= 0x20 && code !== QUOTE && code !== BACKSLASH) {
        slab[at] = code;
        at += 1;
      } else {
        at = writeEscape(slab, at, code);
      }
    }
    slab[at] = QUOTE;
    this.#at = at + 1;
    return true;
  }
}

/** @returns the position after the escape. */
function writeEscape(slab: Buffer, at: number, code: number): number {
  slab[at] = BACKSLASH;
  const short = SHORT_ESCAPES.get(code);
  if (short !== undefined) {
    slab[at + 1] = short;
    return at + 2;
  }
  slab[at + 1] = 0x75;
  slab[at + 2] = 0x30;
  slab[at + 3] = 0x30;
  slab[at + 4] = HEX[code >> 4] ?? 0;
  slab[at + 5] = HEX[code & 0xf] ?? 0;
  return at + 6;
}
