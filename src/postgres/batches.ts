import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { storeRows } from './bad-rows.ts';
import { GrowingRows } from './growing-rows.ts';
import type { BatchSink, EncodedSpan, StoreTally } from './row-sink.ts';

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
