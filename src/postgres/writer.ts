import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type BatchLimits, encodeInBatches } from './batches.ts';
import type { EncodedSpan } from './encoded-span.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import { encodeRow, INSERT_STATEMENT, insertValues } from './statement.ts';
import { type StoreTally, storeRows } from './store.ts';
import type { Queryable } from './types.ts';
import { WireRowReader } from './wire-row.ts';

/** Statements of one export under way at the same time: while one is written, the next is encoded. */
const STATEMENTS_AHEAD = 2;

/** One way of writing spans to the table. */
export interface SpanWriter {
  /**
   * Writes spans and counts what became of each.
   * @throws the driver's error when the fault is not in a span; those counted as stored stay written.
   */
  write(spans: readonly ReadableSpan[], tally: StoreTally): Promise<void>;
}

/** Writes with the one statement that any driver can send and PGlite understands. */
export function insertWriter(db: Queryable, limits: BatchLimits & ResolvedRowLimits): SpanWriter {
  const insert = (rows: readonly InsertRow[]) => insertSpans(db, rows);
  const encode = insertEncoder(limits);
  return { write: (spans, tally) => writeInBatches(spans, limits, encode, insert, tally) };
}

/** A span as elements of array literals. */
export interface InsertRow extends EncodedSpan {
  readonly cells: readonly string[];
}

/** Encodes span after span. The function throws `INVALID_INPUT` for a span without a valid id. */
export function insertEncoder(limits: ResolvedRowLimits): (span: ReadableSpan) => InsertRow {
  const reader = new WireRowReader(limits);
  return (span) => {
    const row = reader.read(span);
    const { isSanitized, isTruncated } = row;
    const { cells, size } = encodeRow(row);
    return { span, cells, size, isSanitized, isTruncated };
  };
}

/** Writes rows in one statement. */
export async function insertSpans(db: Queryable, rows: readonly InsertRow[]): Promise<void> {
  await db.query(INSERT_STATEMENT, insertValues(rows));
}

/** Encodes spans and writes them a statement at a time; after an error nothing more is begun. */
export async function writeInBatches<R extends EncodedSpan>(
  spans: readonly ReadableSpan[],
  limits: BatchLimits,
  encode: (span: ReadableSpan) => R,
  writeRows: (rows: readonly R[]) => Promise<void>,
  tally: StoreTally,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const errors: unknown[] = [];
  for await (const rows of encodeInBatches(spans, limits, encode, tally)) {
    const written = storeRows(rows, writeRows, tally)
      .catch((error: unknown) => void errors.push(error))
      .finally(() => underWay.delete(written));
    underWay.add(written);
    if (underWay.size >= STATEMENTS_AHEAD) await Promise.race(underWay);
    if (errors.length > 0) break;
  }
  await Promise.all(underWay);
  if (errors.length > 0) throw errors[0];
}
