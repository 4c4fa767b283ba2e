import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attempted, bisect } from '../src/base/index.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Bisects, and tells what was done, what failed alone and what was attempted. */
async function search(count: number, attempt: (part: readonly number[]) => Attempted) {
  const done: number[] = [];
  const alone: number[] = [];
  let failures = 0;
  const left = await bisect(numbers(count), async (part) => {
    const attempted = attempt(part);
    if (attempted === 'done') done.push(...part);
    else failures += 1;
    if (attempted === 'bad' && part.length === 1) alone.push(part[0] as number);
    return attempted;
  });
  return { done, alone, failures, left };
}

test('one bad item among 512 stands alone after ten failed attempts, and all others are done once and in order', async () => {
  const { done, alone, failures, left } = await search(512, (part) => (part.includes(300) ? 'bad' : 'done'));
  assert.deepEqual(done, numbers(512).toSpliced(300, 1));
  assert.deepEqual([alone, failures, left], [[300], 10, []]);
});

test('every item is attempted alone when all are bad, and none twice', async () => {
  const { alone, failures } = await search(7, () => 'bad');
  assert.deepEqual([alone, failures], [numbers(7), 13]);
});

test('a search that stops returns what is left in order, the part that stopped it first', async () => {
  const { done, left } = await search(8, (part) => {
    if (part.length > 2) return 'bad';
    return part.includes(2) ? 'stop' : 'done';
  });
  assert.deepEqual([done, left], [[0, 1], numbers(8).slice(2)]);
});

test('nothing is attempted twice when the first attempt succeeds, and an error ends the search', async () => {
  assert.deepEqual((await search(5, () => 'done')).done, numbers(5));
  await assert.rejects(
    bisect([1, 2], async () => {
      throw new Error('no connection');
    }),
    /no connection/,
  );
});
