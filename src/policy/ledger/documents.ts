/** The words of a policy about what was called before, in the file's own snake_case. */
import type { FieldDocument } from '../sources/index.ts';

/** A sum or count of calls that may not go over a limit. */
export interface TotalDocument {
  readonly id: string;
  /** `pay.refund`, or `pay.*` for any tool of the server. */
  readonly tools: readonly FieldDocument[];
  /** The argument that is added up. Default: none, calls are counted. */
  readonly sum?: string | undefined;
  /** What has an account of its own: each `run`, `day` (UTC), `caller`, or value of an argument, as `{customer_id}`. */
  readonly per: string | readonly string[];
  readonly at_most: number;
}

/** Which calls of a run rule others out, or have to come before them. */
export interface SequenceDocument {
  readonly id: string;
  readonly tools: readonly FieldDocument[];
  readonly never_after?: readonly FieldDocument[] | undefined;
  readonly only_after?: readonly FieldDocument[] | undefined;
  /** Arguments that both calls have alike. */
  readonly same?: readonly string[] | undefined;
}

/** An effect that is done at most once. */
export interface OnceDocument {
  /** A name, with the arguments that tell one effect from another: `refund:{payment_id}`. */
  readonly key: string;
  readonly reconcile?: ReconcileDocument | undefined;
  readonly idempotency_key?: string | undefined;
  readonly errors?: 'failed' | 'unknown' | undefined;
  readonly quiet_seconds?: number | undefined;
}

/** A tool of the same server that tells whether an effect was done. */
export interface ReconcileDocument {
  readonly tool: string;
  /** Its arguments; `{payment_id}` is that of the call. */
  readonly args?: Readonly<Record<string, unknown>> | undefined;
  /** What its result looks like if the effect was done, as a JSON Schema. */
  readonly done: object | boolean;
  readonly not_done: object | boolean;
}
