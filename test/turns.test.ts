import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../src/postgres/turns.ts';

test('statements go before views, and views before questions of others', () => {
  const turns = new Turns<string>();
  turns.add('question', 'sql', 0);
  turns.add('view', 'runs', 0);
  turns.add('statement', 'write', 0);
  turns.add('statement', 'another', 0);
  const order = [0, 0, 0, 0].map(() => turns.next(1000));
  assert.deepEqual(order, ['write', 'another', 'runs', 'sql']);
  assert.deepEqual([turns.next(1000), turns.nextAtMs], [undefined, undefined]);
});

test('a rank that took long leaves as much time to those before it, or until they have nothing to do', () => {
  const turns = new Turns<string>();
  turns.ended('question', 5000, 5000);
  turns.add('statement', 'write', 5000);
  turns.add('question', 'sql', 5000);
  assert.equal(turns.next(5000), 'write');
  for (let nowMs = 5010; nowMs < 10_000; nowMs += 90) {
    turns.ended('statement', 1, nowMs);
    assert.equal(turns.next(nowMs), undefined, `at ${nowMs}`);
  }
  assert.equal(turns.next(10_000), 'sql', 'it gets its half');
  turns.ended('question', 5000, 15_000);
  turns.add('view', 'runs', 15_000);
  turns.add('question', 'sql', 15_000);
  assert.equal(turns.next(15_000), 'runs', 'a view does not wait for what others took');
  turns.ended('view', 10, 15_010);
  assert.deepEqual([turns.next(15_100), turns.nextAtMs], [undefined, 15_110]);
  assert.equal(turns.next(15_110), 'sql', 'nobody before it has come for a while');
});

test('short turns follow one another', () => {
  const turns = new Turns<string>();
  for (let nowMs = 0; nowMs < 1000; nowMs += 100) {
    turns.add('question', 'sql', nowMs);
    assert.equal(turns.next(nowMs), 'sql');
    turns.ended('question', 100, nowMs + 100);
  }
});
