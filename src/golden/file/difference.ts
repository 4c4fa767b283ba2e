import { ObservatoryError } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';

/** Where two JSON values differ, and how. */
export interface Difference {
  /** Path from the root: `body.messages[3].content`. */
  readonly place: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** One way in which a run differs from its golden. */
export interface Finding extends Difference {
  /** One line, including the place. */
  readonly message: string;
}

/** Represents a missing member. */
export const ABSENT: unique symbol = Symbol('absent');

/** The first differences are enough to see what happened. */
const MAX_DIFFERENCES = 50;
const MAX_SHOWN = 160;

/** Decides whether values at a place may differ; `undefined` where they must be equal. */
export type Tolerance = (place: string) => ((expected: unknown, actual: unknown) => boolean) | undefined;

/** Differences between two JSON values, at most 50, in the order of the expected value. */
export function differencesBetween(
  expected: unknown,
  actual: unknown,
  place = '',
  tolerance: Tolerance = () => undefined,
): Difference[] {
  const found: Difference[] = [];
  compare(expected, actual, place, tolerance, found);
  return found;
}

/** Describes a difference in one line. Long texts are cut to where they start to differ. */
export function describeDifference({ place, expected, actual }: Difference): string {
  if (typeof expected === 'string' && typeof actual === 'string') {
    const from = Math.max(0, firstDifference(expected, actual) - 40);
    return `${place}: expected ${excerpt(expected, from)}, got ${excerpt(actual, from)}`;
  }
  return `${place}: expected ${show(expected)}, got ${show(actual)}`;
}

function compare(
  expected: unknown,
  actual: unknown,
  place: string,
  tolerance: Tolerance,
  found: Difference[],
): void {
  if (found.length >= MAX_DIFFERENCES || Object.is(expected, actual)) return;
  const tolerates = tolerance(place);
  if (tolerates !== undefined) {
    if (!tolerates(expected, actual)) found.push({ place, expected, actual });
    return;
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = Math.max(expected.length, actual.length);
    for (let index = 0; index < length; index += 1) {
      const left: unknown = index < expected.length ? expected[index] : ABSENT;
      const right: unknown = index < actual.length ? actual[index] : ABSENT;
      compare(left, right, `${place}[${index}]`, tolerance, found);
    }
    return;
  }
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const left = Object.hasOwn(expected, key) ? expected[key] : ABSENT;
      const right = Object.hasOwn(actual, key) ? actual[key] : ABSENT;
      compare(left, right, place === '' ? key : `${place}.${key}`, tolerance, found);
    }
    return;
  }
  found.push({ place: place === '' ? 'the value' : place, expected, actual });
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
