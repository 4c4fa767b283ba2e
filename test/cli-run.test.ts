import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { runCommand } from '../src/cli/run.ts';
import { runCli } from '../src/cli/run-cli.ts';
import { scenarioServer } from './support/ghost.ts';
import { type Script, ScriptedProvider } from './support/scripted-provider.ts';

let folder: string;
let config: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-run-'));
  config = join(folder, 'server_config.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { s: scenarioServer() } }));
});
after(() => rmSync(folder, { recursive: true }));

async function run(script: Script, args: readonly string[], input = '', terminal = false) {
  await using model = await ScriptedProvider.start(script);
  const stdout = new PassThrough();
  const stderr = Object.assign(new PassThrough(), { isTTY: terminal });
  const io = { stdin: Readable.from([input]), stdout, stderr, env: { OPENAI_API_KEY: 'k', NO_COLOR: '1' } };
  const code = await runCommand.run([...args, '--base-url', model.baseUrl('openai')], io);
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr), requests: model.requests };
}

const SCRIPT: Script = [{ calls: [{ name: 's__add', arguments: { a: 1, b: 2 } }] }, { text: 'It is 3.' }];

test('run prints the answer alone, and nothing else when no terminal watches', async () => {
  const { code, stdout, stderr } = await run(SCRIPT, [
    '--provider',
    'openai',
    '--config',
    config,
    'add 1 and 2',
  ]);
  assert.deepEqual([code, stdout, stderr], [0, 'It is 3.\n', '']);
});

test('run shows its progress on a terminal', async () => {
  const { stderr } = await run(SCRIPT, ['--provider', 'openai', '--config', config, '-'], 'add', true);
  assert.match(stderr, /s: \d+ tools\ns\.add \{"a":1,"b":2\}\n {2}done in \d/);
});

test('run --json prints the whole result in its wire form', async () => {
  const { code, stdout } = await run(SCRIPT, ['--provider', 'openai', '--config', config, '--json', 'add']);
  const wire = JSON.parse(stdout) as { success: boolean; tool_chain: { tool_name: string }[] };
  assert.equal(code, 0);
  assert.equal(wire.tool_chain[0]?.tool_name, 's.add');
});

test('run exits with 1 when the model does not finish', async () => {
  const { code, stdout, stderr } = await run(
    (seen) =>
      seen.body.tool_choice === 'none'
        ? { text: 'so far 3' }
        : { calls: [{ name: 's__add', arguments: { a: 1, b: 2 } }] },
    ['--provider', 'openai', '--config', config, '--max-iterations', '1', 'add'],
  );
  assert.deepEqual([code, stdout], [1, 'so far 3\n']);
  assert.match(stderr, /limit of turns/);
});

test('run refuses bad usage with a typed error', async () => {
  const refused = (...args: string[]) => assert.rejects(run([], args), { code: 'INVALID_OPTION' });
  await refused('--provider', 'openai');
  await refused('prompt');
  await refused('--provider', 'nobody', 'prompt');
  await refused('--provider', 'openai', '--max-iterations', 'many', 'prompt');
  await refused('--provider', 'openai', '--no-such-flag', 'prompt');
  await refused('--provider', 'openai', 'two', 'prompts');
});

test('every command that takes a server config ends in 2 for a file it cannot use, and names it', async () => {
  const missing = join(folder, 'missing.json');
  const cases = join(folder, 'cases.jsonl');
  writeFileSync(cases, '');
  const allowlist = join(folder, 'allowlist.json');
  writeFileSync(allowlist, '{"s": ["add"]}');
  const commands = [
    ['run', '--provider', 'openai', '--config', missing, 'add'],
    ['golden', 'record', '--provider', 'openai', '--config', missing, '--out', join(folder, 'g.json'), 'add'],
    ['ask', '--servers', missing, '--allowlist', allowlist, '--base-url', 'http://127.0.0.1:9/v1', 'add'],
    ['gate', 'e2e', '--cases', cases, '--servers', missing, '--allowlist', allowlist],
  ];
  for (const argv of commands) {
    const stderr = new PassThrough();
    const env = { OPENAI_API_KEY: 'k', SAFE_TRACE_DIR: join(folder, 'traces') };
    const code = await runCli(argv, { stdin: Readable.from([]), stdout: new PassThrough(), stderr, env });
    stderr.end();
    const said = await text(stderr);
    assert.equal(code, 2, `${argv[0]}: ${said}`);
    assert.match(said, /missing\.json" cannot be read .*\(INVALID_SERVER_CONFIG\)/);
  }
});
