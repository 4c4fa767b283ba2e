import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValueCounter } from '../src/json/index.ts';
import { seededRandom } from './support/random.ts';

/** What a text costs: its bytes with the closing quote, and more for each escape. */
function textCost(json: string): number {
  const escapes = json.match(/\\./g)?.length ?? 0;
  return (Buffer.byteLength(json) - 1 + 8 * escapes) / 256;
}

/** The cost of a value, counted with the parser's help. */
function costOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return textCost(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return (12 * JSON.stringify(value).length) / 256;
  const members = Object.values(value);
  const isArray = Array.isArray(value);
  const inside = isArray && depth === 0 ? 0 : depth + 1;
  const keys = isArray ? [] : Object.keys(value);
  const marks = isArray ? 0 : (depth === 0 ? 200 : 0) + members.length * (inside <= 3 ? 8 : 2);
  return (
    1 +
    Math.max(0, members.length - 1) +
    marks +
    keys.reduce((sum, key) => sum + textCost(JSON.stringify(key)), 0) +
    members.reduce((sum: number, one: unknown) => sum + costOf(one, inside), 0)
  );
}

test('values, texts, escapes and numbers are counted by what they cost, however the bytes are cut', () => {
  const random = seededRandom(7);
  const texts = ['a,b', '[{:,', '"[,', '\\', '\\"[[', 'é,☕', '\n,', ''];
  const text = () => texts[Math.floor(random() * texts.length)] ?? '';
  const make = (depth: number): unknown => {
    if (depth > 4 || random() < 0.3) return random() < 0.3 ? [random(), 17, true, null][depth % 4] : text();
    const parts = Array.from({ length: Math.floor(random() * 5) }, () => make(depth + 1));
    return random() < 0.5 ? parts : Object.fromEntries(parts.map((part, i) => [`${text()}${i}`, part]));
  };
  const counter = new ValueCounter();
  for (let round = 0; round < 200; round += 1) {
    const value = make(0);
    const bytes = Buffer.from(JSON.stringify(value, null, round % 2 ? 1 : 0));
    let counted = 0;
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(bytes.length, at + 1 + Math.floor(random() * 9));
      counted += counter.count(bytes, at, end);
      at = end;
    }
    assert.ok(Math.abs(counted - costOf(value)) < 1e-6, bytes.toString());
    counter.reset();
  }
});

test('a quote in a line that is no JSON hides nothing in the lines after it', () => {
  for (const line of [': "', 'event: "\\', '"\\', 'x"']) {
    for (const end of ['\n', '\r', '\r\n']) {
      const counter = new ValueCounter();
      const before = counter.count(Buffer.from(line + end));
      assert.equal(counter.count(Buffer.from('[[],[]]')), 4, JSON.stringify(line + end + before));
    }
  }
});

test('names so long that the engine compares each with all others count as thousands of values', () => {
  const long = 'n'.repeat(16_400);
  const cost = (json: string, cut: number): number => {
    const counter = new ValueCounter();
    const bytes = Buffer.from(json);
    return counter.count(bytes, 0, cut) + counter.count(bytes, cut);
  };
  for (const cut of [0, 100, long.length + 3, long.length + 4]) {
    assert.ok(cost(`{"${long}" :1}`, cut) > 2_000, String(cut));
    assert.ok(cost(`["${long}",{"a":1}]`, cut) < 500, String(cut));
  }
});
