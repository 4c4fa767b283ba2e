import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandIo } from '../src/cli/command-line/index.ts';
import { runCommand } from '../src/cli/run.ts';
import { runCli } from '../src/cli/run-cli.ts';
import { readGolden } from '../src/golden/index.ts';
import { serveMcp } from './support/http-mcp-server.ts';
import { createScenario } from './support/scenario-tools.ts';
import { type Script, ScriptedProvider, type Turn } from './support/scripted-provider.ts';
import { longTest } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const served = await serveMcp(() => createScenario());
let folder: string;
let config: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-run-'));
  config = join(folder, 'server_config.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { s: { url: served.url } } }));
});
after(async () => {
  await served[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function run(script: Script, args: readonly string[], input = '', terminal = false) {
  await using model = await ScriptedProvider.start(script);
  const stdout = new PassThrough();
  const stderr = Object.assign(new PassThrough(), { isTTY: terminal });
  const env = { OPENAI_API_KEY: 'k', NO_COLOR: '1' };
  const io = commandIo({ stdin: Readable.from([input]), stdout, stderr, env });
  const code = await runCommand.run([...args, '--base-url', model.baseUrl('openai')], io);
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr), requests: model.requests };
}

const SCRIPT: readonly Turn[] = [
  { calls: [{ name: 's__add', arguments: { a: 1, b: 2 } }] },
  { text: 'It is 3.' },
];

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

test('run --events json writes each event as a line of JSON to stderr', async () => {
  const args = ['--provider', 'openai', '--config', config, '--events', 'json', 'add'];
  const { stdout, stderr } = await run(SCRIPT, args);
  assert.equal(stdout, 'It is 3.\n');
  const events = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['run_started', 'run_finished']);
  const started = events.find(({ type }) => type === 'tool_started');
  assert.deepEqual(started, {
    type: 'tool_started',
    iteration: 1,
    tool_name: 's.add',
    arguments: { a: 1, b: 2 },
  });
  const unknown = runCommand.run(
    [...args.slice(0, 5), 'xml', 'add'],
    commandIo({ stdin: Readable.from([]), stdout: new PassThrough(), stderr: new PassThrough(), env: {} }),
  );
  await assert.rejects(unknown, { code: 'INVALID_OPTION' });
});

test('run --golden also writes the run as a golden', async () => {
  const path = join(folder, 'run.json');
  const { code, stdout } = await run(SCRIPT, [
    '--provider',
    'openai',
    '--config',
    config,
    '--golden',
    path,
    'add',
  ]);
  assert.deepEqual([code, stdout], [0, 'It is 3.\n']);
  assert.equal((await readGolden(path)).provider_responses.length, 2);
});

longTest('Ctrl-C ends run with 130 and the result so far', async () => {
  await using model = await ScriptedProvider.start([SCRIPT[0] as Turn, { hang: true }]);
  const command = fileURLToPath(new URL('../lib/cli.js', import.meta.url));
  const args = [command, 'run', '--provider', 'openai', '--config', config, '--events', 'json', '--json'];
  const child = spawn(process.execPath, [...args, '--base-url', model.baseUrl('openai'), 'add'], {
    env: { ...process.env, OPENAI_API_KEY: 'k' },
  });
  const closed = once(child, 'close');
  const stdout = text(child.stdout);
  child.stderr.resume();
  await waitUntil(() => model.requests.length === 2);
  child.kill('SIGINT');
  assert.equal((await closed)[0], 130);
  const result = JSON.parse(await stdout) as {
    tool_chain: object[];
    execution_metadata: { stop_reason: string };
  };
  assert.equal(result.tool_chain.length, 1);
  assert.equal(result.execution_metadata.stop_reason, 'aborted');
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

test('a command line that names an input which cannot be read ends in 2, whatever the command', async () => {
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const missing = join(folder, 'missing.json');
  const cases = write('cases.jsonl', '');
  const allowlist = write('allowlist.json', '{"s": ["add"]}');
  const tools = write('tools.json', '{}');
  const golden = fileURLToPath(new URL('../../goldens/openai/edge_case_empty_result.json', import.meta.url));
  const out = join(folder, 'g.json');
  const planner = ['--base-url', 'http://127.0.0.1:9/v1', 'add'];
  const unreadable = [missing, folder, write('broken.json', '{"a": 1')];
  for (const bad of unreadable) {
    const commands = [
      ['run', '--provider', 'openai', '--config', bad, 'add'],
      ['golden', 'record', '--provider', 'openai', '--config', bad, '--out', out, 'add'],
      ['ask', '--servers', bad, '--allowlist', allowlist, ...planner],
      ['ask', '--servers', config, '--allowlist', bad, ...planner],
      ['gate', 'e2e', '--cases', cases, '--servers', bad, '--allowlist', allowlist],
      ['gate', 'e2e', '--cases', bad, '--servers', config, '--allowlist', allowlist],
      ['gate', 'e2e', '--cases', cases, '--servers', config, '--allowlist', bad],
      ['gate', 'plan', '--tools', bad, '--allowlist', allowlist],
      ['gate', 'plan', '--tools', tools, '--allowlist', bad],
      ['gate', 'plan', '--tools', tools, '--allowlist', allowlist, '--pins', bad],
      ['gate', 'verify', bad],
      ['score', '--prices', bad],
      ['golden', 'inspect', bad],
      ['golden', 'compare', golden, bad],
      ['golden', 'drift', bad, golden],
      ...(bad === folder
        ? []
        : [
            ['golden', 'replay', golden, bad],
            ['golden', 'list', bad],
          ]),
      ['collect', '--token-file', bad === unreadable[2] ? missing : bad],
    ];
    for (const argv of commands) {
      const [stdout, stderr] = [new PassThrough().resume(), new PassThrough()];
      const env = {
        OPENAI_API_KEY: 'k',
        SAFE_TRACE_DIR: join(folder, 'traces'),
        DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
      };
      const code = await runCli(argv, { stdin: Readable.from([]), stdout, stderr, env });
      stderr.end();
      assert.equal(code, 2, `${argv.join(' ')}: ${await text(stderr)}`);
    }
  }
});
