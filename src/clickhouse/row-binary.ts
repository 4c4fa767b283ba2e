import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, type Column, FIELDS, type FieldDefinition, type SqlType } from '../base/index.ts';
import {
  ByteWriter,
  type Cell,
  hrTimeToEpochMicros,
  JSON_COLUMNS,
  type Place,
  type ResolvedRowLimits,
  SpanCells,
  SpanJson,
} from '../postgres/index.ts';

/** Seconds since 1970 of the end of 2099: partitions and expiry count in days and seconds that end soon after. */
const END_SECOND = 4_102_444_800;
const NANOS_PER_SECOND = 1_000_000_000;
const UUID_HALF_BYTES = 8;

interface ScalarColumn {
  readonly position: number;
  readonly sqlType: Exclude<SqlType, 'jsonb'>;
  readonly notNull: boolean;
}

const SCALAR_COLUMNS: readonly ScalarColumn[] = FIELDS.flatMap(
  ({ sqlType, notNull }: FieldDefinition, position) =>
    sqlType === 'jsonb' ? [] : [{ sqlType, position, notNull }],
);

/** The columns of a row, in its order. JSON columns come last, because `attributes` lists what was changed in the others. */
export const ROW_COLUMNS: readonly Column[] = [
  ...SCALAR_COLUMNS.map(({ position }) => COLUMNS[position] as Column),
  ...JSON_COLUMNS,
];

/** A row in ClickHouse's format RowBinary. */
export interface RowBinary {
  /** Its bytes, which stay valid when later spans are encoded. */
  readonly place: Place;
  /** Whether the row names values that were replaced by ones that can be stored. */
  readonly isSanitized: boolean;
  /** Whether the row names values that were cut. */
  readonly isTruncated: boolean;
}

/**
 * Encodes spans as rows of `mcp_traces` in RowBinary (ClickHouse documentation, "Input and output formats"): values one
 * after another, integers with the lowest byte first, texts after their length, and a byte before each value that may be
 * null. The cells are those of the Postgres rows.
 */
export class RowBinaryEncoder {
  readonly #cells: SpanCells;
  readonly #out = new ByteWriter();
  readonly #json: SpanJson;

  constructor(limits: ResolvedRowLimits) {
    this.#cells = new SpanCells(limits, isTime);
    this.#json = new SpanJson(this.#cells);
  }

  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  encode(span: ReadableSpan): RowBinary {
    const out = this.#out;
    const { values, marks } = this.#cells;
    this.#cells.read(span);
    out.begin();
    for (let i = 0; i < SCALAR_COLUMNS.length; i += 1) {
      const column = SCALAR_COLUMNS[i] as ScalarColumn;
      const value = values[column.position] as Cell;
      if (!column.notNull) out.byte(value === null ? 1 : 0);
      if (value !== null) this.#cell(value, column);
    }
    for (const column of JSON_COLUMNS) {
      const lengthAt = out.length;
      out.int32(0);
      out.utf8(this.#json.of(column, span));
      out.lengthAsLeb128At(lengthAt);
    }
    return { place: out.place, isSanitized: marks.sanitized.size > 0, isTruncated: marks.truncated.size > 0 };
  }

  #cell(value: NonNullable<Cell>, { position, sqlType }: ScalarColumn): void {
    const out = this.#out;
    switch (sqlType) {
      case 'text': {
        const lengthAt = out.length;
        out.int32(0);
        if (out.text(value as string)) this.#cells.marks.sanitize(this.#cells.nameBehind(position));
        out.lengthAsLeb128At(lengthAt);
        break;
      }
      case 'uuid':
        this.#uuid(value as string);
        break;
      case 'timestamptz': {
        const [high, low] = hrTimeToEpochMicros(value as HrTime);
        out.int32LE(low);
        out.int32LE(high);
        break;
      }
      case 'integer':
        out.int32LE(value as number);
        break;
      case 'double precision':
        out.doubleLE(value as number);
        break;
      case 'boolean':
        out.byte(value ? 1 : 0);
        break;
    }
  }

  /** A UUID is two numbers of 64 bits, each with its lowest byte first; 16 digits fill the second. */
  #uuid(hex: string): void {
    const digits = hex.length === 36 ? hex.replaceAll('-', '') : hex;
    const hasBoth = digits.length > 2 * UUID_HALF_BYTES;
    this.#half(digits, hasBoth ? 2 * UUID_HALF_BYTES : 0);
    this.#half(digits, digits.length);
  }

  /** The eight bytes whose hex digits end before `end`, padded with zeros. */
  #half(digits: string, end: number): void {
    const out = this.#out;
    for (let i = 1; i <= UUID_HALF_BYTES; i += 1) {
      const at = end - 2 * i;
      out.byte(at < 0 ? 0 : (digitAt(digits, at) << 4) | digitAt(digits, at + 1));
    }
  }
}

function isTime([seconds, nanos]: HrTime): boolean {
  const second = seconds + Math.floor(nanos / NANOS_PER_SECOND);
  return Number.isInteger(second) && second >= 0 && second < END_SECOND;
}

/** The value of a lower-case hex digit. */
function digitAt(hex: string, at: number): number {
  const code = hex.charCodeAt(at);
  return code <= 0x39 ? code - 0x30 : code - 0x57;
}
