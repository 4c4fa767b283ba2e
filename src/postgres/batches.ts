import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { bisect } from '../base/index.ts';
import { isRowAtFault } from './database-error.ts';
import { GrowingRows } from './growing-rows.ts';

/**
 * Work before yielding to the host program, per export. It is counted, not timed: time spent in the host, or in other
 * processes, says nothing about the work still to do.
 */
const SPANS_PER_TURN = 64;
/** The first rows are sent soon, and the next before the server is done with them, so that it never waits. */
const SPANS_OF_FIRST_TURN = 8;
const TURN_GROWTH = 1.5;
const SIZE_PER_TURN = 128 * 1024;

/** Concurrent statements of one export: while one is committed, the next is encoded. */
const STATEMENTS_AHEAD = 2;

/**
 * Failed statements before the search for bad rows ends. One row among 1,000 costs eleven; if most rows are refused
 * the table is at fault, and trying them one by one would only load the server.
 */
const MAX_FAILED_STATEMENTS = 200;

/** A way of writing spans to the table. */
export interface SpanWriter {
  /**
   * Writes spans and counts the outcome of each.
   * @throws the driver's error when no span is at fault; spans counted as stored stay written.
   */
  write(spans: readonly ReadableSpan[], tally: StoreTally): Promise<void>;
}

/** Bounds of one statement. */
export interface BatchLimits {
  readonly maxRowsPerStatement: number;
  readonly maxCharsPerStatement: number;
}

/** How rows reach the table. */
export interface BatchSink<R extends EncodedSpan> {
  /** @throws ObservatoryError `INVALID_INPUT` for a span without a valid id. */
  encode(span: ReadableSpan): R;
  /** Writes rows in one statement. */
  writeRows(rows: readonly R[]): Promise<void>;
  /** Writes rows in one statement that begins before all are there. @defaultValue `writeRows`, when they are */
  writeGrowing?(rows: GrowingRows<R>): Promise<void>;
  /** Whether a failed statement may succeed without the row at fault. @defaultValue as Postgres reports it */
  readonly isRowAtFault?: (error: unknown) => boolean;
}

/** A span in the form in which it is sent. */
export interface EncodedSpan {
  readonly span: ReadableSpan;
  /** Size in the unit of that form: UTF-16 units or bytes. */
  readonly size: number;
  /** Rows of different forms need different statements. */
  readonly form?: unknown;
  /** Whether the row names values that were replaced by ones that can be stored. */
  readonly isSanitized: boolean;
  /** Whether the row names values that were cut. */
  readonly isTruncated: boolean;
}

/** Outcomes of spans, counted as they are settled. */
export interface StoreTally {
  /** Spans in the table now, new or from before. */
  stored: number;
  /** Stored spans with values that were replaced, and with values that were cut; their rows name them. */
  sanitized: number;
  truncated: number;
  /** Spans that cannot be stored. */
  readonly refused: RefusedSpan[];
}

/** A span that cannot be stored, and the error. */
export interface RefusedSpan {
  readonly span: ReadableSpan;
  readonly reason: unknown;
}

/**
 * Encodes spans and writes them one statement at a time, on demand, so that memory is bounded whatever the number of
 * spans, and yields to the event loop every few spans. A span that cannot become a row counts as refused. After an error
 * no more statements are started.
 * @throws the driver's error when no span is at fault.
 */
export async function writeInBatches<R extends EncodedSpan>(
  spans: readonly ReadableSpan[],
  limits: BatchLimits,
  sink: BatchSink<R>,
  tally: StoreTally,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const errors: unknown[] = [];
  const begin = (rows: GrowingRows<R>): void => {
    const written: Promise<void> = storeRows(rows, sink, tally)
      .catch((error: unknown) => void errors.push(error))
      .finally(() => underWay.delete(written));
    underWay.add(written);
  };
  let open: GrowingRows<R> | undefined;
  let size = 0;
  let turn = SPANS_OF_FIRST_TURN;
  let spansOfTurn = 0;
  let sizeOfTurn = 0;
  try {
    for (const span of spans) {
      if (spansOfTurn >= turn || sizeOfTurn >= SIZE_PER_TURN) {
        open?.tell();
        await nextTurn();
        turn = Math.min(TURN_GROWTH * turn, SPANS_PER_TURN);
        spansOfTurn = 0;
        sizeOfTurn = 0;
      }
      spansOfTurn += 1;
      const row = encodeOrRefuse(span, sink, tally);
      if (row === undefined) continue;
      sizeOfTurn += row.size;
      const isFull =
        open !== undefined &&
        (open.rows.length >= limits.maxRowsPerStatement ||
          size + row.size > limits.maxCharsPerStatement ||
          open.rows[0]?.form !== row.form);
      if (isFull) {
        open?.complete();
        open = undefined;
        if (underWay.size >= STATEMENTS_AHEAD) await Promise.race(underWay);
        if (errors.length > 0) break;
      }
      const isFirst = open === undefined;
      if (isFirst) size = 0;
      open ??= new GrowingRows();
      open.add(row);
      if (isFirst) begin(open);
      size += row.size;
    }
  } finally {
    open?.complete();
  }
  await Promise.all(underWay);
  if (errors.length > 0) throw errors[0];
}

function encodeOrRefuse<R extends EncodedSpan>(
  span: ReadableSpan,
  sink: BatchSink<R>,
  tally: StoreTally,
): R | undefined {
  try {
    return sink.encode(span);
  } catch (reason) {
    tally.refused.push({ span, reason });
    return undefined;
  }
}

/**
 * Writes rows in one statement. If the database refuses it because of its data, the rows are bisected for bad ones and
 * all others are written.
 * @throws the driver's error when no row is at fault.
 */
async function storeRows<R extends EncodedSpan>(
  growing: GrowingRows<R>,
  sink: BatchSink<R>,
  tally: StoreTally,
): Promise<void> {
  const isAtFault = sink.isRowAtFault ?? isRowAtFault;
  let failedStatements = 0;
  const { rows } = growing;
  await bisect(rows, async (part) => {
    try {
      if (part !== rows) await sink.writeRows(part);
      else if (sink.writeGrowing === undefined) await sink.writeRows(await growing.all());
      else await sink.writeGrowing(growing);
    } catch (reason) {
      // The search for bad rows is among all of them.
      await growing.all();
      failedStatements += 1;
      if (!isAtFault(reason) || failedStatements > MAX_FAILED_STATEMENTS) throw reason;
      const [only] = part;
      if (part.length === 1 && only !== undefined) tally.refused.push({ span: only.span, reason });
      return 'bad';
    }
    tally.stored += part.length;
    for (const { isSanitized, isTruncated } of part) {
      if (isSanitized) tally.sanitized += 1;
      if (isTruncated) tally.truncated += 1;
    }
    return 'done';
  });
}
