import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { GrowingRows } from './growing-rows.ts';
import type { Witness } from './witness.ts';

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
  /** Remembers rows that were stored. */
  readonly witness: Witness;
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
