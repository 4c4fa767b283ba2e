import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptValues } from '../src/json/index.ts';

test('a kept value stays as it is while its owner changes it, and its texts are counted', () => {
  const value = { role: 'user', content: [{ type: 'text', text: 'one' }], n: 1, none: null };
  const before = structuredClone(value);
  const values = new KeptValues();
  const kept = values.keep(value);
  value.content[0] = { type: 'text', text: 'two' };
  value.content.push({ type: 'text', text: 'three' });
  value.role = 'tool';
  assert.deepEqual(kept, before);
  assert.equal(values.characters, 'user'.length + 'text'.length + 'one'.length);
});

test('long lists of numbers, buffers and objects of other classes are shared', () => {
  const vector = Array.from({ length: 1536 }, () => 0.5);
  const value = { vector, ids: [1, 2, 3], bytes: Buffer.from('x'), at: new Date(0) };
  const kept = new KeptValues().keep(value) as typeof value;
  assert.notEqual(kept, value);
  assert.equal(kept.vector, value.vector);
  value.ids.push(4);
  assert.deepEqual(kept.ids, [1, 2, 3]);
  assert.equal(kept.bytes, value.bytes);
  assert.equal(kept.at, value.at);
});

test('what is copied is bounded in depth and number, cycles included', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  assert.ok(new KeptValues().keep(cycle));
  const many = Array.from({ length: 50_000 }, () => ({ text: 'x' }));
  const kept = new KeptValues().keep(many) as typeof many;
  assert.notEqual(kept[0], many[0]);
  assert.equal(kept.length, 50_000);
  assert.equal(kept.at(-1), many.at(-1));
});
