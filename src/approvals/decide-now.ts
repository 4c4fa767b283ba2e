import { ObservatoryError } from '../base/index.ts';
import type { PostgresReviewQueue } from './postgres-queue.ts';
import { whyNot } from './review-errors.ts';
import type { DecisionNow, ReviewInFull } from './types.ts';

/** The claim is decided at once; a crash between the two frees it after this time. */
const LEASE_MS = 5_000;

/**
 * Claims a review and decides it.
 * @throws ObservatoryError `REVIEW_CONFLICT` when somebody else has claimed or decided it, or it has expired;
 * or its content shows another call; `REVIEW_NOT_FOUND`; `INVALID_OPTION` for a scope that was not offered.
 */
export async function decideNow(
  queue: PostgresReviewQueue,
  id: string,
  { how, by, note, scope }: DecisionNow,
): Promise<ReviewInFull> {
  if (how === 'approve') await queue.checkApproval(id, scope);
  const claim = await queue.claim({ worker: by, id, leaseMs: LEASE_MS });
  if (claim === undefined) throw new ObservatoryError('REVIEW_CONFLICT', whyNot(await queue.get(id)));
  return how === 'approve'
    ? await queue.approve(claim, { note, scope })
    : await queue.reject(claim, { note });
}
