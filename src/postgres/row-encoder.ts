import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS } from '../base/index.ts';
import { ByteWriter, type Place } from './byte-writer.ts';
import { cleanText } from './clean-text.ts';
import type { Scalar } from './coerce.ts';
import {
  ALL_COLUMNS,
  type ColumnList,
  holds,
  SCALAR_COLUMNS,
  type ScalarColumn,
  UsedColumns,
} from './column-list.ts';
import { toPosition } from './columns.ts';
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

/** Changes that were made to fit a span into a row. */
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
  readonly list: ColumnList;
}

/** A row as values, JSON columns as text. */
export interface RowValues extends Changes {
  /** Values by position of the column. */
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
  readonly #used = new UsedColumns();
  #list = ALL_COLUMNS;
  /** Texts of the list's text columns, then of the JSON columns. */
  #texts: (string | null)[] = [];

  constructor(limits: ResolvedRowLimits) {
    this.#cells = new SpanCells(limits);
    this.#json = new SpanJson(this.#cells);
  }

  /** The columns that rows have needed so far; all of them before the first row. */
  get usedColumns(): ColumnList {
    return this.#used.list;
  }

  /**
   * Encodes straight from the span to the bytes that are sent: the number of fields, then for each its length and
   * bytes, integers big-endian (PostgreSQL documentation, "COPY", "Binary Format").
   * @param list the columns of the row; if it needs others, it has all of them.
   * @throws ObservatoryError `INVALID_INPUT` for a span without a valid id.
   */
  binary(span: ReadableSpan, list: ColumnList = ALL_COLUMNS): BinaryRow {
    const out = this.#out;
    out.begin();
    this.#cells.read(span);
    this.#choose(holds(list, this.#cells.values) ? list : ALL_COLUMNS);
    this.#fill(span, false);
    if (!out.texts(this.#texts)) {
      // Texts of cells have to be changed, which is rare: searching each of them would cost more than to begin again.
      out.restart();
      this.#cells.read(span);
      this.#fill(span, true);
      out.texts(this.#texts);
    }
    const { sanitized, truncated } = this.#cells.marks;
    return {
      place: out.place,
      list: this.#list,
      isSanitized: sanitized.size > 0,
      isTruncated: truncated.size > 0,
    };
  }

  #choose(list: ColumnList): void {
    if (list === ALL_COLUMNS) this.#used.add(this.#cells.values);
    if (list === this.#list && this.#texts.length > 0) return;
    this.#list = list;
    this.#texts = Array.from({ length: list.texts.length + JSON_COLUMNS.length }, () => null);
  }

  /** Writes what has a fixed size, and collects the texts. */
  #fill(span: ReadableSpan, isCleaning: boolean): void {
    const out = this.#out;
    const { values } = this.#cells;
    const { columns, fixed, texts } = this.#list;
    out.int16(columns.length);
    for (let i = 0; i < fixed.length; i += 1) {
      const { position, sqlType } = fixed[i] as ScalarColumn;
      const value = values[position] as Cell;
      if (value === null) out.int32(NULL);
      else this.#fixedCell(value, sqlType);
    }
    for (let i = 0; i < texts.length; i += 1) {
      const { position } = texts[i] as ScalarColumn;
      const value = values[position] as string | null;
      this.#texts[i] = isCleaning && value !== null ? this.#clean(value, position) : value;
    }
    for (let i = 0; i < JSON_COLUMNS.length; i += 1) {
      const json = this.#json.of(JSON_COLUMNS[i] as (typeof JSON_COLUMNS)[number], span);
      this.#texts[texts.length + i] = JSONB_VERSION + json;
    }
  }

  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  values(span: ReadableSpan): RowValues {
    this.#cells.read(span);
    const values: (Scalar | null)[] = COLUMNS.map(() => null);
    for (const { position, sqlType } of SCALAR_COLUMNS) {
      const value = this.#cells.values[position] as Cell;
      if (value !== null) values[position] = this.#toValue(value, position, sqlType);
    }
    for (const column of JSON_COLUMNS) values[toPosition(column)] = this.#json.of(column, span);
    const { sanitized, truncated } = this.#cells.marks;
    return { values, isSanitized: sanitized.size > 0, isTruncated: truncated.size > 0 };
  }

  #clean(text: string, position: number): string {
    const clean = cleanText(text);
    if (clean !== text) this.#cells.marks.sanitize(this.#cells.nameBehind(position));
    return clean;
  }

  #toValue(value: Scalar | HrTime, position: number, sqlType: ScalarColumn['sqlType']): Scalar {
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
