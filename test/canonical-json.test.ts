import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { canonicalHash, canonicalJson } from '../src/json/index.ts';

test('writes the examples of RFC 8785', () => {
  // Section 3.2.2: numbers, strings and literals.
  const sample = JSON.parse(`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
    "literals": [null, true, false]
  }`);
  assert.equal(
    canonicalJson(sample),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
  // Section 3.2.3: keys sort by UTF-16 code units, so the emoji comes before U+FB33.
  const keys = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 };
  assert.equal(canonicalJson(keys), '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"\u{1f600}":5,"\ufb33":3}');
});

test('hashes equal values alike, whatever the order of their keys', () => {
  const a = { b: [1, { d: -0, c: 'x' }], a: null };
  const b = { a: null, b: [1, { c: 'x', d: 0 }] };
  assert.equal(canonicalHash(a), canonicalHash(b));
  const expected = createHash('sha256').update('{"a":null,"b":[1,{"c":"x","d":0}]}').digest('hex');
  assert.equal(canonicalHash(a), expected);
  assert.notEqual(canonicalHash(a), canonicalHash({ ...a, a: 0 }));
});

test('leaves undefined fields out, as JSON does, and keeps odd keys', () => {
  assert.equal(canonicalJson({ b: undefined, a: [undefined] }), '{"a":[null]}');
  assert.equal(
    canonicalJson(JSON.parse('{"__proto__":1,"constructor":2}')),
    '{"__proto__":1,"constructor":2}',
  );
});

test('agrees with JSON.parse and JSON.stringify on random values', () => {
  let seed = 42;
  const random = () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  const value = (depth: number): unknown => {
    const pick = Math.floor(random() * (depth === 0 ? 4 : 6));
    if (pick === 0) return (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
    if (pick === 1) return String.fromCharCode(random() * 0xffff, random() * 0xffff, 34, 92, 10);
    if (pick === 2) return random() < 0.5;
    if (pick === 3) return null;
    const size = Math.floor(random() * 5);
    if (pick === 4) return Array.from({ length: size }, () => value(depth - 1));
    return Object.fromEntries(Array.from({ length: size }, () => [`k${random()}`, value(depth - 1)]));
  };
  for (let round = 0; round < 500; round += 1) {
    const original = value(4);
    const text = canonicalJson(original, { loneSurrogates: 'escape' });
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(original)));
    assert.equal(canonicalJson(JSON.parse(text), { loneSurrogates: 'escape' }), text);
  }
});

test('quotes every character as JSON does, in short texts and long ones', () => {
  for (let unit = 0; unit <= 0xffff; unit += 1) {
    if (unit >= 0xd800 && unit <= 0xdfff) continue;
    const character = String.fromCharCode(unit);
    for (const text of [character, `${character}${'x'.repeat(40)}`]) {
      if (canonicalJson(text) !== JSON.stringify(text)) assert.fail(`U+${unit.toString(16)}`);
    }
  }
});

test('refuses what JSON cannot hold, by name', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  for (const bad of [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
    () => 1,
    Symbol('s'),
    undefined,
    cyclic,
    deep,
  ]) {
    assert.throws(
      () => canonicalJson(bad),
      (error) => ObservatoryError.isInstance(error) && error.code === 'INVALID_INPUT',
    );
  }
});
