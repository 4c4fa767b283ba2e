import { ObservatoryError } from '../../base/index.ts';
import { ABSENT, type Difference } from '../../json/index.ts';

/** One way in which a run differs from its golden. */
export interface Finding extends Difference {
  /** One line, including the place. */
  readonly message: string;
}

const MAX_SHOWN = 160;

/** Describes a difference in one line. Long texts are cut to where they start to differ. */
export function describeDifference({ place, expected, actual }: Difference): string {
  if (typeof expected === 'string' && typeof actual === 'string') {
    const from = Math.max(0, firstDifference(expected, actual) - 40);
    return `${place}: expected ${excerpt(expected, from)}, got ${excerpt(actual, from)}`;
  }
  return `${place}: expected ${show(expected)}, got ${show(actual)}`;
}

function firstDifference(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) if (left[index] !== right[index]) return index;
  return length;
}

function excerpt(text: string, from: number): string {
  const part = text.slice(from, from + MAX_SHOWN);
  return `${from > 0 ? '…' : ''}${JSON.stringify(part)}${from + MAX_SHOWN < text.length ? '…' : ''}`;
}

function show(value: unknown): string {
  if (value === ABSENT) return 'nothing';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

const MAX_LISTED = 8;

/**
 * A replay departed from its golden, or a result does not match it. The message lists the first differences,
 * `differences` has all that were found.
 */
export class GoldenMismatchError extends ObservatoryError {
  readonly differences: readonly (Difference | Finding)[];

  constructor(what: string, differences: readonly (Difference | Finding)[] = []) {
    const listed = differences.slice(0, MAX_LISTED).map((one) => `\n  ${formatMessage(one)}`);
    const more = differences.length - listed.length;
    super('GOLDEN_MISMATCH', what + listed.join('') + (more > 0 ? `\n  and ${more} more` : ''));
    this.name = 'GoldenMismatchError';
    this.differences = differences;
  }
}

function formatMessage(one: Difference | Finding): string {
  return 'message' in one ? one.message : describeDifference(one);
}
