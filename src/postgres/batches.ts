import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { EncodedSpan } from './encoded-span.ts';
import type { StoreTally } from './store.ts';

/**
 * How much is encoded before the host program gets its turn, of each export under way. It is counted, not timed: work
 * of the host, or of others on the machine, in between says nothing about what is yet to be done.
 */
const SPANS_PER_TURN = 64;
const SIZE_PER_TURN = 128 * 1024;

/** Bounds of one statement. */
export interface BatchLimits {
  readonly maxRowsPerStatement: number;
  readonly maxCharsPerStatement: number;
}

/**
 * Encodes spans, as many at a time as one statement may carry; the next are made when they are asked for, so memory is
 * bounded whatever the number of spans, and the event loop is given free every few spans. A span that cannot
 * become a row is counted as refused.
 */
export async function* encodeInBatches<R extends EncodedSpan>(
  spans: readonly ReadableSpan[],
  limits: BatchLimits,
  encode: (span: ReadableSpan) => R,
  tally: StoreTally,
): AsyncGenerator<readonly R[]> {
  let rows: R[] = [];
  let size = 0;
  let spansOfTurn = 0;
  let sizeOfTurn = 0;
  for (const span of spans) {
    if (spansOfTurn >= SPANS_PER_TURN || sizeOfTurn >= SIZE_PER_TURN) {
      await nextTurn();
      spansOfTurn = 0;
      sizeOfTurn = 0;
    }
    spansOfTurn += 1;
    const row = encodeOrRefuse(span, encode, tally);
    if (row === undefined) continue;
    sizeOfTurn += row.size;
    const isFull = rows.length >= limits.maxRowsPerStatement || size + row.size > limits.maxCharsPerStatement;
    if (isFull && rows.length > 0) {
      yield rows;
      rows = [];
      size = 0;
    }
    rows.push(row);
    size += row.size;
  }
  if (rows.length > 0) yield rows;
}

function encodeOrRefuse<R extends EncodedSpan>(
  span: ReadableSpan,
  encode: (span: ReadableSpan) => R,
  tally: StoreTally,
): R | undefined {
  try {
    return encode(span);
  } catch (reason) {
    tally.refused.push({ span, reason });
    return undefined;
  }
}
