import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ObservatoryError } from '../errors.ts';
import type { StoreTally } from './store.ts';

/** Postgres ends a connection that sends it a gigabyte; a character may take up to six bytes. */
const MAX_ROW_SIZE = 100 * 1024 * 1024;

/** How long spans are encoded before the host program gets its turn, in milliseconds. */
const MAX_TURN_MS = 2;

/** Bounds of one statement. */
export interface BatchLimits {
  readonly maxRowsPerStatement: number;
  readonly maxCharsPerStatement: number;
}

/** A span in the form that one way of writing sends. */
export interface EncodedSpan {
  readonly span: ReadableSpan;
  /** Size in the unit of that form: UTF-16 units or bytes. */
  readonly size: number;
}

/**
 * Encodes spans, as many at a time as one statement may carry; the next are made when they are asked for, so memory is
 * bounded whatever the number of spans, and the event loop is given free every few milliseconds. A span that cannot
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
  let turnEnds = performance.now() + MAX_TURN_MS;
  for (const span of spans) {
    if (performance.now() > turnEnds) {
      await nextTurn();
      turnEnds = performance.now() + MAX_TURN_MS;
    }
    const row = encodeOrRefuse(span, encode, tally);
    if (row === undefined) continue;
    const isFull = rows.length >= limits.maxRowsPerStatement || size + row.size > limits.maxCharsPerStatement;
    if (isFull && rows.length > 0) {
      yield rows;
      rows = [];
      size = 0;
      turnEnds = performance.now() + MAX_TURN_MS;
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
    const row = encode(span);
    if (row.size <= MAX_ROW_SIZE) return row;
    throw new ObservatoryError('INVALID_INPUT', `A span of ${row.size} characters exceeds ${MAX_ROW_SIZE}`);
  } catch (reason) {
    tally.refused.push({ span, reason });
    return undefined;
  }
}
