import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isRowAtFault } from './database-error.ts';
import type { EncodedSpan } from './encoded-span.ts';

/**
 * Failed statements after which the search for rows at fault ends. One row among 1,000 costs eleven; when most rows
 * are refused the table is at fault, and trying them one by one would only load the server.
 */
const MAX_FAILED_STATEMENTS = 200;

/** What became of spans, counted up as they are settled. */
export interface StoreTally {
  /** Spans that stand in the table now, new or from before. */
  stored: number;
  /** Of these, those with values that had to be replaced, and with values that were cut; their rows say which. */
  sanitized: number;
  truncated: number;
  /** Spans that cannot be stored for what they are, each with the reason. */
  readonly refused: RefusedSpan[];
}

/** A span that cannot be stored, and the error that says why. */
export interface RefusedSpan {
  readonly span: ReadableSpan;
  readonly reason: unknown;
}

/**
 * Writes rows in one statement. When the database refuses it for the data in it, the rows are halved until those at
 * fault stand alone, and all others are written.
 *
 * @throws the driver's error when the fault is not in a row; rows counted as stored stay written.
 */
export async function storeRows<R extends EncodedSpan>(
  rows: readonly R[],
  writeRows: (rows: readonly R[]) => Promise<void>,
  tally: StoreTally,
): Promise<void> {
  let failedStatements = 0;
  const parts: (readonly R[])[] = [rows];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      await writeRows(part);
      count(part, tally);
    } catch (reason) {
      failedStatements += 1;
      if (!isRowAtFault(reason) || failedStatements > MAX_FAILED_STATEMENTS) throw reason;
      const [only] = part;
      if (part.length === 1 && only !== undefined) tally.refused.push({ span: only.span, reason });
      else parts.push(part.slice(part.length >> 1), part.slice(0, part.length >> 1));
    }
  }
}

function count(stored: readonly EncodedSpan[], tally: StoreTally): void {
  tally.stored += stored.length;
  for (const { isSanitized, isTruncated } of stored) {
    if (isSanitized) tally.sanitized += 1;
    if (isTruncated) tally.truncated += 1;
  }
}
