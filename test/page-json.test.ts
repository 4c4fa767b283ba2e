import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonParts } from '../src/ui/server/send.ts';

const written = async (answer: object) => {
  const parts: string[] = [];
  for await (const part of jsonParts(answer)) parts.push(part);
  return parts;
};

test('an answer in parts is the JSON of it', async () => {
  const list = (count: number) => Array.from({ length: count }, (_, i) => ({ i, text: `"${i}",\n]` }));
  for (const answer of [
    {},
    { none: undefined },
    { a: 1, none: undefined, b: null, c: 'x,"' },
    { list: [], nested: { list: list(300) } },
    ...[1, 99, 100, 101, 200, 201].map((count) => ({
      before: 0,
      list: list(count),
      after: [null, undefined],
    })),
  ]) {
    assert.equal((await written(answer)).join(''), JSON.stringify(answer));
  }
});

test('no part of a long run is large, and others get their turn meanwhile', async () => {
  const spans = Array.from({ length: 20_000 }, (_, i) => ({ id: i, name: 'x'.repeat(200) }));
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const parts: string[] = [];
  for await (const part of jsonParts({ spans })) {
    parts.push(part);
    // As long as sending takes: 200 parts are then 100 ms of work, whatever the machine.
    for (const until = performance.now() + 0.5; performance.now() < until; );
  }
  isOver = true;
  assert.ok(Math.max(...parts.map(({ length }) => length)) < 50_000);
  assert.ok(parts.length >= 200, `${parts.length} parts`);
  assert.ok(turns >= 5, `${turns} turns`);
});
