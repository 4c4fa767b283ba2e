import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { bisect } from '../base/index.ts';
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
 * Writes rows in one statement. If the database refuses it because of its data, the rows are bisected for bad ones and
 * all others are written.
 *
 * @throws the driver's error when no row is at fault; rows counted as stored stay written.
 */
export async function storeRows<R extends EncodedSpan>(
  rows: readonly R[],
  writeRows: (rows: readonly R[]) => Promise<void>,
  tally: StoreTally,
): Promise<void> {
  let failedStatements = 0;
  await bisect(rows, async (part) => {
    try {
      await writeRows(part);
      count(part, tally);
      return 'done';
    } catch (reason) {
      failedStatements += 1;
      if (!isRowAtFault(reason) || failedStatements > MAX_FAILED_STATEMENTS) throw reason;
      const [only] = part;
      if (part.length === 1 && only !== undefined) tally.refused.push({ span: only.span, reason });
      return 'bad';
    }
  });
}

function count(stored: readonly EncodedSpan[], tally: StoreTally): void {
  tally.stored += stored.length;
  for (const { isSanitized, isTruncated } of stored) {
    if (isSanitized) tally.sanitized += 1;
    if (isTruncated) tally.truncated += 1;
  }
}
