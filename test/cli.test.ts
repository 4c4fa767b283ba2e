import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { VERSION } from '../src/base/version.ts';
import { EXIT_OK, EXIT_USAGE } from '../src/cli/command-line/index.ts';
import { runCli } from '../src/cli/run-cli.ts';

function manifest() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
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

test('every command explains itself with --help', async () => {
  for (const name of ['demo', 'score', 'db']) {
    const { code, stdout } = await cli([name, '--help']);
    assert.equal(code, EXIT_OK);
    assert.match(stdout, new RegExp(`^Usage: mcp-observatory ${name}`));
  }
});
