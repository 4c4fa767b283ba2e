import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, type Column, FIELDS, type SqlType } from '../base/index.ts';
import { ByteWriter, type Place } from './byte-writer.ts';
import { cleanText } from './clean-text.ts';
import type { Scalar } from './coerce.ts';
import { positionOf } from './columns.ts';
import { uuidOfHex } from './ids.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import { type Cell, SpanCells } from './span-cells.ts';
import { JSON_COLUMNS, SpanJson } from './span-json.ts';
import { hrTimeToIso, hrTimeToPostgres } from './time.ts';

/** Header of the binary format of COPY: signature, flags, and the length of an unused extension. */
export const BINARY_HEADER: Buffer = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** End of the data: -1 where a row has its number of fields. */
export const BINARY_TRAILER: Buffer = Buffer.from([0xff, 0xff]);

/** Length of a null field. */
const NULL = -1;
const UUID_BYTES = 16;
const HYPHEN = 0x2d;
/** `jsonb` is sent as text after the number of its format. */
const JSONB_VERSION = 1;

interface ScalarColumn {
  readonly position: number;
  readonly sqlType: Exclude<SqlType, 'jsonb'>;
}

/** Columns other than JSON, in the order of the table. */
const SCALAR_COLUMNS: readonly ScalarColumn[] = FIELDS.flatMap(({ sqlType }, position) =>
  sqlType === 'jsonb' ? [] : [{ sqlType, position }],
);

/** The columns of a binary row, in its order. */
export const BINARY_COLUMNS: readonly Column[] = [
  ...SCALAR_COLUMNS.map(({ position }) => COLUMNS[position] as Column),
  ...JSON_COLUMNS,
];

/** What was changed to make a row of a span. */
interface Changes {
  /** Whether the row names values that were replaced by ones that can be stored. */
  readonly isSanitized: boolean;
  /** Whether the row names values that were cut. */
  readonly isTruncated: boolean;
}

/** A row in the binary format of COPY. */
export interface BinaryRow extends Changes {
  /** Its bytes, which stay valid when later spans are encoded. */
  readonly place: Place;
}

/** A row as values, JSON columns as text. */
export interface RowValues extends Changes {
  /** By position of the column. */
  readonly values: readonly (Scalar | null)[];
}

/**
 * Encodes spans as rows of `mcp_traces`, in the binary format of COPY or as values. Both forms have the same cells and
 * the same marks. JSON columns come last, because `attributes` lists what was changed in the others.
 */
export class RowEncoder {
  readonly #cells: SpanCells;
  readonly #out = new ByteWriter();
  readonly #json: SpanJson;

  constructor(limits: ResolvedRowLimits) {
    this.#cells = new SpanCells(limits);
    this.#json = new SpanJson(this.#cells, this.#out);
  }

  /**
   * Encodes straight from the span to the bytes that are sent: the number of fields, then for each its length and
   * bytes, integers big-endian (PostgreSQL documentation, "COPY", "Binary Format").
   * @throws ObservatoryError `INVALID_INPUT` for a span without a valid id.
   */
  binary(span: ReadableSpan): BinaryRow {
    const out = this.#out;
    const { values } = this.#cells;
    this.#cells.read(span);
    out.begin();
    out.int16(BINARY_COLUMNS.length);
    for (let i = 0; i < SCALAR_COLUMNS.length; i += 1) {
      const column = SCALAR_COLUMNS[i] as ScalarColumn;
      const value = values[column.position] as Cell;
      if (value === null) out.int32(NULL);
      else this.#binaryCell(value, column);
    }
    for (const column of JSON_COLUMNS) {
      const lengthAt = out.length;
      out.int32(0);
      out.byte(JSONB_VERSION);
      this.#json.write(column, span);
      out.lengthAt(lengthAt);
    }
    return { place: out.place, ...this.#changes() };
  }

  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  values(span: ReadableSpan): RowValues {
    const out = this.#out;
    this.#cells.read(span);
    const values: (Scalar | null)[] = COLUMNS.map(() => null);
    for (const { position, sqlType } of SCALAR_COLUMNS) {
      const value = this.#cells.values[position] as Cell;
      if (value !== null) values[position] = this.#valueOf(value, position, sqlType);
    }
    for (const column of JSON_COLUMNS) {
      out.begin();
      this.#json.write(column, span);
      values[positionOf(column)] = out.record.toString();
    }
    return { values, ...this.#changes() };
  }

  #changes(): Changes {
    const { sanitized, truncated } = this.#cells.marks;
    return { isSanitized: sanitized.size > 0, isTruncated: truncated.size > 0 };
  }

  #sanitized(position: number): void {
    this.#cells.marks.sanitize(this.#cells.names[position] as string);
  }

  #valueOf(value: Scalar | HrTime, position: number, sqlType: ScalarColumn['sqlType']): Scalar {
    if (sqlType === 'uuid') return uuidOfHex(value as string);
    if (sqlType === 'timestamptz') return hrTimeToIso(value as HrTime);
    if (sqlType !== 'text') return value as Scalar;
    const clean = cleanText(value as string);
    if (clean !== value) this.#sanitized(position);
    return clean;
  }

  #binaryCell(value: Scalar | HrTime, { position, sqlType }: ScalarColumn): void {
    const out = this.#out;
    switch (sqlType) {
      case 'text': {
        const lengthAt = out.length;
        out.int32(0);
        if (out.text(value as string)) this.#sanitized(position);
        out.lengthAt(lengthAt);
        break;
      }
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

  /** 32 hex digits, hyphens skipped; 16 digits fill the second half. */
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

/** The value of a lower-case hex digit. */
function digitAt(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code <= 0x39 ? code - 0x30 : code - 0x57;
}
