import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ServerTool } from '../src/mcp-client/index.ts';
import {
  type AdaptedTool,
  type AdaptToolsOptions,
  adaptTools,
  chooseToolNames,
  SAFE_TOOL_NAME,
  type ToolProvider,
} from '../src/orchestrator/tools/index.ts';
import { anthropicViolations, geminiViolations, openaiViolations } from './support/provider-rules.ts';
import { seededRandom } from './support/random.ts';
import { randomValue } from './support/random-values.ts';
import { sized } from './support/size.ts';

type Schema = Record<string, unknown>;

const RULES = { openai: openaiViolations, anthropic: anthropicViolations, gemini: geminiViolations };
const PROVIDERS = Object.keys(RULES) as ToolProvider[];

test('a dotted name becomes a safe one and leads back to its tool', () => {
  const adapted = adaptTools([on('db', 'stdio.list_tables')], 'openai');
  assert.equal(adapted.nameOf('db', 'stdio.list_tables'), 'stdio_list_tables');
  assert.equal(adapted.find('stdio_list_tables')?.tool.name, 'stdio.list_tables');
  assert.equal(adapted.find('stdio_list_tables')?.server, 'db');
  assert.equal(adapted.find('stdio.list_tables'), undefined);
});

test('names that fall together stay apart, and the tool really called so keeps its name', () => {
  const names = chooseToolNames([
    { server: 's', name: 'a.b' },
    { server: 's', name: 'a_b' },
    { server: 's', name: 'a/b' },
  ]);
  assert.equal(names[1], 'a_b');
  assert.equal(new Set(names).size, 3);
  assert.match(names[0] ?? '', /^a_b_[0-9a-f]{8}$/);
});

test('the same tool on two servers is distinguished by the server', () => {
  const tools = [on('git', 'search'), on('web', 'search'), on('web', 'open')];
  const names = (options: AdaptToolsOptions) =>
    adaptTools(tools, 'openai', options).tools.map((each) => each.name);
  assert.deepEqual(names({}), ['git__search', 'web__search', 'open']);
  assert.deepEqual(names({ namespace: 'always' }), ['git__search', 'web__search', 'web__open']);
  const hashed = names({ namespace: 'never' });
  assert.equal(new Set(hashed).size, 3);
  assert.match(hashed[0] ?? '', /^search_[0-9a-f]{8}$/);
});

test('names do not depend on the order of the tools', () => {
  const random = seededRandom(7);
  const tools = Array.from({ length: 300 }, (_, i) => ({
    server: `s${i % 3}`,
    name:
      ['a.b', 'a_b', 'a b', '9lives', '', 'é'.repeat(70), 'x'.repeat(80), 'x'.repeat(81)][i % 8] +
      (i % 5 ? `-${i % 5}` : ''),
  })).filter(
    (each, i, all) =>
      all.findIndex((other) => other.server === each.server && other.name === each.name) === i,
  );
  for (const mode of ['collision', 'always', 'never'] as const) {
    const names = chooseToolNames(tools, mode);
    assert.ok(
      names.every((name) => SAFE_TOOL_NAME.test(name)),
      names.find((name) => !SAFE_TOOL_NAME.test(name)),
    );
    assert.equal(new Set(names).size, names.length);
    const order = tools.map((_, i) => i).sort(() => random() - 0.5);
    const shuffled = chooseToolNames(
      order.map((i) => tools[i] as (typeof tools)[0]),
      mode,
    );
    assert.deepEqual(
      order.map((i) => names[i]),
      shuffled,
    );
  }
});

test('alternatives at the root move into one argument, and the call is unwrapped', () => {
  const schema = {
    type: 'object',
    properties: { id: { type: 'string' }, url: { type: 'string' } },
    oneOf: [{ required: ['id'] }, { required: ['url'] }],
  };
  for (const provider of PROVIDERS) {
    const tool = adaptOne(schema, provider);
    assert.deepEqual(Object.keys(tool.parameters.properties as Schema), ['input']);
    assert.deepEqual(tool.mapArguments({ input: { id: '1' } }), { id: '1' });
    assert.deepEqual(tool.mapArguments({ id: '1' }), { id: '1' }, 'a model that overlooked the wrapping');
  }
});

test('allOf and a reference at the root are merged into it', () => {
  const schema = {
    $ref: '#/definitions/Args',
    definitions: {
      Base: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      Args: {
        allOf: [
          { $ref: '#/definitions/Base' },
          { properties: { b: { type: 'number', minimum: 1 } }, required: ['b'] },
        ],
      },
    },
  };
  for (const provider of PROVIDERS) {
    const { parameters } = adaptOne(schema, provider);
    assert.deepEqual(Object.keys(parameters.properties as Schema).sort(), ['a', 'b']);
    assert.deepEqual([...(parameters.required as string[])].sort(), ['a', 'b']);
    assert.equal('$defs' in parameters, false);
  }
});

test('property names a provider refuses are renamed at every depth and mapped back', () => {
  const schema = {
    type: 'object',
    properties: {
      'user.name': { type: 'string' },
      'filter[]': {
        type: 'array',
        items: {
          type: 'object',
          properties: { $op: { type: 'string' }, _op: { type: 'string' } },
          required: ['$op'],
        },
      },
      ['x'.repeat(70)]: { type: 'boolean' },
      free: {
        type: 'object',
        additionalProperties: { type: 'object', properties: { 'a b': { type: 'number' } } },
      },
    },
    required: ['user.name', 'filter[]'],
  };
  const gemini = adaptOne(schema, 'gemini');
  const parameters = gemini.parameters as { properties: Record<string, Schema>; required: string[] };
  const [userName = '', filter = '', long = ''] = Object.keys(parameters.properties);
  assert.deepEqual(parameters.required, [userName, filter]);
  const item = (parameters.properties[filter]?.items ?? {}) as { properties: Schema; required: string[] };
  const [op = ''] = Object.keys(item.properties);
  assert.notEqual(op, '_op', 'the new name must not be one that is there already');
  assert.deepEqual(item.required, [op]);
  const mapped = gemini.mapArguments({
    [userName]: 'ann',
    [filter]: [{ [op]: 'eq', _op: 'x', user_name: 'data, not a name' }],
    [long]: true,
    free: { [userName]: { a_b: 1 } },
  });
  assert.deepEqual(mapped, {
    'user.name': 'ann',
    'filter[]': [{ $op: 'eq', _op: 'x', user_name: 'data, not a name' }],
    ['x'.repeat(70)]: true,
    free: { [userName]: { 'a b': 1 } },
  });
  // Anthropic looks at the arguments themselves only.
  const anthropic = adaptOne(schema, 'anthropic').parameters as { properties: Record<string, Schema> };
  assert.deepEqual(
    Object.keys(((anthropic.properties.filter__?.items ?? {}) as { properties: Schema }).properties),
    ['$op', '_op'],
  );
});

test('conditions over arguments that must be renamed keep their names inside one argument', () => {
  const schema = {
    type: 'object',
    properties: { 'a b': { type: 'string' }, c: { type: 'string' } },
    dependentRequired: { 'a b': ['c'] },
  };
  const tool = adaptOne(schema, 'anthropic');
  assert.deepEqual(tool.mapArguments({ input: { 'a b': '1', c: '2' } }), { 'a b': '1', c: '2' });
});

test('old drafts come out as 2020-12', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-04/schema#',
    id: 'https://example.com/tool',
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 0, exclusiveMinimum: true },
      pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
      self: { $ref: '#/definitions/thing' },
      maybe: { type: 'string', nullable: true },
      must: { type: 'string', required: true },
    },
    definitions: { thing: { type: 'string' } },
    dependencies: { n: ['pair'] },
  };
  const { parameters } = adaptOne(schema, 'anthropic') as unknown as { parameters: Record<string, Schema> };
  assert.deepEqual(parameters.properties, {
    n: { type: 'integer', exclusiveMinimum: 0 },
    pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
    self: { $ref: '#/$defs/thing' },
    maybe: { type: ['string', 'null'] },
    must: { type: 'string' },
  });
  assert.deepEqual(parameters.required, ['must']);
  assert.deepEqual(parameters.dependentRequired, { n: ['pair'] });
  const gemini = adaptOne(schema, 'gemini').parameters.properties as Record<string, Schema>;
  assert.deepEqual(gemini.n, { type: 'integer', minimum: 1 });
  assert.equal(gemini.pair?.maxItems, 2);
});

test('recursive schemas stay recursive, for Gemini through optional properties', () => {
  const schema = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/Node' }, whole: { $ref: '#' } },
    $defs: {
      Node: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          children: { type: 'array', items: { $ref: '#/$defs/Node' } },
        },
        required: ['name', 'children'],
      },
    },
  };
  for (const provider of PROVIDERS) {
    const tool = adaptOne(schema, provider);
    const node = (tool.parameters.$defs as { Node: { properties: Schema; required: string[] } }).Node;
    assert.deepEqual(node.properties.children, { type: 'array', items: { $ref: '#/$defs/Node' } });
    assert.deepEqual(node.required, provider === 'gemini' ? ['name'] : ['name', 'children']);
  }
  assert.deepEqual(
    adaptOne(schema, 'gemini').relaxed.map((each) => each.keyword),
    ['required'],
  );
});

test('what Gemini cannot say is said in words and listed', () => {
  const tool = adaptOne(
    {
      type: 'object',
      properties: {
        slug: { type: 'string', pattern: '^[a-z]+$', minLength: 2, description: 'A slug.', default: 'main' },
        on: { const: true },
        kind: { enum: ['a', null] },
        two: { allOf: [{ type: 'string' }, { maxLength: 9 }] },
      },
    },
    'gemini',
  );
  const properties = tool.parameters.properties as Record<string, Schema>;
  assert.equal(
    properties.slug?.description,
    'A slug. (matches the pattern ^[a-z]+$; at least 2 characters; default: "main")',
  );
  assert.equal(properties.on?.type, 'boolean');
  assert.deepEqual(properties.kind, { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] });
  assert.equal(properties.two?.type, 'string');
  assert.deepEqual(
    tool.relaxed.map((each) => `${each.path} ${each.keyword}`),
    [
      '/properties/slug pattern',
      '/properties/slug minLength',
      '/properties/on enum',
      '/properties/two maxLength',
    ],
  );
});

test('a text where a schema takes none is read as the list, object, number or boolean that it holds', () => {
  const schema = {
    type: 'object',
    properties: {
      tags: { type: 'array', items: { type: 'string' } },
      body: { $ref: '#/$defs/Body' },
      limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      exact: { type: 'boolean' },
      text: { type: ['string', 'object'] },
      any: {},
    },
    $defs: { Body: { type: 'object', properties: { ids: { type: 'array' } } } },
  };
  for (const provider of PROVIDERS) {
    const [tool] = adaptTools([on('s', 't', schema)], provider).tools;
    const map = (args: Schema) => tool?.mapArguments(args);
    const free = { text: '{"a":1}', any: '[1]' };
    const wanted = { tags: ['a', '1'], body: { ids: [1] }, limit: 50, exact: true, ...free };
    const written = { tags: '["a","1"]', body: '{"ids":"[1]"}', limit: '50', exact: 'true', ...free };
    assert.deepEqual(map(written), wanted, provider);
    assert.deepEqual(map(wanted), wanted);
    const left = { tags: 'a, b', body: '[1]', limit: '5.5', exact: 'yes' };
    assert.deepEqual(map(left), left);
    assert.deepEqual(map({ limit: '1234567890123456789' }), { limit: '1234567890123456789' });
  }
});

test('a tool that cannot be saved is unsupported with a reason and the others stand', () => {
  const circular: Schema = { type: 'object', properties: {} };
  (circular.properties as Schema).self = circular;
  const broken: Record<string, Schema> = {
    text: { type: 'string' },
    nothing: { allOf: [{ type: 'object' }, { type: 'string' }] },
    circular,
    huge: { type: 'object', properties: { a: { description: 'x'.repeat(300_000) } } },
  };
  for (const provider of PROVIDERS) {
    const open = ['#/$defs/missing', 'https://example.com/schema.json'].map(($ref, at) =>
      on('s', `open${at}`, { type: 'object', properties: { a: { $ref, description: 'One.' } } }),
    );
    const tools = [...Object.entries(broken).map(([name, schema]) => on('s', name, schema)), ...open];
    const adapted = adaptTools(tools, provider);
    assert.deepEqual(
      adapted.tools.map((each) => each.name),
      ['open0', 'open1'],
      'a reference to nothing costs no tool',
    );
    assert.deepEqual(
      adapted.unsupported.map((each) => each.name),
      Object.keys(broken),
    );
    const reasons = adapted.unsupported.map((each) => each.reason).join('\n');
    assert.match(reasons, /type "string"/);
    assert.match(reasons, /levels deep/);
    assert.match(reasons, /300\d{3} characters/);
  }
});

test('random schemas of every kind pass the rules, unchanged themselves, and map back', () => {
  const random = seededRandom(99);
  let tried = 0;
  for (let i = 0; i < sized(20, 100); i++) {
    const schema = randomSchema(random, 0) as Schema;
    if (random() < 0.8) schema.type = 'object';
    schema.$defs = { A: randomSchema(random, 1), 'B c': randomSchema(random, 1), C: true };
    const before = JSON.stringify(schema);
    for (const provider of PROVIDERS) {
      const { tools, unsupported } = adaptTools([on('s', `t${i}`, schema)], provider);
      assert.equal(JSON.stringify(schema), before);
      assert.equal(tools.length + unsupported.length, 1);
      const [tool] = tools;
      if (tool === undefined) continue;
      assert.deepEqual(
        RULES[provider](tool),
        [],
        `${provider}: ${before} -> ${JSON.stringify(tool.parameters)}`,
      );
      if (tool.relaxed.length > 0) continue;
      const [offered, own] = [compile(tool.parameters), compile(schema)];
      for (let j = 0; j < 10; j++) {
        const args = randomValue(tool.parameters, tool.parameters, random) as Schema;
        if (!offered(args)) continue;
        tried++;
        assert.ok(
          own(tool.mapArguments(args)),
          `${provider}: ${before} -> ${JSON.stringify(tool.parameters)}: ${JSON.stringify(args)}`,
        );
      }
    }
  }
  assert.ok(tried > sized(60, 300), `only ${tried} arguments were generated`);
});

test('schemas with nonsense in them pass the rules or are unsupported, never more', () => {
  const random = seededRandom(5);
  let offered = 0;
  for (let i = 0; i < sized(60, 300); i++) {
    const schema = randomSchema(random, 0) as Schema;
    schema.$defs = { A: randomSchema(random, 1), 'B c': randomSchema(random, 1), C: true };
    spoil(schema, random);
    for (const provider of PROVIDERS) {
      const { tools, unsupported } = adaptTools([on('s', `t${i}`, schema), on('s', 'good')], provider);
      assert.equal(tools.at(-1)?.name, 'good');
      assert.equal(tools.length + unsupported.length, 2);
      for (const tool of tools) assert.deepEqual(RULES[provider](tool), [], JSON.stringify(schema));
      offered += tools.length - 1;
    }
  }
  assert.ok(offered > sized(60, 300), `only ${offered} tools could be saved`);
});

/** Puts something no draft allows in place of some parts of a schema. */
function spoil(node: unknown, random: () => number): void {
  if (typeof node !== 'object' || node === null) return;
  const nonsense = [
    null,
    42,
    'text',
    [],
    {},
    [null],
    { type: 'any' },
    true,
    -1,
    ['string'],
    { $ref: 7 },
    { required: 'a' },
  ];
  for (const [key, value] of Object.entries(node)) {
    if (random() < 0.06) (node as Schema)[key] = nonsense[Math.floor(random() * nonsense.length)];
    else spoil(value, random);
  }
  const keywords = [
    'type',
    'enum',
    'pattern',
    'minimum',
    'items',
    'required',
    'anyOf',
    '__proto__',
    'id',
    'description',
    'format',
  ];
  if (!Array.isArray(node) && random() < 0.06) {
    const keyword = keywords[Math.floor(random() * keywords.length)] as string;
    const value = nonsense[Math.floor(random() * nonsense.length)];
    Object.defineProperty(node, keyword, { value, enumerable: true, configurable: true, writable: true });
  }
}

function on(server: string, name: string, inputSchema: Schema = { type: 'object' }): ServerTool {
  return { server, tool: { name, inputSchema } };
}

function adaptOne(schema: Schema, provider: ToolProvider): AdaptedTool {
  const { tools, unsupported } = adaptTools([on('s', 'tool', schema)], provider);
  const [tool] = tools;
  assert.ok(tool, unsupported[0]?.reason);
  assert.deepEqual(RULES[provider](tool), []);
  return tool;
}

function compile(schema: object) {
  return new Ajv2020({
    strict: false,
    validateFormats: false,
    logger: false,
    meta: false,
    validateSchema: false,
  }).compile(schema);
}

const KEYS = ['a', 'b', 'c d', 'e.f', '$g', '9h', 'é', 'x'.repeat(66)];

/** Schemas as servers write them, good and odd alike, but valid ones: the validator has to take the originals. */
function randomSchema(random: () => number, depth: number): Schema | boolean {
  const pick = <T>(options: readonly T[]): T => options[Math.floor(random() * options.length)] as T;
  const nested = (): Schema | boolean => randomSchema(random, depth + 1);
  if (depth > 0 && random() < 0.05) return random() < 0.7;
  if (depth > 3) return { type: pick(['string', 'integer', 'boolean']) };
  if (depth > 0 && random() < 0.15)
    return {
      $ref: pick(['#/$defs/A', '#/$defs/B%20c', '#/$defs/C', '#']),
      ...(random() < 0.3 && { description: 'x' }),
    };
  const schema: Schema = {};
  const type =
    depth === 0 || random() < 0.4
      ? 'object'
      : pick(['string', 'integer', 'number', 'array', 'boolean', 'null']);
  if (random() < 0.85) schema.type = type !== 'null' && random() < 0.1 ? [type, 'null'] : type;
  if (type === 'object') {
    const keys = KEYS.filter(() => random() < 0.4);
    schema.properties = Object.fromEntries(keys.map((key) => [key, nested()]));
    if (random() < 0.5) schema.required = keys.filter(() => random() < 0.4);
    if (random() < 0.3) schema.additionalProperties = random() < 0.5 ? false : nested();
    if (random() < 0.05) schema.patternProperties = { '^x': nested() };
    if (random() < 0.05) schema.dependentRequired = { a: ['b'] };
    if (random() < 0.05) schema.propertyNames = { maxLength: 80 };
  }
  if (type === 'array') {
    if (random() < 0.7) schema.items = nested();
    if (random() < 0.2) schema.prefixItems = [nested(), nested()];
    if (random() < 0.2) schema.uniqueItems = true;
  }
  if (type === 'string' && random() < 0.2) schema.enum = ['a', 'b', ...(random() < 0.3 ? [null] : [])];
  if (type === 'string' && random() < 0.1) schema.pattern = '^[a-z]*$';
  if (type === 'integer' && random() < 0.3) schema.exclusiveMinimum = 2.5;
  if (random() < 0.08) schema[pick(['anyOf', 'oneOf', 'allOf'])] = [nested(), nested()];
  if (random() < 0.03) schema.not = { type: 'array' };
  if (random() < 0.1) schema.const = pick(['a', 1, true, null]);
  if (random() < 0.1) schema.default = { any: ['thing'] };
  return schema;
}

test('gemini: alternatives that only differ in what the subset cannot say refuse nothing they accept', () => {
  const branch = (flag: boolean, value: object) => ({
    type: 'object',
    properties: { flag: { const: flag }, value },
    required: ['flag', 'value'],
  });
  const inputSchema = {
    type: 'object',
    properties: {
      list: {
        type: 'array',
        items: { oneOf: [branch(true, { type: 'string', maxLength: 3 }), branch(false, { type: 'string' })] },
      },
    },
  };
  const { tools } = adaptTools([{ server: 's', tool: { name: 't', inputSchema } }], 'gemini');
  const args = {
    list: [
      { flag: true, value: 'abc' },
      { flag: false, value: 'abcdef' },
    ],
  };
  assert.equal(new Ajv2020({ strict: false }).validate(inputSchema, args), true);
  assert.equal(new Ajv2020({ strict: false }).validate(tools[0]?.parameters ?? false, args), true);
});
