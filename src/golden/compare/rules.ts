import type { Tolerance } from '../../json/index.ts';
import { normalizedPromptHash, selfConsistencyScore } from '../../signals/index.ts';
import {
  type AnswerCheck,
  describeDifference,
  type Finding,
  isSameButFor,
  type Matcher,
  matchPattern,
} from '../file/index.ts';

const PLACE = 'final_result';

/** Checks a final answer by the golden's rule; undefined if it passes. */
export function answerFinding(check: AnswerCheck, expected: unknown, actual: unknown): Finding | undefined {
  const difference = { place: PLACE, expected, actual };
  if (check.check === 'any') return undefined;
  const left = readText(expected);
  const right = readText(actual);
  switch (check.check) {
    case 'exact':
      return left === right ? undefined : { ...difference, message: describeDifference(difference) };
    case 'normalised_hash':
      if (normalizedPromptHash(left) === normalizedPromptHash(right)) return undefined;
      return {
        ...difference,
        message: `${describeDifference(difference)} (ids, dates, numbers and case do not count)`,
      };
    case 'contains': {
      const missing = check.texts.filter((text) => !right.toLowerCase().includes(text.toLowerCase()));
      if (missing.length === 0) return undefined;
      const texts = missing.map((text) => JSON.stringify(text)).join(', ');
      return { ...difference, message: `${PLACE}: the answer lacks ${texts}` };
    }
    case 'token_overlap': {
      const overlap = left === right ? 1 : selfConsistencyScore(left, right);
      if (overlap >= check.least) return undefined;
      const found = overlap.toFixed(2);
      return {
        ...difference,
        message: `${PLACE}: word overlap with the golden's answer is ${found}, below ${check.least}`,
      };
    }
  }
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** The tolerance that matchers define. `[*]` in a path matches any index. */
export function readTolerance(matchers: Readonly<Record<string, Matcher>>): Tolerance {
  const byPath = new Map(Object.entries(matchers));
  if (byPath.size === 0) return () => undefined;
  return (place) => {
    const matcher = byPath.get(place) ?? byPath.get(place.replace(/\[\d+\]/g, '[*]'));
    return matcher === undefined ? undefined : (expected, actual) => satisfies(matcher, expected, actual);
  };
}

function satisfies(matcher: Matcher, expected: unknown, actual: unknown): boolean {
  if (typeof matcher === 'object') {
    if (typeof actual !== 'string') return false;
    if ('like' in matcher) return matchPattern(matcher.like, actual) !== undefined;
    return typeof expected === 'string' && isSameButFor(matcher.volatile, expected, actual);
  }
  switch (matcher) {
    case 'any':
      return true;
    case 'same_type':
      return readType(expected) === readType(actual);
    case 'uuid':
      return typeof actual === 'string' && UUID.test(actual);
    case 'timestamp':
      return typeof actual === 'string' && TIMESTAMP.test(actual);
    case 'number':
      return (
        typeof actual === 'number' ||
        (typeof actual === 'string' && actual.trim() !== '' && !Number.isNaN(Number(actual)))
      );
  }
}

function readType(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}
