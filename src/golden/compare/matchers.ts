import type { Matcher, Tolerance } from '../file/index.ts';

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** The tolerance that matchers by path stand for; `[*]` in a path is any index. */
export function toleranceOf(matchers: Readonly<Record<string, Matcher>>): Tolerance {
  const byPath = new Map(Object.entries(matchers));
  if (byPath.size === 0) return () => undefined;
  return (place) => {
    const matcher = byPath.get(place) ?? byPath.get(place.replace(/\[\d+\]/g, '[*]'));
    return matcher === undefined ? undefined : (expected, actual) => satisfies(matcher, expected, actual);
  };
}

function satisfies(matcher: Matcher, expected: unknown, actual: unknown): boolean {
  if (typeof matcher === 'object') return typeof actual === 'string' && isLike(actual, matcher.like);
  switch (matcher) {
    case 'any':
      return true;
    case 'same_type':
      return typeOf(expected) === typeOf(actual);
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

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/** Whether a text fits a pattern in which `*` stands for any characters. Linear in the text. */
function isLike(text: string, pattern: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head) || text.length < head.length + tail.length || !text.endsWith(tail)) return false;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= text.length - tail.length;
}
