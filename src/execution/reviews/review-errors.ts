import { ObservatoryError } from '../../base/index.ts';
import type { ReviewClaim, ReviewInFull } from './types.ts';

export function reviewNotFound(id: string): ObservatoryError {
  return new ObservatoryError('REVIEW_NOT_FOUND', `There is no review ${id}`);
}

/** Why a claim cannot decide a review. */
export function reviewConflict(found: ReviewInFull, claim: ReviewClaim): ObservatoryError {
  const { id, status, claimedBy, decidedBy, expiresAt } = found;
  const how = {
    pending: 'is not claimed',
    claimed: `is claimed by '${claimedBy}' with token ${found.token}`,
    approved: `was approved by '${decidedBy}'`,
    rejected: `was rejected by '${decidedBy}'`,
    expired: `expired at ${expiresAt}`,
  }[status];
  return new ObservatoryError(
    'REVIEW_CONFLICT',
    `The review ${id} ${how}; the claim of '${claim.claimedBy}' with token ${claim.token} cannot decide it`,
  );
}
