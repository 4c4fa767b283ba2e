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
import { COMMANDS, runCli } from '../src/cli/run-cli.ts';

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

test('--help lists every command in one of six groups', async () => {
  const { stdout } = await cli(['--help']);
  const groups = [...stdout.matchAll(/^(\w+):\n((?: {2}\w+ .*\n)+)/gm)].map(([, group = '', lines = '']) => [
    group,
    [...lines.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name).join(' '),
  ]);
  assert.deepEqual(Object.fromEntries(groups), {
    look: 'up ui runs mcp tax',
    guard: 'gate hook approvals',
    record: 'golden',
    run: 'run ask',
    serve: 'collect db setup doctor',
    more: 'demo score reviews drift templates',
  });
});

/** Every command and subcommand: those with a help of their own, and those that the usage of a command lists. */
async function commandLines(): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const { help, subcommands = {} } = await load();
    const [, listed = ''] = /^Usage: mcp-observatory \w+ <([a-z]+(?:\|[a-z]+)+)>/.exec(help) ?? [];
    const [, further] = /^ +mcp-observatory \w+ ([a-z]+) /m.exec(help) ?? [];
    const words = [...Object.keys(subcommands), ...listed.split('|'), further ?? ''].filter(
      (word) => word !== '',
    );
    lines.push(name, ...words.map((word) => `${name} ${word}`));
  }
  return lines;
}

test('the help of every command and subcommand has under 40 lines of 120 characters', async () => {
  for (const line of ['', ...(await commandLines())]) {
    const { code, stdout } = await cli([...line.split(' '), '--help'].filter((word) => word !== ''));
    assert.equal(code, EXIT_OK);
    assert.match(stdout, new RegExp(`^Usage: mcp-observatory ${line.split(' ')[0]}`));
    const shown = stdout.trimEnd().split('\n');
    assert.ok(shown.length < 40, `${line}: ${shown.length} lines`);
    assert.deepEqual(
      shown.filter((text) => text.length > 120),
      [],
      line,
    );
  }
});

test('docs/commands.md has every command, in the groups of --help, and no other', async () => {
  const document = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  const starts = [...document.matchAll(/^- (`.*?`): /gm)].map(([, cell = '']) => cell);
  const named = starts.flatMap((cell) =>
    [...cell.matchAll(/`([a-z][\w-]*(?: [a-z][\w-]*)?)/g)].map(([, command = '']) => command),
  );
  const known = await commandLines();
  assert.deepEqual(
    named.filter((command) => !known.includes(command)),
    [],
    'commands that do not exist',
  );
  const isNamed = (command: string) =>
    named.some((name) => name === command || name.startsWith(`${command} `));
  assert.deepEqual(
    known.filter((command) => !isNamed(command)),
    [],
    'commands without a row',
  );
  const groups = [...document.matchAll(/^## ([a-z]+)$/gm)].map(([, group]) => group);
  const { stdout } = await cli(['--help']);
  assert.deepEqual(
    groups,
    [...stdout.matchAll(/^(\w+):$/gm)].map(([, group]) => group),
  );
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

test('where the OpenTelemetry API is missing, the program says so, and an application runs without telemetry', () => {
  const hook = `export const resolve = (name, context, next) => {
  if (name === '@opentelemetry/api') throw new Error("tried to access @opentelemetry/api\\n but");
  return next(name, context);
};`;
  const toUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  const missing = toUrl(`import { register } from 'node:module'; register(${JSON.stringify(toUrl(hook))});`);
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--import', missing, ...args], { encoding: 'utf8' });
  const needs = 'mcp-observatory needs @opentelemetry/api@~1.9.0, which this application has not';
  const program = run(MAIN, '--version');
  assert.deepEqual([program.status, program.stdout], [EXIT_USAGE, '']);
  assert.match(program.stderr, new RegExp(`^${needs}: .*\\n$`));
  const register = join(dirname(MAIN), 'register.js');
  const application = run('--import', register, '--eval', 'console.log("ran")');
  assert.deepEqual([application.status, application.stdout], [0, 'ran\n']);
  assert.match(application.stderr, new RegExp(`^${needs}: .*; nothing is traced\\n$`));
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
