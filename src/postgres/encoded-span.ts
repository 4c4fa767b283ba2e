import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** A span in the form that one way of writing sends. */
export interface EncodedSpan {
  readonly span: ReadableSpan;
  /** Size in the unit of that form: UTF-16 units or bytes. */
  readonly size: number;
  /** Whether the row says that values were replaced by what can be stored. */
  readonly isSanitized: boolean;
  /** Whether the row says that values were cut. */
  readonly isTruncated: boolean;
}
