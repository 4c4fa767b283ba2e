import type { ReviewQueue } from '../reviews/index.ts';
import type { SpanReference } from '../types.ts';

/** What a fallback stands in for. */
export interface FallbackRequest {
  /** `low_confidence`, `high_hallucination`, `tool_error`, `policy_violation` or a reason of your own. */
  readonly reason: string;
  readonly toolName?: string | undefined;
  readonly model?: string | undefined;
  readonly prompt?: string | undefined;
  /** Arguments of the tool call. */
  readonly arguments?: unknown;
  /** The answer or result that is not used; absent when there is none. */
  readonly response?: unknown;
  /** What the call threw; absent when it did not. */
  readonly error?: unknown;
  /** Attempts made after the first one. */
  readonly retries?: number | undefined;
  readonly confidence?: number | undefined;
  readonly hallucinationRisk?: number | undefined;
  readonly riskTier?: string | undefined;
  readonly promptTemplateId?: string | undefined;
  /** Span it stands in for, of which the fallback's becomes a child. @defaultValue the active span */
  readonly parent?: SpanReference | undefined;
}

/** Answers with a text or value that is always the same, or with what a function of yours makes of the request. */
export interface TemplateRoute {
  readonly type: 'template';
  readonly respond: string | number | boolean | object | null | ((request: FallbackRequest) => unknown);
}

/** Asks a person: the request goes to a queue, and the caller gets told so at once. */
export interface HumanReviewRoute {
  readonly type: 'human_review';
  readonly queue: ReviewQueue;
  /** What the person sees. @defaultValue prompt, arguments and response of the request */
  readonly content?: ((request: FallbackRequest) => unknown) | undefined;
  /** Undecided after this many milliseconds, the review expires. @defaultValue the queue's */
  readonly expiresInMs?: number | undefined;
  /** What the caller gets meanwhile. @defaultValue `{ status: 'pending_review', reviewId }` */
  readonly respond?: ((request: FallbackRequest, reviewId: string) => unknown) | undefined;
}

/** Gives the refused answer, or the call that was not made, as a draft for the caller to finish. */
export interface DraftOnlyRoute {
  readonly type: 'draft_only';
  /** What the caller gets. @defaultValue `{ status: 'draft_only', draft }`, the response or else the arguments */
  readonly respond?: ((request: FallbackRequest) => unknown) | undefined;
}

/** How one tool degrades. */
export type FallbackRoute = TemplateRoute | HumanReviewRoute | DraftOnlyRoute;

/** What a fallback gave. */
export interface FallbackOutcome {
  readonly response: unknown;
  readonly fallbackType: FallbackRoute['type'];
  readonly fallbackReason: string;
  readonly reviewId: string | undefined;
  /** The fallback's span. */
  readonly span: SpanReference;
}
