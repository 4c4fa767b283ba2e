/**
 * What waits for a person: calls that a policy holds and answers that a fallback puts aside, both as reviews in one queue.
 * It may import `base`, `json` and `postgres`.
 */
export {
  APPROVAL_SCOPES,
  type ApprovalAnswer,
  type ApprovalBinding,
  type ApprovalDocument,
  type ApprovalLimits,
  type ApprovalQueue,
  type ApprovalRequest,
  type ApprovalScope,
  Approvals,
  approvalLimits,
  cleanPreview,
  computeFingerprint,
  toSubject,
} from './approval.ts';
export { isApproval } from './approval-parts.ts';
export { decideNow } from './decide-now.ts';
export { PostgresReviewQueue } from './postgres-queue.ts';
export { ReviewDatabase } from './review-database.ts';
export { GATE_STATEMENTS, LEDGER, STANDS_UNTIL } from './sql.ts';
export type {
  ClaimedReview,
  ClaimOptions,
  DecisionNow,
  FinalOutcome,
  PostgresReviewQueueOptions,
  Review,
  ReviewClaim,
  ReviewInFull,
  ReviewOutcome,
  ReviewQueue,
  ReviewStatus,
  ReviewSubmission,
} from './types.ts';
export type { ReviewWaitOptions } from './waits.ts';
