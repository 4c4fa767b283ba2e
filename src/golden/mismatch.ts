import { ObservatoryError } from '../errors.ts';
import { type Difference, describeDifference } from './difference.ts';

const MAX_LISTED = 8;

/**
 * A replay that left its golden, or a result that is not the golden's. `differences` has every place that was found;
 * the message lists the first ones.
 */
export class GoldenMismatchError extends ObservatoryError {
  readonly differences: readonly Difference[];

  constructor(what: string, differences: readonly Difference[] = []) {
    const listed = differences
      .slice(0, MAX_LISTED)
      .map((difference) => `\n  ${describeDifference(difference)}`);
    const more = differences.length - listed.length;
    super('GOLDEN_MISMATCH', what + listed.join('') + (more > 0 ? `\n  and ${more} more` : ''));
    this.name = 'GoldenMismatchError';
    this.differences = differences;
  }
}
