import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PolicyGate } from 'mcp-observatory/policy';
import { StepBudget } from '../src/json/index.ts';
import { lintPolicy } from '../src/policy/index.ts';
import { Policy } from '../src/policy/policy.ts';
import { readPolicy } from '../src/policy/policy-file.ts';
import { applies } from '../src/policy/rule.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';
import { tempDir } from './support/temp-dir.ts';

type Rule = Readonly<Record<string, unknown>>;
const OPEN: Rule = { id: 'open', effect: 'allow', server: 's', tool: 't' };

function decide(rules: readonly Rule[], args: object): string {
  using gate = new PolicyGate({ policy: { version: 1, rules: rules as never } });
  assert.equal(gate.problem, undefined);
  gate.setTools('s', [{ name: 't', inputSchema: { type: 'object', properties: { x: {} } } }]);
  return gate.evaluate({ server: 's', tool: 't', args: args as never }).decision;
}

const ruleOn = (effect: string, x: unknown): Rule => ({
  ...{ id: effect, effect, server: 's', tool: 't', args: { x } },
  ...(effect === 'allow' && { required: ['x'] }),
});

function resourceGate(patterns: readonly string[]): (uri: string) => string {
  const gate = new PolicyGate({
    policy: { version: 1, rules: [], servers: { s: { resources: patterns } } },
  });
  return (uri) =>
    gate.evaluate({ server: 's', tool: 'resources/read', method: 'resources/read', args: { uri } })
      .reasonCode;
}

test('a limit of a rule wants a value of its type, whatever the tool takes', () => {
  const limits: readonly (readonly [limit: object, fits: unknown, others: readonly unknown[]])[] = [
    [{ maximum: 100 }, 7, ['1000000', [1e9], { a: 1 }, null, true]],
    [{ minimum: 1, multipleOf: 2 }, 4, ['4', [4]]],
    [{ pattern: '^/data/' }, '/data/a', [7, ['/etc/passwd'], { '/data/': 1 }]],
    [{ maxLength: 3 }, 'abc', [1234, ['abcdef']]],
    [{ format: 'email' }, 'a@b.example', [7, ['a@b.example']]],
    [{ maxItems: 2 }, [1], ['abc', 3, { a: 1 }]],
    [{ items: { maximum: 3 } }, [1], ['a', ['a'], [[1]]]],
    [{ required: ['a'] }, { a: 1 }, ['a', ['a']]],
    [{ properties: { a: { maximum: 3 } } }, { a: 1 }, ['a', { a: '9' }]],
    [{ anyOf: [{ type: 'null' }, { maximum: 3 }] }, null, ['9', [9]]],
    [{ not: { pattern: '^/secret' } }, '/data', [7, ['/secret']]],
    [{ oneOf: [{ maximum: 3 }, { minimum: 10 }] }, 2, ['9', '2', [2]]],
    [JSON.parse('{"if":{"pattern":"^a"},"then":{"maxLength":2}}'), 'ab', [['abc'], 7]],
    [{ contains: { maximum: 3 }, maxContains: 1 }, [1, 9], [['1'], [1, '2']]],
  ];
  for (const [limit, fits, others] of limits) {
    assert.equal(decide([ruleOn('allow', limit)], { x: fits }), 'allow', JSON.stringify(limit));
    assert.equal(decide([OPEN, ruleOn('deny', limit)], { x: fits }), 'deny', JSON.stringify(limit));
    for (const x of others) {
      const what = JSON.stringify([limit, x]);
      assert.equal(decide([ruleOn('allow', limit)], { x }), 'deny', what);
      assert.equal(decide([OPEN, ruleOn('deny', limit)], { x }), 'deny', what);
      // Held where the call would be made without the rule, and not where a person would be asked for nothing.
      assert.equal(decide([OPEN, ruleOn('require_approval', limit)], { x }), 'require_approval', what);
      assert.equal(decide([ruleOn('require_approval', limit)], { x }), 'deny', what);
    }
  }
  assert.equal(decide([OPEN, ruleOn('deny', { not: { pattern: '^/data/' } })], { x: 7 }), 'deny');
  assert.equal(decide([OPEN, ruleOn('deny', { type: 'string', pattern: '^/data/' })], { x: 7 }), 'allow');
  assert.equal(decide([ruleOn('allow', { maximum: 3, nullable: true })], { x: null }), 'allow');
});

test('a deny rule for hosts or domains is not passed by what readers disagree about', () => {
  const hosts = ruleOn('deny', { urlHostIn: ['evil.example'] });
  for (const x of [
    ...[
      'https://EVIL.example/',
      'https://evil.example./',
      'https://a@evil.example/',
      'https://evil.example:8443/',
    ],
    ...[
      'https:\\\\evil.example',
      'HTTPS://evil.example/',
      ['https://evil.example/'],
      'https://ｅvil.example/',
    ],
  ])
    assert.equal(decide([OPEN, hosts], { x }), 'deny', JSON.stringify(x));
  for (const x of [
    'https://evil.example/ü',
    'https://good.example\\@evil.example/',
    'https://good.example?@evil.example/ü',
    'https://good.example#ü@evil.example',
    'https://good.example/\u0000ü',
    'https://good.example/ü https://evil.example/',
    'https://1.2.3/ü',
  ])
    assert.equal(decide([OPEN, hosts], { x }), 'deny', JSON.stringify(x));
  for (const x of [
    'https://good.example/',
    'https://good.example/ü',
    'https://good.example:8443/search?q=hello world',
    'https://good.example/?b={"c":1}',
  ])
    assert.equal(decide([OPEN, hosts], { x }), 'allow', x);
  assert.equal(
    decide([ruleOn('allow', { urlHostIn: ['good.example'] })], { x: 'https://good.example/ü' }),
    'deny',
  );
  const domains = ruleOn('deny', { emailDomainIn: ['evil.example'] });
  for (const x of [
    'a@evil.example',
    'a@EVIL.example',
    'a%b@evil.example',
    '"a"@evil.example',
    ['a@evil.example'],
  ])
    assert.equal(decide([OPEN, domains], { x }), 'deny', JSON.stringify(x));
  assert.equal(decide([OPEN, domains], { x: 'a@good.example' }), 'allow');
  const numeric = ruleOn('deny', { urlHostIn: ['127.0.0.1'] });
  for (const x of ['http://2130706433/', 'http://0x7f.1/', 'http://127.1/', 'http://0177.0.0.1/'])
    assert.equal(decide([OPEN, numeric], { x }), 'deny', x);
});

test('an address with the routes, quotes, comments or options of old mail systems is of no domain', () => {
  const allow = [ruleOn('allow', { emailDomainIn: ['example.com'] })];
  for (const x of ['a@example.com', 'a.b+c@EXAMPLE.com', "o'brien_1@example.com", 'a-b@example.com'])
    assert.equal(decide(allow, { x }), 'allow', x);
  for (const x of [
    ...[
      'a%evil.com@example.com',
      'evil.com!a@example.com',
      '@evil.com:a@example.com',
      'a@evil.com@example.com',
    ],
    ...['"a b"@example.com', '"a@evil.com"@example.com', 'a(evil)@example.com', '--config=/x@example.com'],
    ...['-oQ/tmp@example.com', '/x@example.com', '|sh@example.com', '`id`@example.com', 'a$x@example.com'],
    ...[
      'SRS0=h=t=evil.com=a@example.com',
      'a:b@example.com',
      'a;b@example.com',
      'a@example.com.',
      '.a@example.com',
    ],
    ...[
      'a..b@example.com',
      'a@[example.com]',
      'a\\@example.com',
      '<a@example.com>',
      'a@example.com,b@evil.com',
    ],
  ])
    assert.equal(decide(allow, { x }), 'deny', x);
});

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'notes:public/**': [
    ...[
      'notes:public/../private',
      'notes:public/..',
      'notes:public/./../private',
      'notes:public/%2e%2e/private',
    ],
    ...['notes:public//../private', 'notes:public/a?../../private', 'notes:public/a#../../private'],
    ...['notes:public/..;/private', 'notes:public/.%2e/private', 'notes:public/a%5c..%5cprivate'],
  ],
  'file:///docs/**': [
    ...[
      'file:///docs/%252e%252e/etc/passwd',
      'file:///docs/%25252e%25252e/etc',
      'file:///docs/%c0%ae%c0%ae/etc',
    ],
    ...['file:///docs/..%c0%afetc', 'file:///docs/%e0%80%ae%e0%80%ae/etc', 'file:///docs/..%5cetc'],
    ...['file:///docs/a%2fb', 'file:///docs/a%252fb', 'file:///docs/%u002e%u002e/etc', 'file:///docs/a%00b'],
    ...['file:///docs/%ef%bc%8e%ef%bc%8e/etc', 'file:///docs/\u2024\u2024/etc', 'file:///docs//etc/passwd'],
    ...[
      'file:///docs/.. /etc',
      'file:///docs/%20../etc',
      'file:///docs/..%20/etc',
      'file:///docs/a%0ab',
      'file:///docs/%',
    ],
    ...[
      'file:///docs/.../etc',
      `file:///docs/%${'25'.repeat(40)}2e`,
      'FILE:///docs/a',
      'file://localhost/docs/a',
    ],
  ],
  'https://*.example.com/**': [
    ...[
      'https://u:p@evil.example.com/',
      'https://u@a.example.com/',
      'https://@a.example.com/',
      'https://.example.com/',
    ],
    ...[
      'https://a.example.com./',
      'https://a..example.com/',
      'https://ａ.example.com/',
      'https://a.example.com\\@evil.com/',
    ],
  ],
};

test('a URI that readers take for another resource matches no pattern, whatever its scheme', () => {
  for (const [pattern, uris] of Object.entries(REFUSED)) {
    const reason = resourceGate([pattern]);
    for (const uri of uris) assert.equal(reason(uri), 'resource_uri_refused', uri);
  }
  const allowed: readonly (readonly [pattern: string, uri: string])[] = [
    ['notes:public/**', 'notes:public/a/b.md'],
    ['file:///docs/**', 'file:///docs/100%25.txt'],
    ['file:///docs/**', 'file:///docs/a%20b/%C3%A9.md'],
    ['https://*.example.com/**', 'https://A.Example.COM:443/x?next=../y'],
    ['https://EXAMPLE.com:443/a', 'https://example.com/a'],
    ['https://me@example.com/**', 'https://me@example.com/a'],
    ['screen://*', 'screen://localhost'],
  ];
  for (const [pattern, uri] of allowed) assert.equal(resourceGate([pattern])(uri), 'allowed', uri);
  assert.equal(
    resourceGate(['https://*.example.com/**'])('https://a.example.com:8443/'),
    'request_not_allowed',
  );
  assert.equal(resourceGate(['memo://public/**'])('memo://Public/a'), 'request_not_allowed');
});

/** Dot segments away, as RFC 3986 has it, in what stands behind a prefix. */
function withoutDots(path: string): string {
  const out: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') out.pop();
    else if (part !== '.') out.push(part);
  }
  return out.join('/');
}

function decoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

test('no reader finds an allowed URI outside of the prefix that its pattern allows', () => {
  const next = random(30);
  const parts =
    '.. . a b / // %2e %2E %252e %2f %252f %5c \\ ; ? # ..; %c0%ae %c0%af %00 @ : % 25 2e 2f * %20 ~ é % u002e'.split(
      ' ',
    );
  const reasons = new Map(
    ['notes:public/', 'file:///docs/', 'https://example.com/v1/', 'memo://public/x/'].map((prefix) => [
      prefix,
      resourceGate([`${prefix}**`]),
    ]),
  );
  const prefixes = [...reasons.keys()];
  let allowedCount = 0;
  for (let i = 0; i < sized(3_000, 40_000); i += 1) {
    const prefix = prefixes[next(prefixes.length)] as string;
    const uri = prefix + Array.from({ length: 1 + next(7) }, () => parts[next(parts.length)]).join('');
    if (reasons.get(prefix)?.(uri) !== 'allowed') continue;
    allowedCount += 1;
    const once = decoded(uri);
    const all = [uri, new URL(uri).href, once, decoded(once), decoded(decoded(once))];
    for (const text of [...all, ...all.map((each) => each.replaceAll('\\', '/'))]) {
      const end = prefix.endsWith('public/') ? 'notes:'.length : prefix.indexOf('/', 8) + 1;
      const head = prefix.slice(0, end);
      assert.ok(text.startsWith(head), `${uri}: ${text}`);
      const path = withoutDots(text.slice(end).split(/[?#]/)[0] as string);
      assert.ok(`${head}${path}/`.startsWith(prefix), `${uri} is read as ${head}${path}`);
    }
  }
  assert.ok(allowedCount > 50, String(allowedCount));
});

test('what the index of rules decides is what each rule decides by itself, in every dialect', () => {
  const next = random(31);
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T;
  const dialects = [
    undefined,
    'http://json-schema.org/draft-06/schema#',
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ];
  const values: readonly unknown[] = ['a', 'b', '/data/x', 1, 2, 0, -0, null, true, ['a'], { a: 1 }];
  const keywords: readonly (() => object)[] = [
    () => ({ enum: [pick(values), pick(values)] }),
    () => ({ const: pick(values) }),
    () => ({ pattern: pick(['^a', 'data', '^/data/', 'b$', '.']) }),
    () => ({ $ref: pick(['#/definitions/any', '#/definitions/text', '#/definitions/a']) }),
    () => ({ maximum: 1 }),
    () => ({ type: pick(['string', 'number']) }),
    () => ({ not: { enum: [pick(values)] } }),
  ];
  const schemaOf = (): object => ({
    ...((dialect) => dialect && { $schema: dialect })(pick(dialects)),
    definitions: { any: {}, text: { type: 'string' }, a: { const: 'a' } },
    ...pick(keywords)(),
    ...pick(keywords)(),
  });
  for (let i = 0; i < sized(120, 3_000); i += 1) {
    const rules = Array.from({ length: 2 + next(6) }, (_, index) => ({
      ...{ id: `r${index}`, effect: pick(['allow', 'deny', 'require_approval']), server: 's', tool: 't' },
      args: { x: schemaOf(), ...(next(3) === 0 && { y: schemaOf() }) },
    }));
    const policy = new Policy(readPolicy({ version: 1, rules }));
    for (let calls = 0; calls < 6; calls += 1) {
      const args = { x: pick(values), ...(next(2) === 0 && { y: pick(values) }) };
      const applying = policy.rules.filter((rule) => applies(rule, args, new StepBudget()));
      const ids = (effect: string) =>
        applying.filter(({ document }) => document.effect === effect).map(({ document }) => document.id);
      const verdict = policy.evaluate('s', 't', args);
      const what = JSON.stringify({ rules, args });
      if (ids('deny').length > 0) assert.deepEqual(verdict.ruleIds, ids('deny'), what);
      else if (verdict.decision === 'require_approval')
        assert.deepEqual(verdict.ruleIds, ids('require_approval'), what);
      else if (verdict.decision === 'allow') assert.deepEqual(verdict.ruleIds, ids('allow'), what);
      else assert.deepEqual([verdict.decision, ids('allow')], ['deny', []], what);
      if (ids('allow').length > 0 && ids('require_approval').length > 0 && ids('deny').length === 0)
        assert.equal(verdict.decision, 'require_approval', what);
    }
  }
});

test('a keyword that a dialect ignores beside $ref does not keep a deny rule from applying', () => {
  for (const ignored of [{ enum: ['never'] }, { const: 'never' }, { pattern: '^never$' }]) {
    const $schema = 'http://json-schema.org/draft-07/schema#';
    const schema = { $schema, definitions: { a: { type: 'string' } }, $ref: '#/definitions/a', ...ignored };
    assert.equal(decide([OPEN, ruleOn('deny', schema)], { x: 'evil' }), 'deny', JSON.stringify(ignored));
  }
});

test('lint tells limits without a type, and paths that are compared as text', () => {
  const tools = {
    s: {
      tools: [
        { name: 't', inputSchema: { type: 'object', properties: { x: { type: ['string', 'array'] } } } },
      ],
    },
  };
  const codes = (rule: Rule, given?: typeof tools) =>
    lintPolicy({ version: 1, rules: [OPEN, rule] }, given)
      .map(({ code }) => code)
      .filter((code) => code === 'untyped_limit' || code === 'path_as_text');
  const both = ['untyped_limit', 'path_as_text'];
  assert.deepEqual(codes(ruleOn('deny', { pattern: '^/data/secret' }), tools), both);
  assert.deepEqual(codes(ruleOn('deny', { type: 'string', pattern: '^/data/secret' }), tools), [
    'path_as_text',
  ]);
  assert.deepEqual(codes(ruleOn('allow', { type: 'string', pattern: '^/data/' }), tools), ['path_as_text']);
  assert.deepEqual(codes(ruleOn('allow', { type: 'string', pattern: '^/data/[a-z]+$' }), tools), []);
  assert.deepEqual(codes(ruleOn('allow', { maximum: 3 })), ['untyped_limit']);
  tools.s.tools[0] = {
    name: 't',
    inputSchema: { type: 'object', properties: { x: { type: 'integer' } } },
  } as never;
  assert.deepEqual(codes(ruleOn('allow', { maximum: 3 }), tools), []);
});

const listed = (name: string, annotations?: object, properties: object = { path: { type: 'string' } }) => ({
  name,
  inputSchema: { type: 'object', properties },
  ...(annotations === undefined ? {} : { annotations }),
});

test('a star stands for any characters of a tool name, and the rules about it decide as if it were written out', () => {
  const next = random(11);
  const pick = <T>(from: readonly T[]): T => from[next(from.length)] as T;
  const name = () => Array.from({ length: 1 + next(5) }, () => pick(['a', 'b', '_'])).join('');
  const pattern = () => Array.from({ length: 1 + next(5) }, () => pick(['a', 'b', '_', '*', '**'])).join('');
  for (let i = 0; i < sized(300, 5_000); i += 1) {
    const rules = Array.from({ length: 1 + next(5) }, (_, index) => ({
      ...{ id: `r${index}`, effect: pick(['allow', 'deny', 'require_approval']), server: 's' },
      tool: pick([name, pattern])(),
      // A rule without a condition may keep others from ever deciding.
      args: { path: { enum: [pick(['x', 'y']), 'z'] } },
    }));
    const policy = new Policy(readPolicy({ version: 1, rules }));
    const tool = name();
    const args = { path: pick(['x', 'y', 'z']) };
    const meant = rules.filter((rule) => new RegExp(`^${rule.tool.replaceAll(/\*+/g, '.*')}$`).test(tool));
    const written = meant.map((rule) => ({ ...rule, tool }));
    const same =
      written.length === 0
        ? 'deny'
        : new Policy(readPolicy({ version: 1, rules: written })).evaluate('s', tool, args).decision;
    assert.equal(policy.evaluate('s', tool, args).decision, same, JSON.stringify({ rules, tool, args }));
    assert.equal(policy.names('s', tool), meant.length > 0);
  }
});

test('annotations are taken at the worse word; a rule for many tools says nothing of those without its argument', () => {
  const tools = [
    listed('reads', { readOnlyHint: true }),
    listed('both', { readOnlyHint: true, destructiveHint: true }),
    listed('silent'),
    listed('adds', { readOnlyHint: false, destructiveHint: false }),
    listed('clock', { readOnlyHint: true }, {}),
  ];
  const rules = [
    { id: 'r', effect: 'allow', server: 's', tool: '*', annotations: { readOnlyHint: true } },
    { id: 'a', effect: 'allow', server: 's', tool: 'adds' },
    { id: 'x', effect: 'deny', server: 's', tool: '*', annotations: { destructiveHint: true } },
    { id: 'p', effect: 'deny', server: 's', tool: '*', args: { path: { const: '/etc' } } },
  ];
  using gate = new PolicyGate({ policy: { version: 1, rules }, tools: { s: { tools } } as never });
  assert.equal(gate.problem, undefined);
  assert.deepEqual(gate.findings, []);
  const decided = tools.map(({ name }) => gate.evaluate({ server: 's', tool: name, args: {} }));
  assert.deepEqual(
    decided.map(({ reasonCode, ruleIds }) => `${reasonCode} ${ruleIds}`),
    ['allowed r', 'rule_denied x', 'rule_denied x', 'allowed a', 'allowed r'],
  );
  assert.equal(gate.evaluate({ server: 's', tool: 'adds', args: { path: '/etc' } }).decision, 'deny');
  assert.deepEqual(
    gate.allowedTools().map(({ name }) => name),
    ['reads', 'adds', 'clock'],
  );
});

test('only_args keeps a rule from calls with other arguments', () => {
  const rule = { ...OPEN, args: { x: { const: 1 } }, only_args: true };
  assert.equal(decide([rule], { x: 1 }), 'allow');
  assert.equal(decide([rule], {}), 'allow');
  assert.equal(decide([rule], { x: 1, y: 2 }), 'deny');
  assert.equal(decide([{ ...OPEN, only_args: true }], { x: 1 }), 'deny');
  assert.equal(decide([{ ...OPEN, only_args: true }], {}), 'allow');
});

test('paths are compared in their shortest form, and local ones where their links lead', () => {
  const dir = realpathSync(tempDir());
  const [inside, outside] = [join(dir, 'in'), join(dir, 'out')];
  for (const folder of [inside, outside, join(outside, 'deep')]) mkdirSync(folder);
  symlinkSync(join(outside, 'deep'), join(inside, 'link'));
  const within = (word: string, path: string) =>
    decide([{ ...OPEN, args: { x: { [word]: [inside] } }, required: ['x'] }], { x: path });
  for (const path of ['', '/', '/a', '/./a', '//a/']) {
    assert.equal(within('pathWithin', `${inside}${path}`), 'allow', path);
  }
  for (const path of [`${inside}/../out`, `${inside}x`, `/${inside}`, 'a', `${inside}/a\nb`, outside])
    for (const word of ['pathWithin', 'localPathWithin']) assert.equal(within(word, path), 'deny', path);
  assert.equal(within('pathWithin', `${inside}/link/a`), 'allow', 'as it is written');
  assert.equal(within('localPathWithin', `${inside}/link/a`), 'deny', 'where it leads');
  assert.equal(within('localPathWithin', `${inside}/link/../a`), 'deny', 'two readings');
  assert.equal(within('localPathWithin', `${inside}/b/../a`), 'allow');
  assert.equal(within('localPathWithin', `${inside}/new`), 'allow');
});
