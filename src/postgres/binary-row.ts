import { FIELDS, type SqlType, type TraceRow } from '../fields.ts';
import { isoToPostgresMicros } from './time.ts';

/**
 * Rows in the binary format of COPY: PostgreSQL documentation, "COPY", "Binary Format". A row is the number of its
 * fields, then for each its length (-1 for null) and its bytes, integers big-endian.
 */

/** Signature, flags and the length of an extension, which nothing uses. */
export const BINARY_HEADER: Buffer = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** The number of fields that no row has. */
export const BINARY_TRAILER: Buffer = Buffer.from([0xff, 0xff]);

const SLAB_BYTES = 256 * 1024;
/** Texts up to this length get room for the most bytes UTF-8 may need; longer ones are measured. */
const SHORT_TEXT = 4096;
/** Texts up to this length are written character by character. */
const TINY_TEXT = 20;
/** More than all lengths and all values but texts and JSON of one row take; kept free behind each of those. */
const FIXED_BYTES = 2 + 20 * FIELDS.length;
const UUID_LENGTH = 36;
const HYPHEN = 0x2d;
/** `jsonb` is sent as text behind the number of its format. */
const JSONB_VERSION = 1;

/** JSON text of resources, which all rows of a process share. */
const sharedJson = new WeakMap<object, string>();

/**
 * Encodes rows one behind the other into large buffers: a buffer for each row would cost more than its content. A row
 * stays valid when later ones are encoded.
 */
export class BinaryRowEncoder {
  #slab: Buffer = Buffer.alloc(0);
  #rowStart = 0;
  #at = 0;

  /** The bytes of one row. */
  encode(row: TraceRow): Buffer {
    this.#rowStart = this.#at;
    this.#reserve(FIXED_BYTES);
    this.#slab[this.#at] = FIELDS.length >> 8;
    this.#slab[this.#at + 1] = FIELDS.length & 0xff;
    this.#at += 2;
    for (const { column, sqlType } of FIELDS) {
      const value = row[column];
      if (value === null || value === undefined) this.#int32(-1);
      else if (column === 'resource') this.#jsonb(sharedJsonOf(row.resource));
      else this.#value(value, sqlType);
    }
    return this.#slab.subarray(this.#rowStart, this.#at);
  }

  #value(value: unknown, sqlType: SqlType): void {
    switch (sqlType) {
      case 'text':
        this.#text(value as string);
        break;
      case 'uuid':
        this.#uuid(value as string);
        break;
      case 'timestamptz':
        this.#int32(8);
        this.#at = this.#slab.writeBigInt64BE(isoToPostgresMicros(value as string), this.#at);
        break;
      case 'integer':
        this.#int32(4);
        this.#int32(value as number);
        break;
      case 'double precision':
        this.#int32(8);
        this.#at = this.#slab.writeDoubleBE(value as number, this.#at);
        break;
      case 'boolean':
        this.#int32(1);
        this.#slab[this.#at] = value ? 1 : 0;
        this.#at += 1;
        break;
      case 'jsonb':
        this.#jsonb(JSON.stringify(value));
        break;
    }
  }

  /** By hand, because most of a row is nulls and lengths, and the methods of Buffer check their arguments. */
  #int32(value: number): void {
    const slab = this.#slab;
    const at = this.#at;
    slab[at] = value >> 24;
    slab[at + 1] = value >> 16;
    slab[at + 2] = value >> 8;
    slab[at + 3] = value;
    this.#at = at + 4;
  }

  #uuid(value: string): void {
    this.#int32(16);
    for (let i = 0; i < UUID_LENGTH; i += 2) {
      if (value.charCodeAt(i) === HYPHEN) i += 1;
      this.#slab[this.#at] = (digitAt(value, i) << 4) | digitAt(value, i + 1);
      this.#at += 1;
    }
  }

  #jsonb(json: string): void {
    const lengthAt = this.#reserve(FIXED_BYTES + 1 + mostBytesOf(json));
    this.#slab[lengthAt + 4] = JSONB_VERSION;
    this.#endText(lengthAt, lengthAt + 5 + this.#slab.write(json, lengthAt + 5));
  }

  #text(text: string): void {
    const lengthAt = this.#reserve(FIXED_BYTES + mostBytesOf(text));
    const start = lengthAt + 4;
    const isWritten = text.length <= TINY_TEXT && this.#tinyAscii(text, start);
    this.#endText(lengthAt, start + (isWritten ? text.length : this.#slab.write(text, start)));
  }

  /** A call into the native code of Buffer costs more than a few characters. @returns whether all were ASCII. */
  #tinyAscii(text: string, start: number): boolean {
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return false;
      this.#slab[start + i] = code;
    }
    return true;
  }

  #endText(lengthAt: number, end: number): void {
    this.#at = lengthAt;
    this.#int32(end - lengthAt - 4);
    this.#at = end;
  }

  /** Makes room; the row begun moves on to a new buffer when this one is full. Returns where to write. */
  #reserve(bytes: number): number {
    if (this.#at + bytes > this.#slab.length) {
      const begun = this.#slab.subarray(this.#rowStart, this.#at);
      this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, 2 * (begun.length + bytes)));
      begun.copy(this.#slab);
      this.#at = begun.length;
      this.#rowStart = 0;
    }
    return this.#at;
  }
}

function digitAt(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code <= 0x39 ? code - 0x30 : code - 0x57;
}

function mostBytesOf(text: string): number {
  return text.length <= SHORT_TEXT ? 3 * text.length : Buffer.byteLength(text);
}

function sharedJsonOf(value: object): string {
  let json = sharedJson.get(value);
  if (json === undefined) {
    json = JSON.stringify(value);
    sharedJson.set(value, json);
  }
  return json;
}
