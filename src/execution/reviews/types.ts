import type { PostgresConnection } from '../../postgres/index.ts';

/**
 * Terms: a *review* is one answer or call that waits for a person. A *worker* is who decides, a person or a program on
 * a person's behalf. A *claim* gives a review to one worker for the time of its *lease*; each claim of a review has a
 * higher *token*, and only the newest one decides.
 */

/** A review on its way into a queue. */
export interface ReviewSubmission {
  /** `low_confidence`, `tool_error` ...: why a person is asked. */
  readonly fallbackReason: string;
  /** What the worker looks at, as a JSON value: the prompt, the refused answer, the arguments of the call. */
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
  /** Undecided after this many milliseconds, it expires. @defaultValue the queue's */
  readonly expiresInMs?: number | undefined;
}

/** Where reviews go. The built-in one is `PostgresReviewQueue`; anything with this method will do. */
export interface ReviewQueue {
  /**
   * Hands a review over. It is safe once this returns.
   * @returns the id of the review.
   */
  submit(review: ReviewSubmission): Promise<string>;
}

export type ReviewStatus = 'pending' | 'claimed' | 'approved' | 'rejected' | 'expired';

/** A review as it stands in the queue. Times are ISO 8601 UTC text. */
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
  /** From then on another worker may claim it. */
  readonly leaseExpiresAt: string | null;
  /** How often it was claimed; the newest claim's token. */
  readonly token: number;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  readonly note: string | null;
}

/** A review with what is looked at and what was decided to be the answer. */
export interface ReviewInFull extends Review {
  readonly content: unknown;
  /** The answer an approval gave, when it gave one. */
  readonly response: unknown;
}

/** What became of a review. */
export interface ReviewOutcome extends Pick<Review, 'status' | 'decidedBy' | 'decidedAt' | 'note'> {
  /** The answer an approval gave, when it gave one. */
  readonly response: unknown;
}

/** What became of a review that can no longer change. */
export interface FinalOutcome extends ReviewOutcome {
  readonly status: 'approved' | 'rejected' | 'expired';
}

/** A claim, as a decision needs it. */
export interface ReviewClaim {
  readonly id: string;
  readonly token: number;
  /** Who claimed it. */
  readonly claimedBy: string;
}

/** A review that was claimed just now. */
export type ClaimedReview = ReviewInFull & ReviewClaim;

/** Options of a `PostgresReviewQueue`. */
export interface PostgresReviewQueueOptions {
  /** Connection string, or an open pool, client or PGlite that stays yours. Its schema is that of `migrate()`. */
  readonly connection: PostgresConnection;
  /** A review that is undecided after this many milliseconds expires. @defaultValue 86400000, a day */
  readonly expiresInMs?: number | undefined;
}

/** Which review to claim, and for whom. */
export interface ClaimOptions {
  /** Who decides; the decision has to come from the same. */
  readonly worker: string;
  /** One review, instead of the oldest. */
  readonly id?: string | undefined;
  /** Only reviews of this tool. */
  readonly toolName?: string | undefined;
  /** After this many milliseconds another worker may claim it. @defaultValue 600000, ten minutes */
  readonly leaseMs?: number | undefined;
}
