import { ObservatoryError } from '../../base/index.ts';
import { type Difference, describeDifference, type Finding } from './difference.ts';

const MAX_LISTED = 8;

/**
 * A replay that left its golden, or a result that is not the golden's. `differences` has every place that was found;
 * the message lists the first ones.
 */
export class GoldenMismatchError extends ObservatoryError {
  readonly differences: readonly (Difference | Finding)[];

  constructor(what: string, differences: readonly (Difference | Finding)[] = []) {
    const listed = differences.slice(0, MAX_LISTED).map((one) => `\n  ${messageOf(one)}`);
    const more = differences.length - listed.length;
    super('GOLDEN_MISMATCH', what + listed.join('') + (more > 0 ? `\n  and ${more} more` : ''));
    this.name = 'GoldenMismatchError';
    this.differences = differences;
  }
}

function messageOf(one: Difference | Finding): string {
  return 'message' in one ? one.message : describeDifference(one);
}
