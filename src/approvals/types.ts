import type { PostgresConnection } from '../postgres/index.ts';
import type { ApprovalScope } from './approval.ts';

/**
 * Terms: a *review* is an answer or call that waits for a decision by a person. A *worker* decides: a person, or a
 * program on a person's behalf. A *claim* assigns a review to one worker for the duration of its *lease*. Each claim of
 * a review has a higher *token*; only the newest can decide.
 */

export interface ReviewSubmission {
  /** `low_confidence`, `tool_error` ...: why a person is asked. */
  readonly fallbackReason: string;
  /** The content to review, as a JSON value: the prompt, the refused answer, the arguments of the call. */
  readonly content: unknown;
  readonly toolName?: string | undefined;
  readonly service?: string | undefined;
  readonly model?: string | undefined;
  readonly riskTier?: string | undefined;
  readonly promptTemplateId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly confidence?: number | undefined;
  readonly hallucinationRisk?: number | undefined;
  /** Span of the fallback, hex as OpenTelemetry writes it. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  /** Time until an undecided review expires, in milliseconds. @defaultValue the queue's */
  readonly expiresInMs?: number | undefined;
}

/** A review queue. The built-in one is `PostgresReviewQueue`; any object with this method works. */
export interface ReviewQueue {
  /**
   * Submits a review. It is stored once this returns.
   * @returns the id of the review.
   */
  submit(review: ReviewSubmission): Promise<string>;
}

export type ReviewStatus = 'pending' | 'claimed' | 'approved' | 'rejected' | 'expired';

/** A queued review. Times are ISO 8601 UTC text. */
export interface Review {
  readonly id: string;
  readonly status: ReviewStatus;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly fallbackReason: string;
  readonly toolName: string | null;
  readonly service: string | null;
  readonly model: string | null;
  readonly riskTier: string | null;
  readonly promptTemplateId: string | null;
  readonly sessionId: string | null;
  readonly confidence: number | null;
  readonly hallucinationRisk: number | null;
  /** 32 hex digits. */
  readonly traceId: string | null;
  /** 16 hex digits. */
  readonly spanId: string | null;
  readonly claimedBy: string | null;
  readonly claimedAt: string | null;
  /** End of the lease: from then on another worker may claim it. */
  readonly leaseExpiresAt: string | null;
  /** Number of claims, and token of the newest one. */
  readonly token: number;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  readonly note: string | null;
  /** How far the approval of a call goes; null is once, or a review that is not of a call. */
  readonly scope: ApprovalScope | null;
}

/** A review with its content and the approved answer. */
export interface ReviewInFull extends Review {
  readonly content: unknown;
  /** The answer an approval gave, when it gave one. */
  readonly response: unknown;
}

export interface ReviewOutcome extends Pick<Review, 'status' | 'decidedBy' | 'decidedAt' | 'note'> {
  /** The answer an approval gave, when it gave one. */
  readonly response: unknown;
}

export interface FinalOutcome extends ReviewOutcome {
  readonly status: 'approved' | 'rejected' | 'expired';
}

/** The claim that a decision refers to. */
export interface ReviewClaim {
  readonly id: string;
  readonly token: number;
  readonly claimedBy: string;
}

/** A decision that needs no claim of its own. */
export interface DecisionNow {
  readonly how: 'approve' | 'reject';
  /** Who decides. */
  readonly by: string;
  readonly note?: string | undefined;
  /** How far the approval of a call goes. @defaultValue 'once' */
  readonly scope?: ApprovalScope | undefined;
}

/** A newly claimed review. */
export type ClaimedReview = ReviewInFull & ReviewClaim;

export interface PostgresReviewQueueOptions {
  /**
   * Connection string, or the address of an `up` that runs on this machine (`http://127.0.0.1:4320`), whose store it is; or
   * an open pool, client or PGlite, which the queue does not close. Its schema is that of `migrate()`.
   */
  readonly connection: PostgresConnection;
  /** Time until undecided reviews expire, in milliseconds. @defaultValue 86400000, a day */
  readonly expiresInMs?: number | undefined;
}

export interface ClaimOptions {
  /** The worker; the decision must come from the same one. */
  readonly worker: string;
  /** One review, instead of the oldest. */
  readonly id?: string | undefined;
  /** Only reviews of this tool. */
  readonly toolName?: string | undefined;
  /** Lease in milliseconds, after which another worker may claim it. @defaultValue 600000, ten minutes */
  readonly leaseMs?: number | undefined;
}
