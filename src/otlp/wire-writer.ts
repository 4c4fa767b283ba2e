import type { HrTime } from '@opentelemetry/api';
import { bytesTag, fixed32Tag, fixed64Tag, varintTag } from './wire-reader.ts';

/** Bytes reserved for the length of a message, which is known only at its end: a varint may have leading zeros. */
const LENGTH_BYTES = 4;

/** Writes the wire format of protobuf into a buffer that grows. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(16 * 1024);
  #at = 0;

  /** The written bytes; valid until the next write. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  /** @returns the start of the message, for `close`. */
  open(field: number): number {
    this.#tag(bytesTag(field));
    this.#room(LENGTH_BYTES);
    this.#at += LENGTH_BYTES;
    return this.#at;
  }

  close(start: number): void {
    let length = this.#at - start;
    for (let i = LENGTH_BYTES; i > 1; i -= 1) {
      this.#bytes[start - i] = (length & 0x7f) | 0x80;
      length >>>= 7;
    }
    this.#bytes[start - 1] = length;
  }

  varint(field: number, value: number): void {
    this.#tag(varintTag(field));
    this.#uint32(value);
  }

  int64(field: number, value: bigint): void {
    this.#tag(varintTag(field));
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#byte(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.#byte(Number(rest));
  }

  fixed32(field: number, value: number): void {
    this.#tag(fixed32Tag(field));
    this.#room(4);
    this.#at = this.#bytes.writeUInt32LE(value >>> 0, this.#at);
  }

  double(field: number, value: number): void {
    this.#tag(fixed64Tag(field));
    this.#room(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Nanoseconds since 1970. */
  time(field: number, [seconds, nanos]: HrTime): void {
    this.#tag(fixed64Tag(field));
    this.#room(8);
    const whole = BigInt(Math.trunc(seconds)) * 1_000_000_000n + BigInt(Math.trunc(nanos));
    this.#at = this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, whole < 0n ? 0n : whole), this.#at);
  }

  string(field: number, text: string): void {
    if (text.length > 40) {
      this.bytes(field, Buffer.from(text));
      return;
    }
    // At most 120 bytes, so that the length takes one.
    this.#tag(bytesTag(field));
    this.#room(1 + 3 * text.length);
    const length = this.#bytes.write(text, this.#at + 1);
    this.#bytes[this.#at] = length;
    this.#at += 1 + length;
  }

  hex(field: number, digits: string): void {
    this.#tag(bytesTag(field));
    this.#room(1 + digits.length);
    const length = this.#bytes.write(digits.slice(0, 200), this.#at + 1, 'hex');
    this.#bytes[this.#at] = length;
    this.#at += 1 + length;
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(bytesTag(field));
    this.#uint32(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  #tag(tag: number): void {
    this.#uint32(tag);
  }

  #uint32(value: number): void {
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.#byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.#byte(rest);
  }

  #byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
