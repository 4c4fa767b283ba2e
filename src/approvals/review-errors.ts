import { ObservatoryError } from '../base/index.ts';
import type { Review, ReviewClaim, ReviewInFull } from './types.ts';

export function reviewNotFound(id: string): ObservatoryError {
  return new ObservatoryError('REVIEW_NOT_FOUND', `There is no review ${id}`);
}

/** A decision that was repeated with another response or note, neither of which is stored. */
export function decidedOtherwise({ id, status, decidedBy, decidedAt }: ReviewInFull): ObservatoryError {
  return new ObservatoryError(
    'REVIEW_CONFLICT',
    `The review ${id} was ${status} by '${decidedBy}' at ${decidedAt} with another response or note, which stays`,
  );
}

/** An approval that approves nothing any more, or never did. */
export function nothingToRevoke({ id, status }: ReviewInFull): ObservatoryError {
  const how = status === 'approved' ? 'was used, was revoked or is over' : `is ${status}`;
  return new ObservatoryError('REVIEW_CONFLICT', `The approval ${id} ${how}: there is nothing to revoke`);
}

/** A request whose content is not what its approval would be for. */
export function anotherCall(id: string): ObservatoryError {
  return new ObservatoryError(
    'REVIEW_CONFLICT',
    `The request ${id} shows another call than its approval would be for: it can only be rejected`,
  );
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

/** Why a review cannot be claimed and decided at once. */
export function whyNot({ status, decidedBy, claimedBy }: Review): string {
  if (status === 'expired') return 'It has expired';
  if (status === 'approved' || status === 'rejected') return `It was ${status} by ${decidedBy} already`;
  return `It is claimed by ${claimedBy}, who decides it`;
}
