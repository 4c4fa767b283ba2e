/**
 * Tests that come in two sizes: `npm test` runs a file that imports this at the usual size, `npm run test:long` runs it
 * again in full. To run one file in full: `OBSERVATORY_TEST_SIZE=full node --test dist/test/NAME.test.js`. `million` is
 * full, with a million rows where a suite is about so many, and every case where a suite is about many, which takes it
 * ten minutes and more.
 */
import { test } from 'node:test';

const SIZE = process.env.OBSERVATORY_TEST_SIZE;
const isFull = SIZE === 'full' || SIZE === 'million';

/** How much a test tries: the first by default, the second in the long run. */
export function sized<T>(usual: T, full: T): T {
  return isFull ? full : usual;
}

/** Rows of a suite about large tables. */
export function manyRows(usual: number): number {
  return SIZE === 'million' ? 1_000_000 : usual;
}

/** All cases of a suite that takes ten minutes with them, else every second one, by the place of a row in a table. */
export function everyOther<T>(cases: readonly T[], place: number): readonly T[] {
  return SIZE === 'million' ? cases : cases.filter((_, i) => (i + place) % 2 === 0);
}

/** A test of the long run only: what it tries would take the others' time. */
export const longTest = ((...args: Parameters<typeof test>) =>
  isFull ? test(...args) : Promise.resolve()) as typeof test;
