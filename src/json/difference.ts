import { isObject } from './lenient-json.ts';

/** Where two JSON values differ, and how. */
export interface Difference {
  /** Path from the root: `body.messages[3].content`. */
  readonly place: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Represents a missing member. */
export const ABSENT: unique symbol = Symbol('absent');

/** The first differences are enough to see what happened. */
const MAX_DIFFERENCES = 50;

/** Decides whether values at a place may differ; `undefined` where they must be equal. */
export type Tolerance = (place: string) => ((expected: unknown, actual: unknown) => boolean) | undefined;

/**
 * Differences between two JSON values, at most 50, in the order of the expected value.
 * @param isSame of texts that are not equal, at places without a tolerance.
 */
export function differencesBetween(
  expected: unknown,
  actual: unknown,
  place = '',
  tolerance: Tolerance = () => undefined,
  isSame: (expected: string, actual: string) => boolean = Object.is,
): Difference[] {
  const found: Difference[] = [];
  compare(expected, actual, place, { tolerance, isSame, found });
  return found;
}

interface Comparing {
  readonly tolerance: Tolerance;
  readonly isSame: (expected: string, actual: string) => boolean;
  readonly found: Difference[];
}

function compare(expected: unknown, actual: unknown, place: string, comparing: Comparing): void {
  const { tolerance, isSame, found } = comparing;
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
      compare(left, right, `${place}[${index}]`, comparing);
    }
    return;
  }
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const left = Object.hasOwn(expected, key) ? expected[key] : ABSENT;
      const right = Object.hasOwn(actual, key) ? actual[key] : ABSENT;
      compare(left, right, place === '' ? key : `${place}.${key}`, comparing);
    }
    return;
  }
  if (typeof expected === 'string' && typeof actual === 'string' && isSame(expected, actual)) return;
  found.push({ place: place === '' ? 'the value' : place, expected, actual });
}
