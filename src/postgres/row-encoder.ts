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
/** `jsonb` is sent as text after the number of its format. */
const JSONB_VERSION = '\x01';

interface ScalarColumn {
  readonly position: number;
  readonly sqlType: Exclude<SqlType, 'jsonb'>;
}

/** Columns other than JSON, in the order of the table. */
const SCALAR_COLUMNS: readonly ScalarColumn[] = FIELDS.flatMap(({ sqlType }, position) =>
  sqlType === 'jsonb' ? [] : [{ sqlType, position }],
);
const FIXED_COLUMNS = SCALAR_COLUMNS.filter(({ sqlType }) => sqlType !== 'text');
const TEXT_COLUMNS = SCALAR_COLUMNS.filter(({ sqlType }) => sqlType === 'text');

/** The columns of a binary row, in its order: texts and JSON come last, because they are written at once. */
export const BINARY_COLUMNS: readonly Column[] = [
  ...[...FIXED_COLUMNS, ...TEXT_COLUMNS].map(({ position }) => COLUMNS[position] as Column),
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
  /** Of text columns, then of JSON columns. */
  readonly #texts: (string | null)[] = [...TEXT_COLUMNS, ...JSON_COLUMNS].map(() => null);

  constructor(limits: ResolvedRowLimits) {
    this.#cells = new SpanCells(limits);
    this.#json = new SpanJson(this.#cells);
  }

  /**
   * Encodes straight from the span to the bytes that are sent: the number of fields, then for each its length and
   * bytes, integers big-endian (PostgreSQL documentation, "COPY", "Binary Format").
   * @throws ObservatoryError `INVALID_INPUT` for a span without a valid id.
   */
  binary(span: ReadableSpan): BinaryRow {
    const out = this.#out;
    out.begin();
    this.#fill(span, false);
    if (!out.texts(this.#texts)) {
      // Texts of cells have to be changed, which is rare: searching each of them would cost more than to begin again.
      out.restart();
      this.#fill(span, true);
      out.texts(this.#texts);
    }
    const { sanitized, truncated } = this.#cells.marks;
    return { place: out.place, isSanitized: sanitized.size > 0, isTruncated: truncated.size > 0 };
  }

  /** Writes what has a fixed size, and collects the texts. */
  #fill(span: ReadableSpan, isCleaning: boolean): void {
    const out = this.#out;
    const { values } = this.#cells;
    const texts = this.#texts;
    this.#cells.read(span);
    out.int16(BINARY_COLUMNS.length);
    for (let i = 0; i < FIXED_COLUMNS.length; i += 1) {
      const column = FIXED_COLUMNS[i] as ScalarColumn;
      const value = values[column.position] as Cell;
      if (value === null) out.int32(NULL);
      else this.#fixedCell(value, column.sqlType);
    }
    for (let i = 0; i < TEXT_COLUMNS.length; i += 1) {
      const { position } = TEXT_COLUMNS[i] as ScalarColumn;
      const value = values[position] as string | null;
      texts[i] = isCleaning && value !== null ? this.#clean(value, position) : value;
    }
    for (let i = 0; i < JSON_COLUMNS.length; i += 1) {
      const json = this.#json.of(JSON_COLUMNS[i] as (typeof JSON_COLUMNS)[number], span);
      texts[TEXT_COLUMNS.length + i] = JSONB_VERSION + json;
    }
  }

  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  values(span: ReadableSpan): RowValues {
    this.#cells.read(span);
    const values: (Scalar | null)[] = COLUMNS.map(() => null);
    for (const { position, sqlType } of SCALAR_COLUMNS) {
      const value = this.#cells.values[position] as Cell;
      if (value !== null) values[position] = this.#valueOf(value, position, sqlType);
    }
    for (const column of JSON_COLUMNS) values[positionOf(column)] = this.#json.of(column, span);
    const { sanitized, truncated } = this.#cells.marks;
    return { values, isSanitized: sanitized.size > 0, isTruncated: truncated.size > 0 };
  }

  #clean(text: string, position: number): string {
    const clean = cleanText(text);
    if (clean !== text) this.#cells.marks.sanitize(this.#cells.nameBehind(position));
    return clean;
  }

  #valueOf(value: Scalar | HrTime, position: number, sqlType: ScalarColumn['sqlType']): Scalar {
    if (sqlType === 'uuid') return uuidOfHex(value as string);
    if (sqlType === 'timestamptz') return hrTimeToIso(value as HrTime);
    if (sqlType !== 'text') return value as Scalar;
    return this.#clean(value as string, position);
  }

  #fixedCell(value: Scalar | HrTime, sqlType: ScalarColumn['sqlType']): void {
    const out = this.#out;
    switch (sqlType) {
      case 'uuid':
        out.int32(16);
        out.uuid(value as string);
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
}
