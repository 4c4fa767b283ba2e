import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Command } from '../src/cli/command-line/index.ts';
import { COMMANDS } from '../src/cli/run-cli.ts';

const ROOT = new URL('../../', import.meta.url);
const { scripts } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

interface Row {
  readonly id: string;
  readonly promise: string;
  /** What stands in backticks in the columns of places and of tests. */
  readonly places: readonly string[];
  readonly shownBy: readonly string[];
  /** The tests that are named by their title, behind the file. */
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

function readTable(): readonly Row[] {
  const lines = readFileSync(new URL('test/seeds.md', ROOT), 'utf8').split('\n');
  const cells = lines.map((line) => line.split(' | ').map((cell) => cell.replace(/^\| ?| ?\|$/g, '')));
  const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text as string);
  return cells
    .filter(([id]) => /^[OGP]\d+$/.test(id ?? ''))
    .map(([id = '', promise = '', where, shown]) => ({
      id,
      promise,
      places: quoted(where),
      shownBy: quoted(shown),
      tests: [...(shown ?? '').matchAll(/`([^`]+)` "([^"]+)"/g)].map(([, file = '', title = '']) => ({
        file,
        title,
      })),
    }));
}

/** Why a command line would not be taken by the command line's own table; undefined when it would. */
async function commandProblem(line: string): Promise<string | undefined> {
  const [, name = '', ...rest] = line.split(' ');
  if (!Object.hasOwn(COMMANDS, name)) return `there is no command '${name}'`;
  const words = rest.filter((word) => !word.startsWith('--') && /^[a-z]/.test(word));
  const flags = rest.filter((word) => word.startsWith('--'));
  let command: Command = await (COMMANDS[name] as (typeof COMMANDS)[string]).load();
  const [word] = words;
  if (word !== undefined) {
    const isListed = new RegExp(`^ {2}${word}\\b`, 'm').test(command.help);
    if (!isListed) return `'${name}' has no '${word}'`;
    command = (await command.subcommands?.[word]?.load()) ?? command;
  }
  const unknown = flags.find((flag) => !command.help.includes(flag));
  return unknown === undefined ? undefined : `'${line}' has no ${unknown}`;
}

async function problemOf(what: string): Promise<string | undefined> {
  if (what.startsWith('mcp-observatory ')) return commandProblem(what);
  const [, script] = /^npm run (\S+)$/.exec(what) ?? [];
  if (script !== undefined) return Object.hasOwn(scripts, script) ? undefined : `no script '${script}'`;
  return existsSync(fileURLToPath(new URL(what, ROOT))) ? undefined : `there is no file '${what}'`;
}

test('each promise of the seeds names where it is kept and what shows it, and all of that exists', async () => {
  const rows = readTable();
  assert.ok(rows.length >= 168, `${rows.length} promises`);
  const problems: string[] = [];
  for (const { id, promise, places, shownBy } of rows) {
    if (promise === '' || places.length === 0 || shownBy.length === 0) problems.push(`${id} is not complete`);
    for (const what of [...places, ...shownBy]) {
      const problem = await problemOf(what);
      if (problem !== undefined) problems.push(`${id}: ${problem}`);
    }
  }
  assert.deepEqual(problems, []);
  for (const document of ['O', 'G', 'P']) {
    const numbers = rows.filter(({ id }) => id.startsWith(document)).map(({ id }) => Number(id.slice(1)));
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
      `the numbers of ${document}`,
    );
  }
});

function testProblem({ file, title }: Row['tests'][number]): string | undefined {
  const titles = readFileSync(new URL(file, ROOT), 'utf8').matchAll(/^ *(?:long)?[tT]est\((['"])(.+?)\1,/gm);
  return [...titles].some(([, , found]) => found === title) ? undefined : `'${file}' has no test '${title}'`;
}

test('the tests that rows name by their title exist', () => {
  const named = readTable().flatMap(({ id, tests }) => tests.map((one) => ({ id, ...one })));
  assert.ok(named.length > 10, `${named.length} titles`);
  assert.deepEqual(
    named.flatMap((one) => testProblem(one)?.concat(` (${one.id})`) ?? []),
    [],
  );
  assert.match(testProblem({ file: 'test/seeds.test.ts', title: 'nothing' }) ?? '', /has no test 'nothing'/);
});

test('what is misspelled in the table would be found', async () => {
  assert.match((await problemOf('src/nothing.ts')) ?? '', /no file/);
  assert.match((await problemOf('npm run nothing')) ?? '', /no script/);
  assert.match((await problemOf('mcp-observatory gates')) ?? '', /no command/);
  assert.match((await problemOf('mcp-observatory gate nothing')) ?? '', /has no 'nothing'/);
  assert.match((await problemOf('mcp-observatory golden list --nothing')) ?? '', /has no --nothing/);
  assert.equal(await problemOf('mcp-observatory golden list --strict'), undefined);
});
