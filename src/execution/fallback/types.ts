import type { ReviewQueue } from '../../approvals/index.ts';
import type { SpanReference } from '../types.ts';

/** The call or answer that a fallback replaces. */
export interface FallbackRequest {
  /** `low_confidence`, `high_hallucination`, `high_evidence_risk`, `tool_error`, `policy_violation` or a reason of your own. */
  readonly reason: string;
  readonly toolName?: string | undefined;
  readonly model?: string | undefined;
  readonly prompt?: string | undefined;
  /** Arguments of the tool call. */
  readonly arguments?: unknown;
  /** The refused answer or result, if any. */
  readonly response?: unknown;
  /** The error of the call, if any. */
  readonly error?: unknown;
  /** Attempts made after the first one. */
  readonly retries?: number | undefined;
  readonly confidence?: number | undefined;
  readonly hallucinationRisk?: number | undefined;
  readonly riskTier?: string | undefined;
  readonly promptTemplateId?: string | undefined;
  /** Span of the replaced call, the parent of the fallback's span. @defaultValue the active span */
  readonly parent?: SpanReference | undefined;
}

/** Answers with a fixed value, or with the result of your function. */
export interface TemplateRoute {
  readonly type: 'template';
  readonly respond: string | number | boolean | object | null | ((request: FallbackRequest) => unknown);
}

/** Asks a person: the request is queued, and the caller gets a pending status at once. */
export interface HumanReviewRoute {
  readonly type: 'human_review';
  readonly queue: ReviewQueue;
  /** What the person sees. @defaultValue prompt, arguments and response of the request */
  readonly content?: ((request: FallbackRequest) => unknown) | undefined;
  /** Time until an undecided review expires, in milliseconds. @defaultValue the queue's */
  readonly expiresInMs?: number | undefined;
  /** What the caller gets in the meantime. @defaultValue `{ status: 'pending_review', reviewId }` */
  readonly respond?: ((request: FallbackRequest, reviewId: string) => unknown) | undefined;
}

/** Returns the refused answer, or the call that was not made, as a draft. */
export interface DraftOnlyRoute {
  readonly type: 'draft_only';
  /** What the caller gets. @defaultValue `{ status: 'draft_only', draft }`, the response or else the arguments */
  readonly respond?: ((request: FallbackRequest) => unknown) | undefined;
}

/** How one tool degrades. */
export type FallbackRoute = TemplateRoute | HumanReviewRoute | DraftOnlyRoute;

/** Result of a fallback. */
export interface FallbackOutcome {
  readonly response: unknown;
  readonly fallbackType: FallbackRoute['type'];
  readonly fallbackReason: string;
  readonly reviewId: string | undefined;
  /** The fallback's span. */
  readonly span: SpanReference;
}
