export { type ClaimOptions, PostgresReviewQueue, type PostgresReviewQueueOptions } from './postgres-queue.ts';
export type {
  ClaimedReview,
  Review,
  ReviewClaim,
  ReviewInFull,
  ReviewOutcome,
  ReviewQueue,
  ReviewStatus,
  ReviewSubmission,
} from './types.ts';
