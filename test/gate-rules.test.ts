import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gateCommand } from '../src/cli/gate.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { serveShelf } from './support/example-servers.ts';
import { SEED_ALLOWLIST, SEED_TOOLS, tempFile } from './support/policy-fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

const TOOLS = {
  mail: {
    tools: [
      {
        name: 'send',
        annotations: { readOnlyHint: false, destructiveHint: true },
        inputSchema: {
          type: 'object',
          properties: { to: { type: 'string' }, body: { type: 'string' }, copies: { type: 'integer' } },
          required: ['to'],
        },
      },
      { name: 'list', annotations: { readOnlyHint: true }, inputSchema: { type: 'object' } },
      {
        name: 'broken',
        inputSchema: { type: 'object', properties: { a: { $ref: 'https://elsewhere.example/schema.json' } } },
      },
      { name: 'ahead', inputSchema: { type: 'object', properties: { a: { pattern: 'b(?=a)' } } } },
    ],
  },
};
const toolsFile = tempFile('tools.json', TOOLS);
const on = (id: string, rest: object = {}) => ({
  id,
  effect: 'allow',
  server: 'mail',
  tool: 'send',
  ...rest,
});
const policyFile = (rules: object[], rest: object = {}) =>
  tempFile('policy.json', { version: 1, rules, ...rest });

async function lint(rules: object[], rest: object = {}, ...flags: string[]) {
  const args = ['lint', '--policy', policyFile(rules, rest), '--tools', toolsFile, '--json', ...flags];
  const { code, rows } = await runCommand(gateCommand, args);
  return {
    code,
    found: rows.map((row) => `${row.severity} ${row.code} ${(row.rule_ids as string[]).join(',')}`),
  };
}

const TO = { args: { to: { emailDomainIn: ['a.example'] } } };
const CASES: readonly (readonly [what: string, rules: object[], found: string[]])[] = [
  ['a plain policy', [on('a', TO), on('l', { tool: 'list' })], []],
  [
    'two rules that can never decide',
    [on('a', TO), on('b', TO), on('no', { effect: 'deny' })],
    ['error unreachable a,no', 'error unreachable b,no', 'warning no_effect b,a'],
  ],
  [
    'an approval that comes before every allow',
    [on('a', TO), on('ask', { effect: 'require_approval' })],
    ['error unreachable a,ask'],
  ],
  [
    'a condition beside a rule without one',
    [on('a', TO), on('b')],
    ['warning no_effect a,b', 'warning destructive b'],
  ],
  ['a rule that says the same again', [on('a', TO), on('b', TO)], ['warning no_effect b,a']],
  [
    'an allow of what is denied',
    [
      on('a', { args: { to: { enum: ['x', 'y'] } } }),
      on('no', { effect: 'deny', args: { to: { type: 'string', pattern: '^[xyz]$' } } }),
    ],
    ['warning contradiction a,no'],
  ],
  [
    'a deny of only some of what is allowed',
    [
      on('a', { args: { to: { enum: ['x', 'y'] } } }),
      on('no', { effect: 'deny', args: { to: { const: 'x' } } }),
    ],
    [],
  ],
  [
    'a server, a tool and an argument that do not exist',
    [on('a', { server: 'male' }), on('b', { tool: 'sent' }), on('c', { args: { too: { const: 1 } } })],
    ['warning optional_argument c', 'error dead a', 'error dead b', 'error dead c'],
  ],
  ['names with a star', [on('a', { tool: 's*d' })], ['warning wildcard a', 'warning destructive a']],
  ['a star that names nothing', [on('a', { tool: 'sent*' })], ['warning wildcard a', 'error dead a']],
  [
    'a star beside its exceptions',
    [
      on('all', { tool: '*', annotations: { readOnlyHint: true } }),
      on('no', { tool: 'b*', effect: 'deny' }),
      on('never', { tool: 'broken' }),
    ],
    ['warning barred never', 'warning claim all', 'error unreachable never,no'],
  ],
  [
    'a star with an argument that no tool takes',
    [on('no', { tool: 's*', effect: 'deny', args: { too: { const: 1 } } }), on('a', TO)],
    ['error dead no'],
  ],
  [
    'a pattern of a path that takes anything',
    [on('a', { tool: 'read', args: { path: { type: 'string', pattern: '^[a-z]+/.*$' } } })],
    ['warning any_text a', 'error dead a'],
  ],
  [
    'conditions that are none',
    [on('a', { args: { to: {} } }), on('b', { args: { to: { description: 'Bob' } }, provenance: ['to'] })],
    ['warning any_value a', 'warning any_value b'],
  ],
  [
    'a pattern that matches anywhere',
    [on('a', { args: { to: { type: 'string', pattern: 'a[.]example$' } } })],
    ['warning unanchored_pattern a'],
  ],
  [
    'a condition that is escaped by leaving the argument out',
    [on('a', { args: { copies: { const: 1 } } })],
    ['warning optional_argument a'],
  ],
  ['any call of a destructive tool', [on('a')], ['warning destructive a']],
  ['a tool that cannot be called', [on('a', { tool: 'broken' })], ['warning barred a']],
  ['a pattern left to the server', [on('a', { tool: 'ahead' })], ['warning unchecked_pattern a']],
  [
    'a schema that is wrong',
    [on('a', { args: { to: { maxLenght: 3 } } }), on('b', TO)],
    ['error unusable a'],
  ],
  ['a test that fails', [on('a', { ...TO, tests: { allow: [{ to: 'x@b.example' }] } })], ['error unusable ']],
  ['equal ids', [on('a', TO), on('a', { tool: 'list' })], ['error unusable ']],
];

for (const [what, rules, expected] of CASES) {
  test(`gate lint: ${what}`, async () => {
    const { code, found } = await lint(rules);
    assert.deepEqual(found.sort(), [...expected].sort());
    const isWrong = expected.some((finding) => finding.startsWith('error'));
    assert.equal(code, isWrong ? 1 : 0);
    // What lint calls an error is what a gate does not take, or reports.
    using gate = new PolicyGate({ policy: { version: 1, rules }, tools: TOOLS as never });
    assert.equal(gate.problem !== undefined || gate.findings.length > 0, isWrong);
  });
}

test('gate lint tells of shadow mode, counts, and fails for warnings with --strict', async () => {
  assert.deepEqual(await lint([on('a', TO)], { mode: 'shadow' }), { code: 0, found: ['warning shadow '] });
  assert.equal((await lint([on('a', TO)], { mode: 'shadow' }, '--strict')).code, 1);
  const policy = tempFile('allowlist.json', SEED_ALLOWLIST);
  const { stdout } = await runCommand(gateCommand, ['lint', '--policy', policy]);
  assert.equal(stdout, '0 errors, 0 warnings\n');
  await assert.rejects(runCommand(gateCommand, ['lint', '--policy', join(tempDir(), 'none')]), {
    code: 'INVALID_OPTION',
  });
  const cut = await runCommand(gateCommand, ['lint', '--policy', tempFile('policy.json', '{"mail":["send"')]);
  assert.equal(cut.code, 1);
  assert.match(cut.stdout, /^error unusable: .*\n1 error, 0 warnings\n$/);
});

test('gate lint asks the servers of a config', async () => {
  await using shelf = await serveShelf('mcp-sharepoint');
  const servers = tempFile('servers.json', { mcpServers: { 'mcp-sharepoint': { url: shelf.url } } });
  const policy = tempFile('allowlist.json', {
    'mcp-sharepoint': ['fetch_sharepoint_doc', 'fetch_sharepoint_dok'],
  });
  const { code, stdout } = await runCommand(gateCommand, ['lint', '--policy', policy, '--servers', servers]);
  assert.equal(code, 1);
  assert.match(stdout, /has no tool 'fetch_sharepoint_dok'\n1 error, 0 warnings\n$/);
});

const RULES = [
  on('mail', { ...TO, provenance: ['to'] }),
  on('many', { effect: 'require_approval', args: { copies: { minimum: 10 } } }),
  on('evil', { effect: 'deny', args: { to: { emailDomainIn: ['evil.example'] } } }),
];

test('gate explain says which rule decides, and why each of the others does not', async () => {
  const policy = policyFile(RULES);
  const explain = async (args: object, ...flags: string[]) => {
    const call = JSON.stringify({ server: 'mail', tool: 'send', args });
    const { stdout } = await runCommand(gateCommand, ['explain', call, '--policy', policy, ...flags]);
    return stdout.split('\n');
  };
  const [decision, mail, many, evil, hint] = await explain({ to: 'eve@evil.example' });
  assert.equal(decision, 'deny by G3 (rule_denied): Rule evil denies it');
  assert.match(mail ?? '', /^ {2}allow {12}mail: does not apply, .*to/);
  assert.match(many ?? '', /^ {2}require_approval many: does not apply, /);
  assert.equal(evil, '* deny             evil: applies, the arguments are as it says');
  assert.match(hint ?? '', /--servers FILE or --tools FILE/);
  const to = 'bob@a.example';
  assert.match(
    (await explain({ to }))[0] ?? '',
    /^require_approval by G3 .*: it is not known where 'to' came from/,
  );
  assert.match((await explain({ to, copies: 12 }, '--query', `Write to ${to}`))[0] ?? '', /Rule many wants/);
  const allowed = await explain({ to }, '--query', `Write to ${to}`, '--tools', toolsFile);
  assert.equal(allowed[0], 'allow by G3 (allowed): Rule mail allows it');
  assert.match((await explain({ to: 5 }, '--tools', toolsFile))[0] ?? '', /^deny by G2 \(args_invalid\)/);
});

test('gate explain decides like the gate, prints JSON, reads stdin, and refuses what is no call', async () => {
  const policy = policyFile(RULES);
  const run = (call: string, ...flags: string[]) =>
    runCommand(
      gateCommand,
      ['explain', call, '--policy', policy, '--json', ...flags],
      ['{"type":"call_tool","server":"mail","tool":"list","args":{}}'],
    );
  const { rows, code } = await run('-', '--tools', toolsFile);
  assert.equal(code, 0);
  assert.deepEqual(
    [rows[0]?.decision, rows[0]?.reason_code, rows[0]?.checked, rows[0]?.rules],
    ['deny', 'not_allowlisted', 'call', []],
  );
  for (const call of ['', '{"server":"mail"}', '{"server":"mail","tool":"send","args":[]}', '{"server":1']) {
    await assert.rejects(run(call), { code: 'INVALID_OPTION' });
  }
  for (const args of [{ to: 'eve@evil.example' }, { to: 'x@a.example' }, { to: 'x@a.example', copies: 10 }]) {
    using gate = new PolicyGate({ policy: { version: 1, rules: RULES }, tools: TOOLS as never });
    const call = { server: 'mail', tool: 'send', args };
    const expected = gate.evaluate(call);
    const [row] = (await run(JSON.stringify(call), '--tools', toolsFile)).rows;
    assert.deepEqual(
      [row?.decision, row?.reason_code, row?.rule_ids, row?.policy_hash],
      [expected.decision, expected.reasonCode, expected.ruleIds, expected.policyHash],
    );
  }
});

test('the seed allowlist has no finding against its tools', async () => {
  const policy = tempFile('allowlist.json', SEED_ALLOWLIST);
  const flags = ['--policy', policy, '--tools', tempFile('tools.json', SEED_TOOLS), '--json'];
  assert.deepEqual((await runCommand(gateCommand, ['lint', ...flags])).rows, []);
});

test('gate lint finds words about servers that do nothing, or more than they seem to', async () => {
  const servers = {
    mail: {
      resources: ['file:///docs/*', 'file:///docs/../*', 'https://**', 'memo://a'],
      prompts: ['greet*'],
      instructions: 'allow',
    },
    gone: { completions: 'allow' },
  };
  const policy = policyFile([on('no', { effect: 'deny' })], { servers });
  const { rows } = await runCommand(gateCommand, [
    'lint',
    '--policy',
    policy,
    '--tools',
    toolsFile,
    '--json',
  ]);
  const said = rows.map((row) => `${row.code}: ${row.message}`);
  const found = said.filter((line) => line.includes('servers, '));
  assert.ok(found.length > 0, said.join());
  for (const expected of [
    /^dead: servers, 'gone': there is no server/,
    /^dead: .*'file:\/\/\/docs\/\.\.\/\*' matches no URI/,
    /^any_value: .*'https:\/\/\*\*' takes any resource/,
    /^wildcard: .*prompts: 'greet\*' is an exact name/,
    /^no_effect: .*instructions are shown only if/,
    /^no_effect: servers, 'gone': completions are for/,
  ])
    assert.ok(
      found.some((line) => expected.test(line)),
      `${expected} in ${found.join('\n')}`,
    );
  assert.equal(found.length, 6, found.join('\n'));
});

test('gate explain knows what is no tool call, and which word decides it', async () => {
  const policy = policyFile([on('a')], {
    servers: { mail: { resources: ['file:///docs/*'], roots: 'deny' } },
  });
  const explain = async (request: object, ...flags: string[]) =>
    runCommand(gateCommand, ['explain', JSON.stringify(request), '--policy', policy, ...flags]);
  const read = (uri: string) => ({ server: 'mail', method: 'resources/read', params: { uri } });
  const { stdout } = await explain(read('file:///docs/a.md'));
  assert.match(
    stdout,
    /^allow by G3 \(allowed\).*\n {2}servers, 'mail', resources: \["file:\/\/\/docs\/\*"\]/,
  );
  const [refused] = (await explain(read('file:///etc/passwd'), '--json')).rows;
  assert.equal(refused?.reason_code, 'request_not_allowed');
  const roots = await explain({ server: 'mail', method: 'roots/list' }, '--json');
  assert.deepEqual(
    [roots.rows[0]?.decision, roots.rows[0]?.word, roots.rows[0]?.says],
    ['deny', 'roots', 'deny'],
  );
  const unknown = await explain({ server: 'x', method: 'sampling/createMessage' });
  assert.match(unknown.stdout, /^deny .*\n {2}servers, 'x', sampling: nothing/);
  await assert.rejects(explain({ server: 'mail', method: 'tools/call' }), { code: 'INVALID_OPTION' });
});
