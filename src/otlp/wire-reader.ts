import { malformed } from './decode-error.ts';
import { KeyCache } from './key-cache.ts';

/** Wire types of protobuf. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

/** Groups are deprecated, but a reader must be able to skip them. */
const MAX_GROUP_DEPTH = 100;

const TWO_32 = 4_294_967_296;

const keys = new KeyCache();

/** The tag of a field with a varint, as {@link WireReader.tag} gives it. */
export const varintTag = (field: number): number => (field << 3) | VARINT;
export const fixed64Tag = (field: number): number => (field << 3) | FIXED64;
export const bytesTag = (field: number): number => (field << 3) | BYTES;
export const fixed32Tag = (field: number): number => (field << 3) | FIXED32;

/**
 * Reads the wire format of protobuf from a buffer, without copying. A message is read by a loop over its tags up to its
 * end; every read is checked against the end of the message it belongs to. All methods throw a `DecodeError`.
 */
export class WireReader {
  readonly bytes: Buffer;
  /** Offset of the next read. */
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The number and wire type of the next field. */
  tag(end: number): number {
    const tag = this.uint32(end);
    if (tag >>> 3 === 0) throw malformed(`Field number 0 at byte ${this.at}`);
    return tag;
  }

  /** A length-delimited field; returns where it ends. */
  length(end: number): number {
    const length = this.#varint(end);
    const to = this.at + length;
    if (to > end) throw malformed(`A field of ${length} bytes at byte ${this.at} ends behind its message`);
    return to;
  }

  /** UTF-8; what is not is replaced by U+FFFD. */
  string(end: number): string {
    const to = this.length(end);
    const text = this.bytes.toString('utf8', this.at, to);
    this.at = to;
    return text;
  }

  /** As {@link string}, for texts that come again and again. */
  name(end: number): string {
    const to = this.length(end);
    const text = keys.text(this.bytes, this.at, to);
    this.at = to;
    return text;
  }

  /** Bytes as lower-case hex digits. */
  hex(end: number): string {
    const to = this.length(end);
    const text = this.bytes.toString('hex', this.at, to);
    this.at = to;
    return text;
  }

  /** Bytes, copied, so that a small value does not keep a large request in memory. */
  copyOfBytes(end: number): Uint8Array {
    const to = this.length(end);
    const copy = new Uint8Array(to - this.at);
    copy.set(this.bytes.subarray(this.at, to));
    this.at = to;
    return copy;
  }

  double(end: number): number {
    this.#need(8, end);
    const value = this.bytes.readDoubleLE(this.at);
    this.at += 8;
    return value;
  }

  fixed32(end: number): number {
    this.#need(4, end);
    const value = this.bytes.readUInt32LE(this.at);
    this.at += 4;
    return value;
  }

  /** A varint truncated to its lower 32 bits, as protobuf requires. */
  uint32(end: number): number {
    return this.#varint(end) % TWO_32;
  }

  /** A signed 64-bit varint: a number if exact as a double, else a bigint. */
  int64(end: number): number | bigint {
    const start = this.at;
    const value = this.#varint(end);
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    const exact = BigInt.asIntN(64, this.#bigVarint(start));
    const number = Number(exact);
    return BigInt(number) === exact ? number : exact;
  }

  /** Skips an unknown field. */
  skip(tag: number, end: number): void {
    let depth = 0;
    for (let next = tag; ; next = this.tag(end)) {
      const wire = next & 7;
      if (wire === GROUP) depth += 1;
      else if (wire === END_GROUP) depth -= 1;
      else this.#skipValue(wire, end);
      if (depth === 0) return;
      if (depth < 0 || depth > MAX_GROUP_DEPTH)
        throw malformed(`A group at byte ${this.at} has no beginning`);
    }
  }

  #skipValue(wire: number, end: number): void {
    if (wire === VARINT) this.#varint(end);
    else if (wire === FIXED64) this.#advance(8, end);
    else if (wire === BYTES) this.at = this.length(end);
    else if (wire === FIXED32) this.#advance(4, end);
    else throw malformed(`Wire type ${wire} at byte ${this.at} does not exist`);
  }

  #advance(count: number, end: number): void {
    this.#need(count, end);
    this.at += count;
  }

  #need(count: number, end: number): void {
    if (this.at + count > end) throw malformed(`The message ends within a value at byte ${this.at}`);
  }

  /** Exact up to 2^53; larger values are only known to be larger. */
  #varint(end: number): number {
    const { bytes } = this;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count += 1) {
      if (this.at >= end) throw malformed(`The message ends within a number at byte ${this.at}`);
      const byte = bytes[this.at] as number;
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw malformed(`A number at byte ${this.at} has more than 10 bytes`);
  }

  #bigVarint(start: number): bigint {
    let value = 0n;
    for (let at = start; at < this.at; at += 1) {
      value |= BigInt((this.bytes[at] as number) & 0x7f) << BigInt(7 * (at - start));
    }
    return value;
  }
}
