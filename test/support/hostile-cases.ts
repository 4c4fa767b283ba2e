/** Schemas and values that together ask for far more work than either alone. */

export interface HostileCase {
  readonly name: string;
  readonly schema: object;
  readonly value: unknown;
}

const rep = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const byName = <T>(count: number, name: (index: number) => string, value: T): Record<string, T> =>
  Object.fromEntries(rep(count, (i) => [name(i), value]));

/** A schema in which each definition refers to the next one twice. */
function doubling(levels: number): object {
  const $defs: Record<string, unknown> = { [`d${levels}`]: true };
  for (let i = 0; i < levels; i += 1) {
    const next = { $ref: `#/$defs/d${i + 1}` };
    $defs[`d${i}`] = { allOf: [next, next] };
  }
  return { $defs, $ref: '#/$defs/d0' };
}

function nested(levels: number, wrap: (inner: object) => object, inner: object): object {
  return levels === 0 ? inner : wrap(nested(levels - 1, wrap, inner));
}

const objects = rep(5_000, (i) => ({ a: i }));

export const HOSTILE: readonly HostileCase[] = [
  {
    name: 'uniqueItems on 20,000 objects',
    schema: { uniqueItems: true },
    value: rep(20_000, (i) => ({ a: i })),
  },
  {
    name: 'allOf of ten uniqueItems',
    schema: { allOf: rep(10, () => ({ uniqueItems: true })) },
    value: objects,
  },
  {
    name: 'uniqueItems of long texts',
    schema: { uniqueItems: true },
    value: rep(90, (i) => 'x'.repeat(10_000) + i),
  },
  { name: 'format url', schema: { format: 'url' }, value: `http://${'a.'.repeat(20_000)}!` },
  { name: 'format email', schema: { format: 'email' }, value: `${'a.'.repeat(400_000)}@` },
  { name: 'format uri-template', schema: { format: 'uri-template' }, value: `${'{a}'.repeat(60_000)}{` },
  { name: 'format duration', schema: { format: 'duration' }, value: `P${'1'.repeat(100_000)}` },
  {
    name: 'format regex',
    schema: { items: { format: 'regex' } },
    value: rep(1_000, () => '(a|b)*'.repeat(100)),
  },
  {
    name: 'a thousand formats on one text',
    schema: { allOf: rep(1_000, () => ({ format: 'uri' })) },
    value: `http://${'a'.repeat(10_000)}`,
  },
  { name: 'a pattern that backtracks', schema: { pattern: '^(a+)+$' }, value: `${'a'.repeat(100_000)}!` },
  {
    name: 'a pattern with a long tail',
    schema: { pattern: `^a*${'a'.repeat(1_000)}b$` },
    value: 'a'.repeat(100_000),
  },
  { name: 'a pattern of many states', schema: { pattern: '(?:a?){300}a{300}$' }, value: 'a'.repeat(5_000) },
  { name: 'a pattern of many repeats', schema: { pattern: 'x{1000}'.repeat(100) }, value: 'x' },
  {
    name: 'many character classes',
    schema: { pattern: `^${'\\p{L}'.repeat(400)}$` },
    value: 'é'.repeat(400),
  },
  {
    name: 'many patterns',
    schema: { allOf: rep(2_000, (i) => ({ pattern: `(a|b${i})+c` })) },
    value: 'a'.repeat(1_000),
  },
  {
    name: 'patternProperties on many keys',
    schema: { patternProperties: byNameOf(2_000, (i) => `^a${i}`) },
    value: byName(10_000, (i) => `ab${i}`, 1),
  },
  {
    name: 'enum of objects, often',
    schema: { allOf: rep(100, () => ({ enum: [{ a: 1 }, ...rep(20, (i) => [i])] })) },
    value: objects,
  },
  { name: 'const of an object, often', schema: { allOf: rep(500, () => ({ const: [1] })) }, value: objects },
  {
    name: 'unevaluatedProperties beside many branches',
    schema: {
      allOf: rep(500, () => ({ anyOf: [{ additionalProperties: true }] })),
      unevaluatedProperties: false,
    },
    value: byName(10_000, (i) => `k${i}`, 1),
  },
  {
    name: 'unevaluatedProperties, nested',
    schema: nested(25, (inner) => ({ anyOf: [inner], unevaluatedProperties: false }), {
      additionalProperties: true,
    }),
    value: byName(10_000, (i) => `k${i}`, 1),
  },
  { name: 'references that double', schema: doubling(40), value: {} },
  { name: 'a reference to itself', schema: { $ref: '#' }, value: {} },
  {
    name: 'a dynamic reference to itself',
    schema: { $dynamicAnchor: 'a', allOf: [{ $dynamicRef: '#a' }] },
    value: {},
  },
  {
    name: 'many schemas for each item',
    schema: { items: { allOf: rep(1_000, () => ({ type: 'number' })) } },
    value: rep(50_000, (i) => i),
  },
  {
    name: 'contains, often',
    schema: { allOf: rep(1_000, () => ({ contains: { const: -1 } })) },
    value: rep(5_000, (i) => i),
  },
  { name: 'a large enum', schema: { enum: rep(80_000, () => ({})) }, value: 1 },
  { name: 'many schemas', schema: { allOf: rep(20_000, () => ({})) }, value: 1 },
  { name: 'many properties', schema: { properties: byNameOf(9_000, (i) => `p${i}`) }, value: { p1: 'a' } },
  { name: 'many $ids', schema: { allOf: rep(4_000, (i) => ({ $id: `http://a.b/${i}` })) }, value: 1 },
  {
    name: 'lengths in code points',
    schema: { allOf: rep(1_000, () => ({ maxLength: 1_000_000_000 })) },
    value: '😀'.repeat(200_000),
  },
  {
    name: 'a value that is nested deeply',
    schema: { items: { $ref: '#' } },
    value: JSON.parse('['.repeat(2_000) + ']'.repeat(2_000)),
  },
];

function byNameOf(count: number, name: (index: number) => string): Record<string, object> {
  return byName(count, name, { type: 'string' });
}
