export { isApprovalOf } from './approval-parts.ts';
export { decideNow } from './decide-now.ts';
export { PostgresReviewQueue } from './postgres-queue.ts';
export { STANDS_UNTIL } from './sql.ts';
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
