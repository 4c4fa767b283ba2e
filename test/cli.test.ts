import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../src/base/version.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../src/cli/command-line/index.ts';
import { runCli } from '../src/cli/run-cli.ts';

function manifest() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
    engines: { node: string };
  };
}

async function cli(args: string[], input = '') {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const code = await runCli(args, { stdin, stdout, stderr, env: {} });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

test('--version prints the version of package.json', async () => {
  assert.equal(VERSION, manifest().version);
  assert.deepEqual(await cli(['--version']), { code: EXIT_OK, stdout: `${VERSION}\n`, stderr: '' });
});

test('--help lists the commands on stdout; no command at all is bad usage', async () => {
  const help = await cli(['--help']);
  assert.equal(help.code, EXIT_OK);
  for (const name of ['demo', 'score', 'db']) assert.match(help.stdout, new RegExp(`^  ${name} `, 'm'));
  const none = await cli([]);
  assert.equal(none.code, EXIT_USAGE);
  assert.equal(none.stdout, '');
  assert.equal(none.stderr, help.stdout);
});

test('an unknown command or flag is bad usage and names itself', async () => {
  const command = await cli(['nonsense']);
  assert.equal(command.code, EXIT_USAGE);
  assert.match(command.stderr, /'nonsense' is not a command/);
  const inherited = await cli(['constructor']);
  assert.equal(inherited.code, EXIT_USAGE);
  const flag = await cli(['score', '--nonsense']);
  assert.equal(flag.code, EXIT_USAGE);
  assert.match(flag.stderr, /--nonsense/);
});

test('demo --live without a key is bad usage', async () => {
  const { code, stderr } = await cli(['demo', '--live']);
  assert.equal(code, EXIT_USAGE);
  assert.match(stderr, /OPENAI_API_KEY/);
});

test('a subcommand has a help of its own, which errors name', async () => {
  const help = await cli(['gate', 'plan', '--help']);
  assert.match(help.stdout, /^Usage: mcp-observatory gate plan --tools FILE/);
  assert.doesNotMatch(help.stdout, /gate lint/);
  const flag = await cli(['gate', 'plan', '--nonsense']);
  assert.match(flag.stderr, /^mcp-observatory gate plan: .*\nSee 'mcp-observatory gate plan --help'\.\n$/);
});

test('every command explains itself with --help', async () => {
  for (const name of ['demo', 'score', 'db']) {
    const { code, stdout } = await cli([name, '--help']);
    assert.equal(code, EXIT_OK);
    assert.match(stdout, new RegExp(`^Usage: mcp-observatory ${name}`));
  }
});

/** The program as the package ships it. */
const MAIN = fileURLToPath(new URL('../lib/cli.js', import.meta.url));

test('an older Node gets the version that is needed, and nothing else', () => {
  const pretend = 'Object.defineProperty(process.versions, "node", { value: "20.18.3" })';
  const old = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, MAIN, '--version'];
  const { status, stdout, stderr } = spawnSync(process.execPath, old, { encoding: 'utf8' });
  const [, wanted = ''] = />=(.+)$/.exec(manifest().engines.node) ?? [];
  assert.deepEqual(
    [status, stdout, stderr],
    [EXIT_USAGE, '', `mcp-observatory needs Node ${wanted} or newer; this is Node 20.18.3\n`],
  );
  // An import of a name that an older Node lacks would fail before the check.
  const [, check = '', ...others] =
    /^import .*"(\.\/supported-node-\w+\.js)"/m.exec(readFileSync(MAIN, 'utf8')) ?? [];
  assert.deepEqual(others, []);
  for (const [file, imports] of [
    [MAIN, 1],
    [join(dirname(MAIN), check), 0],
  ] as const) {
    assert.equal(
      readFileSync(file, 'utf8').match(/^(?:import|export)\b.*['"]/gm)?.length ?? 0,
      imports,
      file,
    );
  }
});

test('an output that cannot be written is one line on stderr and exit code 1', {
  skip: !existsSync('/dev/full'),
}, () => {
  const full = openSync('/dev/full', 'w');
  try {
    const stdio = ['ignore', full, 'pipe'] as const;
    const { status, stderr } = spawnSync(process.execPath, [MAIN, '--version'], {
      encoding: 'utf8',
      stdio: [...stdio],
    });
    assert.equal(status, EXIT_FAILED);
    assert.match(stderr, /^mcp-observatory: The output cannot be written: ENOSPC.*\n$/);
  } finally {
    closeSync(full);
  }
});
