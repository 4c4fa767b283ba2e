import { randomUUID } from 'node:crypto';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, FIELDS, type SqlType } from '../base/index.ts';
import { type BatchLimits, type SpanWriter, writeInBatches } from './batches.ts';
import type { Scalar } from './coerce.ts';
import { type CopyPool, isCopyPool, withClient } from './copy-in.ts';
import { TableRefusal } from './database-error.ts';
import { RowEncoder } from './row-encoder.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import type { EncodedSpan } from './row-sink.ts';
import type { Queryable } from './types.ts';
import { Witness } from './witness.ts';

/**
 * Finds a unique index beside the primary key. `ON CONFLICT DO NOTHING` would take two spans that are equal under it for
 * one span sent twice, and drop one.
 */
export const OTHER_UNIQUE_INDEX = `SELECT indexrelid::regclass::text AS name FROM pg_index
  WHERE (indisunique OR indisexclusion) AND NOT indisprimary AND indrelid IN (
    SELECT to_regclass('mcp_traces') UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('mcp_traces'))
  LIMIT 1`;

/**
 * One statement for any number of spans: each parameter is a whole column as an array literal. The cast through text
 * makes every driver send it unchanged. Existing spans are left alone, so sending a span twice is harmless.
 */
export const INSERT_STATEMENT: string = [
  `WITH written AS (INSERT INTO mcp_traces (${COLUMNS.join(', ')})`,
  `SELECT * FROM unnest(${FIELDS.map((field, i) => `$${i + 1}::text::${field.sqlType}[]`).join(', ')})`,
  'ON CONFLICT DO NOTHING RETURNING 1)',
  `SELECT CASE WHEN count(*) < cardinality($1::text::${FIELDS[0]?.sqlType}[]) THEN (${OTHER_UNIQUE_INDEX}) END AS index FROM written`,
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
    witness: isCopyPool(db) ? witnessOn(db, encoder) : new Witness(),
  };
  return { write: (spans, tally) => writeInBatches(spans, limits, sink, tally) };
}

/** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
export function encodeForInsert(encoder: RowEncoder, span: ReadableSpan): InsertRow {
  const { values, isSanitized, isTruncated } = encoder.values(span);
  let size = 0;
  const cells = FIELDS.map(({ sqlType }, position) => {
    const cell = toElement(values[position] ?? null, sqlType);
    size += cell.length;
    return cell;
  });
  return { span, cells, size, isSanitized, isTruncated };
}

/** Writes rows in one statement. @throws TableRefusal when an index may have left some out. */
export async function insertRows(db: Queryable, rows: readonly InsertRow[]): Promise<void> {
  const result = await db.query(INSERT_STATEMENT, insertValues(rows));
  refuseUniqueIndex(result.rows[0]?.index);
}

/** @throws TableRefusal when there is one. */
export function refuseUniqueIndex(name: unknown): void {
  if (typeof name === 'string') {
    throw new TableRefusal(new Error(`spans may be left out because of the unique index ${name}`));
  }
}

/** The parameters of {@link INSERT_STATEMENT} for these rows. */
export function insertValues(rows: readonly InsertRow[]): string[] {
  return FIELDS.map((_, column) => `{${rows.map((row) => row.cells[column]).join(',')}}`);
}

/** A witness that writes its span under other ids in a transaction that is rolled back. */
export function witnessOn(pool: CopyPool, encoder: RowEncoder): Witness {
  return new Witness((span) =>
    withClient(pool, async (connection) => {
      const client = connection as unknown as Queryable;
      const row = encodeForInsert(encoder, span);
      // Trace and span id are the first columns.
      const cells = row.cells.map((cell, column) => (column < 2 ? randomUUID() : cell));
      // Triggers that wait for the end of the transaction would not run.
      await client.query('BEGIN; SET CONSTRAINTS ALL IMMEDIATE');
      try {
        await client.query(INSERT_STATEMENT, insertValues([{ ...row, cells }]));
      } finally {
        await client.query('ROLLBACK');
      }
    }),
  );
}

function toElement(value: Scalar | null, sqlType: SqlType): string {
  if (value === null) return 'NULL';
  if (sqlType === 'text' || sqlType === 'jsonb') return quotedText(value as string);
  // String() would write -0 as 0.
  return Object.is(value, -0) ? '-0' : String(value);
}

function quotedText(text: string): string {
  if (!text.includes('"') && !text.includes('\\')) return `"${text}"`;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
