import { printable } from '../../base/index.ts';

/**
 * An answer that a person decides on: characters that reorder text or cannot be seen are escaped in it, since they make one
 * call or definition look like another. JSON in it keeps its meaning.
 */
export function printableAnswer<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (Array.isArray(value)) return value.map(printableAnswer) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, printableAnswer(one as unknown)]),
  ) as T;
}
