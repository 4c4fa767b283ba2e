/** The hook of coding agents: what it answers each of them, what it records, and how their settings are edited. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { mock, test } from 'node:test';
import { commandIo } from '../src/cli/command-line/index.ts';
import { gateCommand } from '../src/cli/gate.ts';
import { hookCommand } from '../src/cli/hook/index.ts';
import { type AuditRecord, auditRecords } from './support/audit-records.ts';
import { bundle } from './support/bundle.ts';
import { runCommand } from './support/run-command.ts';
import { tempDir } from './support/temp-dir.ts';

const work = tempDir();
const POLICY = {
  version: 1,
  servers: { shell: { default: 'require_approval' }, agent: { default: 'require_approval' } },
  rules: [
    {
      id: 'looks',
      effect: 'allow',
      server: 'shell',
      tool: ['run', 'run_expanded'],
      args: {
        program: { enum: ['ls', 'cat', 'echo', 'cd', 'tar', 'jq', 'xargs', 'cp', 'curl', 'some-tool'] },
      },
      required: ['program'],
    },
    {
      id: 'git',
      effect: 'allow',
      server: 'shell',
      tool: 'run',
      args: { program: { const: 'git' }, subcommand: { enum: ['status', 'diff'] } },
      required: ['program', 'subcommand'],
    },
    {
      id: 'no rm',
      effect: 'deny',
      server: 'shell',
      tool: ['run', 'run_expanded'],
      args: { program: { const: 'rm' } },
    },
    {
      id: 'work',
      effect: 'allow',
      server: 'files',
      tool: ['read', 'write'],
      args: { path: { pathWithin: [work] } },
      required: ['path'],
    },
    {
      id: 'flows',
      effect: 'allow',
      server: 'files',
      tool: 'write',
      args: { path: { pathWithin: [join(work, '.github')] } },
      required: ['path'],
    },
    {
      id: 'site',
      effect: 'allow',
      server: 'web',
      tool: 'fetch',
      args: { url: { urlHostIn: ['example.com'] } },
      required: ['url'],
    },
    {
      id: 'no keys',
      effect: 'deny',
      server: 'files',
      tool: 'read',
      args: { path: { pattern: '/key$' } },
    },
    { id: 'docs', effect: 'allow', server: 'docs', tool: 'search' },
  ],
};
const policy = join(tempDir(), 'policy.json');
writeFileSync(policy, JSON.stringify(POLICY));

interface Hooked {
  readonly code: number;
  readonly answer: Record<string, unknown> | undefined;
  readonly stderr: string;
  readonly records: readonly AuditRecord[];
}

async function hook(
  client: string,
  event: object | string,
  flags: readonly string[] = ['--enforce'],
): Promise<Hooked> {
  const dir = tempDir();
  const text = typeof event === 'string' ? event : JSON.stringify({ cwd: work, session_id: 's', ...event });
  const env = { SAFE_TRACE_DIR: dir };
  const { code, stderr, rows } = await runCommand(
    hookCommand,
    [client, '--policy', policy, ...flags],
    [text],
    env,
  );
  return { code, answer: rows[0], stderr, records: auditRecords(dir) };
}

/** What Claude Code is told: `allow` where it is told nothing. */
async function claude(tool_name: string, tool_input: object): Promise<string> {
  const { code, answer } = await hook('claude-code', {
    hook_event_name: 'PreToolUse',
    tool_name,
    tool_input,
  });
  assert.equal(code, 0);
  if (answer === undefined) return 'allow';
  const { hookEventName, permissionDecision } = answer.hookSpecificOutput as Record<string, string>;
  assert.equal(hookEventName, 'PreToolUse');
  return permissionDecision ?? '';
}

test('commands, files, fetches and MCP tools are decided by the rules, the strictest counts', async () => {
  mkdirSync(join(work, 'in'));
  mkdirSync(join(work, 'held/deep'), { recursive: true });
  writeFileSync(join(work, 'held/deep/key'), '');
  writeFileSync(join(work, 'held/other'), '');
  symlinkSync('/etc', join(work, 'out'));
  symlinkSync('/nowhere/at/all', join(work, 'dangling'));
  const cases: readonly (readonly [tool: string, input: object, decision: string])[] = [
    ['Bash', { command: 'git status' }, 'allow'],
    ['Bash', { command: 'git status && ls -la "$HOME" > in/list' }, 'allow'],
    ['Bash', { command: 'git status; rm -rf /' }, 'deny'],
    ['Bash', { command: 'echo $(git push; rm x)' }, 'deny'],
    ['Bash', { command: 'git push' }, 'ask'],
    ['Bash', { command: 'git -c core.pager=sh diff' }, 'ask'],
    ['Bash', { command: 'PATH=/x ls' }, 'ask'],
    ['Bash', { command: 'ls "' }, 'ask'],
    ['Bash', { command: 'ls > /etc/passwd' }, 'deny'],
    ['Bash', { command: 'ls > out/passwd' }, 'deny'],
    ['Bash', { command: 'ls > dangling' }, 'ask'],
    ['Bash', { command: 'cd / && ls > in/list' }, 'deny'],
    ['Bash', { command: 'ls > out/../passwd' }, 'ask'],
    ['Bash', { command: 'ls > in/../list' }, 'allow'],
    ['Bash', { command: 'ls > /proc/self/cwd/list' }, 'ask'],
    ['Bash', { command: 'ls > list', workdir: '/' }, 'deny'],
    ['Bash', { command: 'tar czf in/a.tgz in --exclude=*.log' }, 'allow'],
    ['Bash', { command: 'tar czf in/a.tgz i*' }, 'allow'],
    ['Bash', { command: 'tar czf in/a.tgz o?t' }, 'ask'],
    ['Bash', { command: 'tar xf in/a.tgz -C/' }, 'ask'],
    ['Bash', { command: 'tar czf in/a.tgz held' }, 'deny'],
    ['Bash', { command: 'ls held && cat held/other' }, 'allow'],
    ['Bash', { command: 'tar cf in/a.tar out/passwd' }, 'ask'],
    ['Bash', { command: 'tar cf in/a.tar ~/.ssh' }, 'ask'],
    ['Bash', { command: "jq '.. | .a' in/a.json" }, 'allow'],
    ['Bash', { command: 'jq . /etc/shadow' }, 'deny'],
    ['Bash', { command: 'xargs -a /etc/shadow echo' }, 'deny'],
    ['Bash', { command: 'some-tool a/b in https://example.com/etc -m "/etc is a folder"' }, 'allow'],
    ['Bash', { command: 'some-tool --from=file:///etc/shadow' }, 'ask'],
    ['Bash', { command: 'some-tool --from=https://a.test/etc' }, 'ask'],
    ['Bash', { command: 'ls > .git/hooks/pre-commit' }, 'ask'],
    ['Bash', { command: 'cd /etc && some-tool shadow' }, 'ask'],
    ['Bash', {}, 'ask'],
    ['Read', { file_path: join(work, 'in/new/file') }, 'allow'],
    ['Read', { file_path: join(work, '../secret') }, 'deny'],
    ['Read', { file_path: '~/.ssh/id_rsa' }, 'ask'],
    ['Read', { file_path: ' /etc/passwd' }, 'ask'],
    ['Read', { file_path: '%2e%2e/secret' }, 'ask'],
    ['Write', { file_path: join(work, 'out/passwd') }, 'deny'],
    ['Write', { file_path: join(work, '.git/hooks/pre-commit') }, 'ask'],
    ['Write', { file_path: join(work, '../other/.git/hooks/pre-commit') }, 'deny'],
    ['Edit', {}, 'ask'],
    ['apply_patch', { command: '*** Begin Patch\n*** Update File: in/a\n*** Add File: /etc/b\n' }, 'deny'],
    ['apply_patch', { command: '*** Add File: in/a\n+x\n *** Add File: /etc/b\n+y' }, 'deny'],
    ['apply_patch', { command: '*** Add File: in/a\n*** Add File: /etc/b\r\n' }, 'deny'],
    ['apply_patch', { command: '*** Add File: in/a\n'.repeat(201) }, 'ask'],
    ['WebFetch', { url: 'https://example.com/a' }, 'allow'],
    ['WebFetch', { url: 'https://example.com@evil.test/' }, 'deny'],
    ['mcp__docs__search', { q: 'a' }, 'allow'],
    ['mcp__docs__delete', {}, 'deny'],
    ['Task', { prompt: 'x' }, 'ask'],
  ];
  for (const [tool, input, decision] of cases)
    assert.equal(await claude(tool, input), decision, `${tool} ${JSON.stringify(input)}`);
});

test('a hidden name is written, and a redirect followed, where a rule is about that', async () => {
  const at = (path: string) => {
    mkdirSync(join(work, path, '..'), { recursive: true });
    writeFileSync(join(work, path), '');
    return join(work, path);
  };
  at('pack/.envrc');
  at('plain/a');
  at('.zed/tasks.json');
  symlinkSync('.zed', join(work, 'zed'));
  const cases: readonly (readonly [tool: string, input: object, decision: string])[] = [
    ['Write', { file_path: join(work, '.agent/settings.json') }, 'ask'],
    ['Write', { file_path: join(work, 'in/.hidden') }, 'ask'],
    ['Edit', { file_path: join(work, 'zed/tasks.json') }, 'ask'],
    ['Write', { file_path: join(work, '.github/workflows/ci.yml') }, 'allow'],
    ['Write', { file_path: join(work, '.github/.agent/x') }, 'ask'],
    ['Read', { file_path: join(work, '.zed/tasks.json') }, 'allow'],
    ['apply_patch', { command: '*** Update File: in/a\n*** Move to: .envrc\n' }, 'ask'],
    ['Bash', { command: 'ls > .github/list' }, 'allow'],
    ['Bash', { command: 'ls > .envrc' }, 'ask'],
    ['Bash', { command: 'cd .zed && ls > tasks.json' }, 'ask'],
    ['Bash', { command: 'some-tool --write .zed/tasks.json' }, 'ask'],
    ['Bash', { command: 'some-tool -o .new' }, 'ask'],
    ['Bash', { command: 'some-tool --x=.unmade/y' }, 'ask'],
    ['Bash', { command: 'some-tool --into .unmade/y' }, 'ask'],
    ['Bash', { command: 'some-tool --outFile .new' }, 'ask'],
    ['Bash', { command: 'some-tool --outFile=.new' }, 'ask'],
    ['Bash', { command: 'some-tool -o cache_dir=.new' }, 'ask'],
    ['Bash', { command: `some-tool --set "file='.new'"` }, 'ask'],
    ['Bash', { command: 'some-tool -q .new' }, 'ask'],
    ['Bash', { command: 'some-tool --query .name ./...' }, 'allow'],
    ['Bash', { command: 'some-tool --ext .a,.b --loader:.svg=text --extensions=.a --limit .5' }, 'allow'],
    ['Bash', { command: 'some-tool --testPathIgnorePatterns .new -o jsonpath=.items' }, 'allow'],
    ['Bash', { command: 'cp -r pack/. .' }, 'ask'],
    ['Bash', { command: 'cp pack/.envrc .' }, 'ask'],
    ['Bash', { command: 'cp -r plain in/copy' }, 'allow'],
    ['Bash', { command: 'curl -O https://example.com/%2eenvrc' }, 'ask'],
    ['Bash', { command: 'curl -O https://example.com/envrc' }, 'allow'],
    ['Bash', { command: 'curl -LO https://example.com/envrc' }, 'ask'],
    ['Bash', { command: 'git diff .zed/tasks.json' }, 'allow'],
    ['Bash', { command: 'tar czf in/a.tgz --exclude=.zed in' }, 'allow'],
  ];
  for (const [tool, input, decision] of cases)
    assert.equal(await claude(tool, input), decision, `${tool} ${JSON.stringify(input)}`);
  const tool_input = { file_path: join(work, '.envrc') };
  const { answer } = await hook('codex', { hook_event_name: 'PreToolUse', tool_name: 'Write', tool_input });
  assert.match(
    JSON.stringify(answer),
    /it may write '[^']*\.envrc', and no rule that allows it names '\.envrc'/,
  );
});

test('the strict starter lets an agent read its folder, and asks about all else', async () => {
  const strict = join(tempDir(), 'strict.json');
  const before = process.cwd();
  process.chdir(work);
  const init = await runCommand(gateCommand, ['init', '--strict', '--out', strict]);
  process.chdir(before);
  assert.equal(init.code, 0);
  const given = readFileSync(policy);
  writeFileSync(policy, readFileSync(strict));
  const cases: readonly (readonly [tool: string, input: object, decision: string])[] = [
    ['Read', { file_path: join(work, 'src/env.ts') }, 'allow'],
    ['Read', { file_path: join(work, '.env.local') }, 'ask'],
    ['Read', { file_path: join(work, 'in/id_ed25519') }, 'ask'],
    ['Read', { file_path: '/etc/passwd' }, 'ask'],
    ['Task', { prompt: 'x' }, 'ask'],
    ['Bash', { command: 'ls' }, 'ask'],
  ];
  try {
    for (const [tool, input, decision] of cases)
      assert.equal(await claude(tool, input), decision, `${tool} ${JSON.stringify(input)}`);
  } finally {
    writeFileSync(policy, given);
  }
});

test('each agent is answered in its form, and asked only where it can ask', async () => {
  const shell = { command: 'rm x' };
  const asked = { command: 'git push' };
  const codex = { hook_event_name: 'PreToolUse', tool_name: 'Bash' };
  const { answer } = await hook('codex', { ...codex, tool_input: asked });
  const said = answer?.hookSpecificOutput as Record<string, string>;
  assert.equal(said.permissionDecision, 'deny');
  assert.match(said.permissionDecisionReason ?? '', /approval_required\)\. Ask the user/);
  const gemini = { hook_event_name: 'BeforeTool', tool_name: 'run_shell_command', tool_input: shell };
  assert.deepEqual((await hook('gemini-cli', gemini)).answer, {
    decision: 'deny',
    reason: 'mcp-observatory: Rule no rm denies it (rule_denied)',
  });
  const mcp = {
    hook_event_name: 'BeforeTool',
    tool_name: 'mcp_docs_search',
    mcp_context: { server_name: 'docs', tool_name: 'search' },
  };
  assert.equal((await hook('gemini-cli', mcp)).answer, undefined);
  const cursor = { hook_event_name: 'beforeShellExecution' };
  assert.equal((await hook('cursor', { ...cursor, ...asked })).answer?.permission, 'ask');
  assert.equal((await hook('cursor', { ...cursor, ...shell })).answer?.permission, 'deny');
  const read = { hook_event_name: 'beforeReadFile', file_path: '/etc/passwd' };
  assert.equal((await hook('cursor', read)).answer?.permission, 'deny');
});

test('without --enforce everything is recorded and nothing stopped', async () => {
  const event = {
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'git status; rm x' },
  };
  const { code, answer, records } = await hook('claude-code', event, []);
  assert.deepEqual([code, answer], [0, undefined]);
  const decided = records.filter(({ event: kind }) => kind === 'call_decided');
  assert.deepEqual(
    decided.map(({ server, tool, decision, enforcement, would_block }) => [
      server,
      tool,
      decision,
      enforcement,
      would_block,
    ]),
    [
      ['shell', 'run', 'allow', 'shadow', false],
      ['shell', 'run', 'deny', 'shadow', true],
    ],
  );
  const after = { ...event, hook_event_name: 'PostToolUse', tool_response: { is_error: true } };
  const finished = (await hook('claude-code', after)).records.filter(
    ({ event: kind }) => kind === 'call_finished',
  );
  assert.deepEqual([...new Set(finished.map(({ outcome }) => outcome))], ['tool_error']);
});

test('a hook that enforces fails closed, one that observes is not in the way', async () => {
  const bad: (string | object)[] = [
    '',
    'no JSON',
    '[]',
    '{"hook_event_name":"PreToolUse","hook_event_name":"x"}',
    { hook_event_name: 'Unknown' },
  ];
  for (const event of bad) {
    assert.equal((await hook('claude-code', event)).code, 2);
    const observed = await hook('claude-code', event, []);
    assert.deepEqual([observed.code, observed.answer], [0, undefined]);
    assert.match(observed.stderr, /mcp-observatory hook: /);
  }
  const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' } };
  const missing = ['--enforce', '--policy', join(work, 'missing.json')];
  assert.equal((await hook('claude-code', event, missing)).code, 2);
  assert.equal((await hook('nobody', event)).code, 2);
  assert.equal((await hook('claude-code', event, ['--enforce', '--policy', '/dev/zero'])).code, 2);
  assert.equal((await hook('claude-code', event, ['--enforce=true'])).code, 2);
  mock.timers.enable({ apis: ['setTimeout'] });
  const open = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const waiting = hookCommand.run(['codex', '--policy', policy, '--enforce'], commandIo(open));
  mock.timers.tick(10_000);
  mock.timers.reset();
  assert.equal(await waiting, 2, 'an event that never ends');
});

test('what a policy counts over events is denied where nothing keeps it', async () => {
  const totals = [{ id: 'looks', tools: ['shell.run'], per: 'day', at_most: 1 }];
  writeFileSync(policy, JSON.stringify({ ...POLICY, budgets: { totals } }));
  const before = process.env.XDG_STATE_HOME;
  process.env.XDG_STATE_HOME = tempDir();
  assert.equal(await claude('Bash', { command: 'ls' }), 'deny');
  if (before === undefined) delete process.env.XDG_STATE_HOME;
  else process.env.XDG_STATE_HOME = before;
  writeFileSync(policy, JSON.stringify(POLICY));
});

test('a command whose answer nobody reads does not end as one that has given it', async () => {
  const denied = {
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'rm x' },
    cwd: work,
  };
  const run = (args: readonly string[], input: string, stdout: 'pipe' | number) => {
    const env = { PATH: process.env.PATH, SAFE_TRACE_DIR: tempDir() };
    const child = spawn(process.execPath, [join(bundle(), 'cli.js'), ...args], {
      env,
      stdio: ['pipe', stdout, 'ignore'],
    });
    child.stdout?.destroy();
    child.stdin?.end(input);
    return once(child, 'exit');
  };
  const hooked = ['hook', 'claude-code', '--policy', policy];
  const event = JSON.stringify(denied);
  assert.deepEqual(await run([...hooked, '--enforce'], event, 'pipe'), [2, null]);
  assert.deepEqual(await run([...hooked, '--enforce'], event, openSync('/dev/null', 'w')), [2, null]);
  assert.deepEqual(await run(hooked, event, 'pipe'), [0, null]);
  const evidence = `${JSON.stringify({ id: 'a', source: {}, summary: {} })}\n`;
  assert.deepEqual(await run(['gate', 'evidence'], evidence, 'pipe'), [1, null]);
});

test('settings are edited beside what they hold, and restored byte by byte', async () => {
  const texts: Readonly<Record<string, string | undefined>> = {
    none: undefined,
    empty: '',
    tabs: '{\n\t"model": "x",\n\t"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}\n}',
    odd: '{ "a" : 1e2 ,  "hooks" : { } }\n\n',
  };
  for (const client of ['claude-code', 'codex', 'cursor', 'gemini-cli']) {
    for (const [name, text] of Object.entries(texts)) {
      const path = join(tempDir(), `${client}-${name}`, 'settings.json');
      const flags = [client, '--settings', path];
      if (text !== undefined) {
        mkdirSync(join(path, '..'));
        writeFileSync(path, text);
      }
      const now = () => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);
      const run = (...args: string[]) => runCommand(hookCommand, args);
      assert.match((await run('install', ...flags, '--policy', policy, '--dry-run')).stdout, /hook/);
      assert.equal(now(), text, 'a dry run writes nothing');
      await run('install', ...flags, '--policy', policy);
      await run('install', ...flags, '--policy', policy, '--enforce');
      const installed = now() ?? '';
      assert.equal(
        installed.match(/ hook [a-z-]+ --policy/g)?.length,
        client === 'cursor' ? 5 : 2,
        installed,
      );
      assert.match(installed, /--enforce \|\| exit 2/);
      await run('uninstall', ...flags, '--dry-run');
      assert.equal(now(), installed);
      await run('uninstall', ...flags);
      assert.equal(now(), text, `${client} ${name}`);
      await run('install', ...flags, '--policy', policy);
      writeFileSync(path, (now() ?? '').replace('{', '{ "added": true,'));
      await run('uninstall', ...flags);
      assert.match(now() ?? '', /"added": true/);
      assert.doesNotMatch(now() ?? '', / hook [a-z-]+ --policy/);
    }
  }
  const comments = join(tempDir(), 'settings.json');
  writeFileSync(comments, '{ // mine\n}');
  await assert.rejects(
    runCommand(hookCommand, ['install', 'gemini-cli', '--settings', comments, '--policy', policy]),
    { code: 'INVALID_OPTION' },
  );
  assert.equal(readFileSync(comments, 'utf8'), '{ // mine\n}');
});

test('links and the hooks of others in the settings stay, and what cannot be edited safely is left alone', async () => {
  const dir = tempDir();
  const at = (name: string) => join(dir, name);
  const run = (verb: string, name: string, ...flags: string[]) =>
    runCommand(hookCommand, [verb, 'claude-code', '--settings', at(name), ...flags]);
  const install = (name: string, ...flags: string[]) => run('install', name, '--policy', policy, ...flags);
  const read = (name: string) => readFileSync(at(name), 'utf8');

  writeFileSync(at('real'), '{"a":1}');
  chmodSync(at('real'), 0o664);
  symlinkSync(at('real'), at('link'));
  await install('link');
  assert.match(read('real'), / hook claude-code /);
  assert.equal(statSync(at('real')).mode & 0o777, 0o664);
  await run('uninstall', 'link');
  assert.equal(read('real'), '{"a":1}');
  assert.ok(lstatSync(at('link')).isSymbolicLink());

  await install('shared');
  const settings = JSON.parse(read('shared')) as {
    hooks: Record<string, { hooks: object[] }[]>;
  };
  settings.hooks.PreToolUse?.[0]?.hooks.push({ type: 'command', command: 'mine' });
  writeFileSync(at('shared'), JSON.stringify(settings));
  await install('shared', '--enforce');
  assert.match(read('shared'), /"mine"/);
  await run('uninstall', 'shared');
  assert.match(read('shared'), /"mine"/);
  assert.doesNotMatch(read('shared'), / hook claude-code /);

  const like = { type: 'command', command: '/opt/acme/guard hook claude-code --policy /etc/acme.json' };
  const others = JSON.stringify({ hooks: { PreToolUse: [{ matcher: '*', hooks: [like] }] } });
  writeFileSync(at('alike'), others);
  assert.match((await run('uninstall', 'alike')).stdout, /has no hooks of ours/);
  await install('alike');
  assert.match(read('alike'), /\/opt\/acme\/guard hook claude-code/);
  await run('uninstall', 'alike');
  assert.equal(read('alike'), others);

  const refused: Readonly<Record<string, Buffer>> = {
    latin: Buffer.from('{"a":"\xff"}', 'latin1'),
    mark: Buffer.from('\ufeff{}'),
    shape: Buffer.from('{"hooks":{"PreToolUse":{}}}'),
    readonly: Buffer.from('{}'),
  };
  for (const [name, content] of Object.entries(refused)) {
    writeFileSync(at(name), content);
    if (name === 'readonly') chmodSync(at(name), 0o444);
    await assert.rejects(install(name), { code: 'INVALID_OPTION' }, name);
    assert.deepEqual(readFileSync(at(name)), content);
  }
  symlinkSync(at('nowhere'), at('dangling'));
  await assert.rejects(install('dangling'), { code: 'INVALID_OPTION' });
});

test('each day has a folder of its own, so that an event takes no longer after many', async () => {
  const home = tempDir();
  const before = process.env.HOME;
  process.env.HOME = home;
  try {
    const event = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' } };
    await runCommand(hookCommand, ['claude-code', '--policy', policy], [JSON.stringify(event)], {});
  } finally {
    if (before === undefined) delete process.env.HOME;
    else process.env.HOME = before;
  }
  const days = readdirSync(join(home, '.mcp-observatory/hook'));
  assert.match(days.join(), /^\d{4}-\d\d-\d\d$/);
  assert.ok(auditRecords(join(home, '.mcp-observatory/hook', days[0] ?? '')).length > 0);
});
