import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, FIELDS, type SqlType } from '../base/index.ts';
import { type BatchLimits, type EncodedSpan, type SpanWriter, writeInBatches } from './batches.ts';
import type { Scalar } from './coerce.ts';
import { RowEncoder } from './row-encoder.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import type { Queryable } from './types.ts';

/**
 * One statement for any number of spans: each parameter is a whole column as an array literal. The cast through text
 * makes every driver send it unchanged. Existing spans are left alone, so sending a span twice is harmless.
 */
export const INSERT_STATEMENT: string = [
  `INSERT INTO mcp_traces (${COLUMNS.join(', ')})`,
  `SELECT * FROM unnest(${FIELDS.map((field, i) => `$${i + 1}::text::${field.sqlType}[]`).join(', ')})`,
  'ON CONFLICT DO NOTHING',
].join('\n');

/** A span as elements of array literals, one for each column; `size` in UTF-16 units. */
export interface InsertRow extends EncodedSpan {
  readonly cells: readonly string[];
}

/** Writes with the one statement that any driver can send and PGlite understands. */
export function insertWriter(db: Queryable, limits: BatchLimits & ResolvedRowLimits): SpanWriter {
  const encoder = new RowEncoder(limits);
  const sink = {
    encode: (span: ReadableSpan) => encodeForInsert(encoder, span),
    writeRows: (rows: readonly InsertRow[]) => insertRows(db, rows),
  };
  return { write: (spans, tally) => writeInBatches(spans, limits, sink, tally) };
}

/** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
export function encodeForInsert(encoder: RowEncoder, span: ReadableSpan): InsertRow {
  const { values, isSanitized, isTruncated } = encoder.values(span);
  let size = 0;
  const cells = FIELDS.map(({ sqlType }, position) => {
    const cell = elementOf(values[position] ?? null, sqlType);
    size += cell.length;
    return cell;
  });
  return { span, cells, size, isSanitized, isTruncated };
}

/** Writes rows in one statement. */
export async function insertRows(db: Queryable, rows: readonly InsertRow[]): Promise<void> {
  await db.query(INSERT_STATEMENT, insertValues(rows));
}

/** The parameters of {@link INSERT_STATEMENT} for these rows. */
export function insertValues(rows: readonly InsertRow[]): string[] {
  return FIELDS.map((_, column) => `{${rows.map((row) => row.cells[column]).join(',')}}`);
}

function elementOf(value: Scalar | null, sqlType: SqlType): string {
  if (value === null) return 'NULL';
  if (sqlType === 'text' || sqlType === 'jsonb') return quotedText(value as string);
  // String() would write -0 as 0.
  return Object.is(value, -0) ? '-0' : String(value);
}

function quotedText(text: string): string {
  if (!text.includes('"') && !text.includes('\\')) return `"${text}"`;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
