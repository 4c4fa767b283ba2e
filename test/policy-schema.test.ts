import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileLinear, compileSchema, SchemaRefusedError } from '../src/json/index.ts';
import { lintPolicy, PolicyGate } from '../src/policy/index.ts';
import { cpuMs } from './support/cpu-time.ts';
import { needsData, readRows } from './support/data.ts';
import { longTest } from './support/size.ts';

interface Group {
  file: string;
  group: string;
  schema: object | boolean;
  tests: [string, unknown, boolean][];
}

/** Runs the required tests of a suite. A group that does not compile counts as denied: none of its tests passes. */
function runSuite(file: string, dialect: string | undefined): { passed: number; total: number } {
  const remotes = new Map(
    readRows<{ uri: string; schema: unknown }>('policy/jsonschema_remotes.jsonl').map((row) => [
      row.uri,
      row.schema,
    ]),
  );
  const result = { passed: 0, total: 0 };
  for (const group of readRows<Group>(file)) {
    if (group.file.includes('optional/')) continue;
    result.total += group.tests.length;
    const hasDialect =
      typeof group.schema !== 'object' || Object.hasOwn(group.schema, '$schema') || dialect === undefined;
    const schema = hasDialect ? group.schema : { $schema: dialect, ...(group.schema as object) };
    try {
      const { check } = compileSchema(schema, { remotes });
      result.passed += group.tests.filter(([, value, isValid]) => check(value).valid === isValid).length;
    } catch (error) {
      assert.ok(error instanceof SchemaRefusedError, `${group.file}: ${String(error)}`);
    }
  }
  return result;
}

longTest('JSON-Schema-Test-Suite, draft-07, required: all 927', needsData('policy'), () => {
  const { passed, total } = runSuite(
    'policy/jsonschema_draft7.jsonl',
    'http://json-schema.org/draft-07/schema#',
  );
  assert.deepEqual([passed, total], [927, 927]);
});

test('JSON-Schema-Test-Suite, 2020-12, required: 1,279 of 1,299', needsData('policy'), () => {
  const { passed, total } = runSuite('policy/jsonschema_draft2020-12.jsonl', undefined);
  // 15 of the others want formats unchecked, 5 want metaschemas with vocabularies of their own.
  assert.deepEqual([passed, total], [1_279, 1_299]);
});

test('patterns that hold a backtracking engine for seconds are checked in milliseconds', () => {
  const hostile = [
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '(x+x+)+y',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '^(\\w+\\s?)*$',
  ];
  for (const pattern of hostile) {
    const { check } = compileSchema({ type: 'string', pattern });
    const took = cpuMs(() => {
      check(`${'a'.repeat(60_000)}!`);
      check(`${'x'.repeat(60_000)}!`);
    });
    assert.ok(took < 2_000, `${pattern}: ${took} ms`);
  }
});

test('a pattern that needs backtracking refuses the schema', () => {
  for (const pattern of ['(?=a)b', '(a)\\1', '(?<!x)y']) {
    assert.throws(() => compileSchema({ type: 'string', pattern }), SchemaRefusedError, pattern);
  }
});

test('a pattern means here what it means to ECMAScript', () => {
  const patterns = [
    '^\\s+$',
    '^\\S+$',
    '^[\\s]$',
    '^[^\\s]+$',
    '^[\\S]$',
    '^.$',
    '^\\d+$',
    '^\\w+$',
    '^[\\w.-]+@x\\.y$',
    'a{2,3}',
    '^[^]$',
    '^\\u00e9$',
    '^\\x41$',
    '^\\cJ$',
    '^\\p{Lu}\\p{Letter}+$',
    '^\\P{L}$',
    '^[\\b]$',
    '^(?:a|b)?c$',
    '^[a\\]b]+$',
    '\\/',
    '^(?<year>\\d{4})$',
    '^[[]$',
    '^[-a]$',
    '^a\\-b$',
    '^\\0$',
    '^\\u{1F600}$',
    '^\\ud83d\\ude00$',
    '$',
    '^',
    '\\bfoo\\b',
  ].filter((pattern) => {
    try {
      return new RegExp(pattern, 'u') !== undefined;
    } catch {
      return false;
    }
  });
  assert.ok(patterns.length >= 24);
  const texts = [
    '',
    'a',
    'aa',
    'aaa',
    ' ',
    '\u00a0',
    '\ufeff',
    '\u2028',
    '\n',
    '\r',
    'é',
    'A',
    'Éa',
    '1',
    '١',
    'a_b',
    'a.b@x.y',
    'c',
    'ac',
    ']',
    '[',
    '/',
    '2024',
    '-',
    'a-b',
    '\u0000',
    '\b',
    '😀',
    'foo',
    'xfoo',
    'a foo b',
    '\u180e',
    '\u200b',
  ];
  for (const pattern of patterns) {
    const linear = compileLinear(pattern);
    for (const text of texts) {
      assert.equal(
        linear.test(text),
        new RegExp(pattern, 'u').test(text),
        `${pattern} on ${JSON.stringify(text)}`,
      );
    }
  }
});

test('references that double at each step are given up, which is never a yes', () => {
  const $defs: Record<string, unknown> = { d40: true };
  for (let i = 0; i < 40; i += 1) {
    const next = { $ref: `#/$defs/d${i + 1}` };
    $defs[`d${i}`] = { allOf: [next, next] };
  }
  const took = cpuMs(() => {
    assert.equal(compileSchema({ $defs, $ref: '#/$defs/d0' }).check({}).valid, false);
  });
  assert.ok(took < 3_000, `${took} ms`);
});

test('hostile schemas are refused: async, unknown dialects, other documents, excess depth and size', () => {
  let deep: object = {};
  for (let i = 0; i < 100; i += 1) deep = { not: deep };
  const hostile: unknown[] = [
    { $async: true, type: 'object' },
    { properties: { a: { $async: true } } },
    { $schema: 'http://json-schema.org/draft-03/schema#' },
    { $schema: 7 },
    { $ref: 'http://localhost/other.json' },
    { $ref: '#/nowhere' },
    { type: 'objcet' },
    deep,
    { enum: ['x'.repeat(300_000)] },
    'schema',
    null,
  ];
  for (const schema of hostile) {
    assert.throws(() => compileSchema(schema), SchemaRefusedError, JSON.stringify(schema)?.slice(0, 80));
  }
});

type Args = Record<string, unknown>;

/** Schemas that servers publish, arguments that fit them, and arguments that break what they say beside. */
const WRITTEN_WRONG: readonly (readonly [string, object, Args, Args])[] = [
  [
    'required among the properties',
    { properties: { a: { type: 'string' }, required: ['a'] } },
    { a: 'x' },
    { a: 1 },
  ],
  [
    'a type among the properties',
    { properties: { a: { type: 'string' }, type: 'object' } },
    { a: 'x' },
    { a: 1 },
  ],
  [
    'allOf with one schema',
    { properties: { a: { maxLength: 1, allOf: { type: 'string' } } } },
    { a: 'x' },
    { a: 'xx' },
  ],
  [
    'a type of another language',
    { properties: { a: { type: 'System.String' }, b: { type: 'integer' } } },
    { a: 'x' },
    { b: 'x' },
  ],
  ['required of draft 3', { properties: { a: { type: 'string', required: true } } }, { a: 'x' }, { a: 1 }],
  ['an empty list of properties', { properties: [], additionalProperties: false }, {}, { a: 1 }],
  [
    'a dialect that nobody knows',
    { $schema: 'https://example.com/tools', properties: { a: { maxLength: 1 } } },
    { a: 'x' },
    { a: 'xx' },
  ],
  [
    'a dialect by its name, with a list of items as that draft has it',
    { $schema: 'draft-07', properties: { a: { items: [{ type: 'string' }] } } },
    { a: ['x', 1] },
    { a: [1] },
  ],
  ['a dialect that is no text', { $schema: {}, properties: { a: { type: 'string' } } }, { a: 'x' }, { a: 1 }],
  ['a required argument without a schema', { properties: {}, required: ['a'] }, { a: 'x' }, {}],
];

for (const [what, schema, right, wrong] of WRITTEN_WRONG) {
  test(`a tool keeps its other checks behind the gate: ${what}`, () => {
    const tools = { s: { tools: [{ name: 't', inputSchema: { type: 'object', ...schema } }] } };
    using gate = new PolicyGate({ policy: { s: ['t'] }, tools });
    const decide = (args: Args) => gate.evaluate({ server: 's', tool: 't', args }).decision;
    assert.deepEqual([decide(right), decide(wrong)], ['allow', 'deny']);
    const codes = lintPolicy({ s: ['t'] }, tools).map(({ code }) => code);
    assert.equal(codes.includes('ignored_keyword'), !what.startsWith('a required'), codes.join());
  });
}

test('two schemas with one $id keep their own validators', () => {
  const first = compileSchema({ $id: 'https://example.com/s', type: 'string' });
  const second = compileSchema({ $id: 'https://example.com/s', type: 'number' });
  assert.equal(first.check('x').valid, true);
  assert.equal(second.check('x').valid, false);
});

test('names every object inherits are not properties', () => {
  const { check } = compileSchema({ type: 'object', required: ['toString', 'constructor'] });
  assert.equal(check({}).valid, false);
  assert.equal(check(JSON.parse('{"toString":1,"constructor":2}')).valid, true);
});
