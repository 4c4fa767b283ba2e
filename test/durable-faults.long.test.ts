/**
 * Real faults under real processes: every span that the writer answered for is exported, on disk, or in a file that was
 * named. `durable-faults.test.ts` plants those that cannot be made here, such as `EIO`.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spoolStatus } from '../src/durable/index.ts';
import { seededRandom } from './support/random.ts';

const PROGRAM = fileURLToPath(new URL('./support/spool-fault-process.js', import.meta.url));
const MOUNT = '/bin/mount';
const UNMOUNT = '/bin/umount';
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
const BATCHES = 400;

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'observatory-spool-faults-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Outcome {
  readonly ids: ReadonlySet<string>;
  readonly stderr: string;
}

interface Circumstances {
  readonly env?: Record<string, string>;
  readonly uid?: number;
  readonly maxFiles?: number;
}

async function run(mode: 'write' | 'drain', amount: number, about: Circumstances = {}): Promise<Outcome> {
  const { env = {}, uid, maxFiles } = about;
  const limit = maxFiles === undefined ? '' : `ulimit -n ${maxFiles}; `;
  const args = ['-c', `${limit}exec "$0" "$@"`, process.execPath, PROGRAM, mode, directory, String(amount)];
  const child = spawn('/bin/sh', args, {
    env: { ...process.env, ...env },
    ...(uid === undefined ? {} : { uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, stderr);
  return { ids: new Set(stdout.split('\n').slice(0, -1)), stderr };
}

/** Files of spans, without those set aside. */
function segments(): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.spool') && !path.startsWith('unreadable'))
    .map((path) => join(directory, path));
}

function assertAll(expected: ReadonlySet<string>, ...found: readonly Outcome[]): void {
  assert.ok(expected.size > 0);
  const missing = [...expected].filter((id) => !found.some(({ ids }) => ids.has(id)));
  assert.equal(missing.length, 0, found.map(({ stderr }) => stderr).join('\n'));
}

test('no file descriptors are left for a while: all spans are sent afterwards', async () => {
  const written = await run('write', BATCHES);
  const env = { SPOOL_HOLD_FILES_MS: '3000' };
  const drained = await run('drain', 4000, { env, maxFiles: 120 });
  assert.match(drained.stderr, /EMFILE/);
  assertAll(written.ids, drained);
  assert.equal((await spoolStatus(directory)).files, 0);
});

test('files of another user are kept and named, and sent once they can be read', {
  skip: !IS_ROOT,
}, async () => {
  chmodSync(directory, 0o755);
  chownSync(directory, NOBODY, NOBODY);
  const written = await run('write', BATCHES, { uid: NOBODY });
  const foreign = segments().filter((_, i) => i % 2 === 0);
  for (const file of foreign) chownSync(file, 0, 0);
  const first = await run('drain', 2500, { uid: NOBODY });
  for (const file of foreign) {
    assert.ok(first.stderr.includes(basename(file)), file);
    assert.match(first.stderr, /EACCES/);
  }
  assert.equal((await spoolStatus(directory)).files, foreign.length);
  for (const file of segments()) chownSync(file, NOBODY, NOBODY);
  const second = await run('drain', 1500, { uid: NOBODY });
  assertAll(written.ids, first, second);
});

test('a full disk: what was answered for is on it, and is sent', { skip: !canMount() }, async () => {
  execFileSync(MOUNT, ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', directory]);
  try {
    const written = await run('write', BATCHES);
    assert.ok(written.ids.size < BATCHES * 10, 'the disk was not full');
    assert.match(written.stderr, /ENOSPC/);
    assertAll(written.ids, await run('drain', 1500));
  } finally {
    execFileSync(UNMOUNT, [directory]);
  }
});

test('flipped bytes: each costs the record it is in, whose bytes are kept in a file that is named', async () => {
  const written = await run('write', BATCHES);
  const random = seededRandom(7);
  const files = segments();
  let flipped = 0;
  for (const file of files) {
    const bytes = readFileSync(file);
    for (let i = 0; i < 3; i += 1, flipped += 1) {
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 + Math.floor(random() * 255));
    }
    writeFileSync(file, bytes);
  }
  const drained = await run('drain', 1500);
  const missing = [...written.ids].filter((id) => !drained.ids.has(id));
  assert.ok(missing.length > 0 && missing.length <= flipped * 10, `${missing.length} of ${flipped} records`);
  const kept = readdirSync(join(directory, 'unreadable'));
  assert.deepEqual(kept.length, files.length);
  for (const name of kept) assert.ok(drained.stderr.includes(name), name);
  const { unreadableBytes } = await spoolStatus(directory);
  assert.equal(
    unreadableBytes,
    kept.reduce((sum, name) => sum + statSync(join(directory, 'unreadable', name)).size, 0),
  );
  assert.equal((await spoolStatus(directory)).files, 0);
});

for (const days of ['8', '-30']) {
  test(`the clock of a writer, or of a reader, is ${days} days off: nothing is deleted`, async () => {
    const env = { SPOOL_CLOCK_DAYS: days };
    const off = await run('write', 40, { env });
    const right = await run('write', 40);
    const all = new Set([...off.ids, ...right.ids]);
    const first = await run('drain', 1000);
    assertAll(all, first);
    const later = await run('write', 40);
    assertAll(later.ids, await run('drain', 1000, { env }));
  });
}

function canMount(): boolean {
  if (!IS_ROOT) return false;
  const folder = mkdtempSync(join(tmpdir(), 'observatory-mount-'));
  try {
    execFileSync(MOUNT, ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync(UNMOUNT, [folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
