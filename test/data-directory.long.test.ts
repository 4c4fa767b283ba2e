/** The folder of the embedded database: whose it is, and what is never replaced. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { placeOfDataDirectory } from '../src/postgres/data-directory.ts';
import { lockDataDirectory } from '../src/postgres/data-directory-lock.ts';
import { openDatabase } from '../src/postgres/index.ts';
import { tempDir } from './support/temp-dir.ts';

const STORE = {
  PG_VERSION: '17\n',
  base: undefined,
  global: undefined,
  pg_wal: undefined,
  'postgresql.conf': '',
};

function without(...names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(STORE).filter(([name]) => !names.includes(name)));
}

const NOT_UNDERSTOOD: readonly (readonly [string, Record<string, string | undefined>, RegExp])[] = [
  ['a store that lost PG_VERSION', without('PG_VERSION'), /has base, global, .* and lacks PG_VERSION/],
  ['a store that lost its rows', without('base', 'pg_wal'), /lacks base, pg_wal/],
  [
    'a folder of somebody else',
    { 'notes.txt': 'mine', photos: undefined },
    /has notes\.txt, photos, and lacks/,
  ],
  ['the root of a file system', { 'lost+found': undefined }, /has lost\+found/],
];

describe('a folder that is not an embedded database', () => {
  for (const [what, files, message] of NOT_UNDERSTOOD) {
    test(`${what} is refused and left as it is`, async () => {
      const directory = join(tempDir(), 'pgdata');
      mkdirSync(directory, { mode: 0o755 });
      for (const [name, text] of Object.entries(files)) {
        if (text === undefined) mkdirSync(join(directory, name));
        else writeFileSync(join(directory, name), text);
      }
      for (const create of [true, false]) {
        await assert.rejects(openDatabase({ dataDir: directory, create }), (error: Error) => {
          assert.equal((error as Error & { code?: string }).code, 'DATABASE_UNREACHABLE');
          assert.match(error.message, message);
          assert.match(error.message, /nothing in it was changed/);
          return true;
        });
      }
      assert.deepEqual(readdirSync(directory).sort(), Object.keys(files).sort());
      assert.equal(statSync(directory).mode & 0o777, 0o755, 'its permissions stay');
      assert.deepEqual(readdirSync(dirname(directory)), ['pgdata'], 'nothing is left beside it');
    });
  }
});

const LOCKING = `
  import { lockDataDirectory } from ${JSON.stringify(new URL('../src/postgres/data-directory-lock.js', import.meta.url).href)};
  await lockDataDirectory(process.argv[1]);
  console.log('locked');
  process.stdin.resume();`;

describe('the lock of a data directory', () => {
  const locksOf = (directory: string) => {
    const prefix = `${basename(directory)}.lock.`;
    return readdirSync(dirname(directory)).filter((name) => name.startsWith(prefix));
  };
  const write = (directory: string, text: string, ageMs = 0): string => {
    const file = `${directory}.lock.other`;
    writeFileSync(file, text);
    const time = new Date(Date.now() - ageMs);
    utimesSync(file, time, time);
    return file;
  };
  test('an empty or cut off one, as a full disk leaves it, is removed once it is old', async () => {
    for (const text of ['', '{"pid":1,', 'null', '[]', '{"pid":"1","host":"a"}']) {
      const directory = join(tempDir(), 'pgdata');
      write(directory, text);
      await assert.rejects(lockDataDirectory(directory), { code: 'DATABASE_UNREACHABLE' }, 'it is new');
      write(directory, text, 60_000);
      await (await lockDataDirectory(directory)).release();
      assert.deepEqual(locksOf(directory), []);
    }
  });

  test('one that cannot be read counts as that of a process', async () => {
    const directory = join(tempDir(), 'pgdata');
    mkdirSync(`${directory}.lock.other`);
    await assert.rejects(lockDataDirectory(directory), { message: /whose lock cannot be read/ });
  });

  test('a directory with two names has one lock', async () => {
    const folder = tempDir();
    const directory = join(folder, 'pgdata');
    mkdirSync(directory);
    symlinkSync(directory, join(folder, 'link'));
    const lock = await lockDataDirectory(await placeOfDataDirectory(directory));
    const other = await placeOfDataDirectory(join(folder, 'link'));
    await assert.rejects(lockDataDirectory(other), { message: /in use by process/ });
    await lock.release();
    await (await lockDataDirectory(other)).release();
  });

  const skip = process.platform !== 'linux' && 'the proof of life is that of Linux';
  test('of a container under the same kernel it is known whether its owner lives', { skip }, async () => {
    const directory = join(tempDir(), 'pgdata');
    const owner = spawn(process.execPath, ['--input-type=module', '-e', LOCKING, directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = once(owner, 'exit');
    await once(owner.stdout, 'data');
    // The lock as a container writes it, with a host name and process ids of its own.
    const file = join(dirname(directory), locksOf(directory)[0] as string);
    const proved = {
      ...(JSON.parse(readFileSync(file, 'utf8')) as { alive: object }),
      host: 'another-host',
      pid: 1,
    };
    writeFileSync(file, JSON.stringify(proved));
    await assert.rejects(lockDataDirectory(directory), { message: /process 1 on another-host/ });
    owner.kill('SIGSTOP');
    await assert.rejects(lockDataDirectory(directory), { message: /process 1 on another-host/ });
    owner.kill('SIGKILL');
    await exited;
    // Under another kernel, and without a proof, nobody knows.
    for (const unknown of [
      { ...proved, alive: { ...proved.alive, boot: 'another' } },
      { ...proved, alive: undefined },
    ]) {
      writeFileSync(file, JSON.stringify(unknown));
      await assert.rejects(lockDataDirectory(directory), (error: Error) => {
        assert.match(error.message, /on any machine or in any container/);
        assert.ok(error.message.includes(file));
        return true;
      });
    }
    writeFileSync(file, JSON.stringify(proved));
    await (await lockDataDirectory(directory)).release();
    assert.deepEqual(readdirSync(dirname(directory)), [], 'neither locks nor sockets are left');
  });
});
