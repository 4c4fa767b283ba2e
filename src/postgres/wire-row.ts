import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, FIELDS } from '../base/index.ts';
import { ByteWriter } from './byte-writer.ts';
import { cleanText } from './clean-text.ts';
import type { Scalar } from './coerce.ts';
import { positionOf } from './columns.ts';
import { uuidOfHex } from './ids.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import { SpanCells } from './span-cells.ts';
import { JSON_COLUMNS, SpanJson } from './span-json.ts';
import { hrTimeToIso } from './time.ts';

/** A row in its wire form but for the columns of JSON, which are text. */
export interface WireRow {
  /** By position of the column. */
  readonly values: readonly (Scalar | null)[];
  readonly isSanitized: boolean;
  readonly isTruncated: boolean;
}

/** Reads spans for those ways of writing that send text. */
export class WireRowReader {
  readonly #cells: SpanCells;
  readonly #out = new ByteWriter();
  readonly #json: SpanJson;

  constructor(limits: ResolvedRowLimits) {
    this.#cells = new SpanCells(limits);
    this.#json = new SpanJson(this.#cells, this.#out);
  }

  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  read(span: ReadableSpan): WireRow {
    const cells = this.#cells;
    cells.read(span);
    const values = COLUMNS.map((_, position) => this.#scalar(position));
    for (const column of JSON_COLUMNS) {
      this.#out.begin();
      this.#json.write(column, span);
      values[positionOf(column)] = this.#out.record.toString();
    }
    const { sanitized, truncated } = cells.marks;
    return { values, isSanitized: sanitized.size > 0, isTruncated: truncated.size > 0 };
  }

  #scalar(position: number): Scalar | null {
    const { values, names, marks } = this.#cells;
    const value = values[position] ?? null;
    if (value === null) return null;
    switch (FIELDS[position]?.sqlType) {
      case 'uuid':
        return uuidOfHex(value as string);
      case 'timestamptz':
        return hrTimeToIso(value as HrTime);
      case 'text': {
        const clean = cleanText(value as string);
        if (clean !== value) marks.sanitize(names[position] as string);
        return clean;
      }
      default:
        return value as Scalar;
    }
  }
}
