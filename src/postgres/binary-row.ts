import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, type Column, FIELDS } from '../base/index.ts';
import { ByteWriter, type Place } from './byte-writer.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import { type Cell, SpanCells } from './span-cells.ts';
import { JSON_COLUMNS, SpanJson } from './span-json.ts';
import { hrTimeToPostgres } from './time.ts';

/**
 * Spans in the binary format of COPY: PostgreSQL documentation, "COPY", "Binary Format". A row is the number of its
 * fields, then for each its length (-1 for null) and its bytes, integers big-endian.
 */

/** Signature, flags and the length of an extension, which nothing uses. */
export const BINARY_HEADER: Buffer = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** The number of fields that no row has. */
export const BINARY_TRAILER: Buffer = Buffer.from([0xff, 0xff]);

const NULL = -1;
const UUID_BYTES = 16;
const HYPHEN = 0x2d;
/** `jsonb` is sent as text behind the number of its format. */
const JSONB_VERSION = 1;

/** Columns with a value of their own, in the order of the table. */
const SCALAR_COLUMNS = FIELDS.flatMap(({ sqlType }, position) =>
  sqlType === 'jsonb' ? [] : [{ sqlType, position }],
);

/** The columns in the order in which a row has them. */
export const BINARY_COLUMNS: readonly Column[] = [
  ...SCALAR_COLUMNS.map(({ position }) => COLUMNS[position] as Column),
  ...JSON_COLUMNS,
];

/** One row, and whether it says that something of the span was changed. */
export interface BinaryRow {
  /** Its bytes, which stay valid when later spans are encoded. */
  readonly place: Place;
  readonly isSanitized: boolean;
  readonly isTruncated: boolean;
}

/** Encodes spans as rows, straight from the span to the bytes that are sent. */
export class BinaryRowEncoder {
  readonly #cells: SpanCells;
  readonly #out = new ByteWriter();
  readonly #json: SpanJson;

  constructor(limits: ResolvedRowLimits) {
    this.#cells = new SpanCells(limits);
    this.#json = new SpanJson(this.#cells, this.#out);
  }

  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  encode(span: ReadableSpan): BinaryRow {
    const cells = this.#cells;
    const out = this.#out;
    cells.read(span);
    out.begin();
    out.int16(BINARY_COLUMNS.length);
    for (let i = 0; i < SCALAR_COLUMNS.length; i += 1) {
      const { position, sqlType } = SCALAR_COLUMNS[i] as (typeof SCALAR_COLUMNS)[number];
      const value = cells.values[position] as Cell;
      if (value === null) out.int32(NULL);
      else if (sqlType === 'text') this.#text(value as string, position);
      else this.#fixed(value, sqlType);
    }
    for (const column of JSON_COLUMNS) {
      const lengthAt = out.length;
      out.int32(0);
      out.byte(JSONB_VERSION);
      this.#json.write(column, span);
      out.lengthAt(lengthAt);
    }
    const { sanitized, truncated } = cells.marks;
    return { place: out.place, isSanitized: sanitized.size > 0, isTruncated: truncated.size > 0 };
  }

  #text(text: string, position: number): void {
    const out = this.#out;
    const lengthAt = out.length;
    out.int32(0);
    if (out.text(text)) this.#cells.marks.sanitize(this.#cells.names[position] as string);
    out.lengthAt(lengthAt);
  }

  /** A value whose size its type tells. */
  #fixed(value: Cell, sqlType: Exclude<(typeof SCALAR_COLUMNS)[number]['sqlType'], 'text'>): void {
    const out = this.#out;
    switch (sqlType) {
      case 'uuid':
        this.#uuid(value as string);
        break;
      case 'timestamptz': {
        const [high, low] = hrTimeToPostgres(value as HrTime);
        out.int32(8);
        out.int32(high);
        out.int32(low);
        break;
      }
      case 'integer':
        out.int32(4);
        out.int32(value as number);
        break;
      case 'double precision':
        out.int32(8);
        out.double(value as number);
        break;
      case 'boolean':
        out.int32(1);
        out.byte(value ? 1 : 0);
        break;
    }
  }

  /** 32 hex digits, hyphens passed over; 16 stand in the second half. */
  #uuid(hex: string): void {
    const out = this.#out;
    out.int32(UUID_BYTES);
    for (let bytes = hex.length >> 1; bytes < UUID_BYTES; bytes += 1) out.byte(0);
    for (let i = 0; i < hex.length; i += 2) {
      if (hex.charCodeAt(i) === HYPHEN) i += 1;
      out.byte((digitAt(hex, i) << 4) | digitAt(hex, i + 1));
    }
  }
}

/** Of lower-case hex. */
function digitAt(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code <= 0x39 ? code - 0x30 : code - 0x57;
}
