/** Faults of the file system and the clock: what `append` answered for is read again or is in a file that is named. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { DurableSpanProcessor, spoolStatus } from '../src/durable/index.ts';
import { resolveSpoolOptions, type SpoolOptions } from '../src/durable/options.ts';
import { encodeRecord } from '../src/durable/record.ts';
import { Spool } from '../src/durable/spool.ts';
import { CollectingExporter, leaveSegment } from './support/collecting-exporter.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { longTest } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const DAY_MS = 24 * 3_600_000;

let directory = '';
let warnings: string[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'observatory-faults-'));
  warnings = [];
  const log = (message: string) => void warnings.push(message);
  diag.setLogger({ error: log, warn: log, info: log, debug: log, verbose: log }, DiagLogLevel.WARN);
});
afterEach(() => {
  diag.disable();
  mock.restoreAll();
  syncBuiltinESMExports();
  rmSync(directory, { recursive: true });
});

const open = (options: Partial<SpoolOptions> = {}) =>
  Spool.open(resolveSpoolOptions({ directory, sync: 'never', segmentBytes: 1, ...options }));

/** Makes calls of a function of `fs/promises` fail for the paths that `codeFor` has a code for. */
function fail(name: 'readFile' | 'open' | 'stat', codeFor: (path: string) => string | undefined): void {
  const original = fs[name] as (path: string, ...args: unknown[]) => Promise<never>;
  mock.method(fs, name, async (path: string, ...args: unknown[]) => {
    const code = codeFor(path);
    if (code !== undefined) throw Object.assign(new Error(`${code}: planted, '${path}'`), { code });
    return original(path, ...args);
  });
  syncBuiltinESMExports();
}

function heal(): void {
  mock.restoreAll();
  syncBuiltinESMExports();
}

async function drainedIds(spool: Spool): Promise<string[]> {
  const ids: string[] = [];
  for (let batch = await spool.peek(); batch !== undefined; batch = await spool.peek()) {
    ids.push(...idsOf(batch.spans));
    await spool.remove();
  }
  return ids.sort();
}

for (const whenFull of ['drop-oldest', 'refuse'] as const) {
  test(`files that cannot be read are passed over, named, kept and read once they can be (${whenFull})`, async () => {
    const spool = await open({ whenFull });
    const spans = manySpans(40);
    for (let i = 0; i < 40; i += 10) await spool.append(spans.slice(i, i + 10));
    const codes = ['EMFILE', 'EIO', 'EACCES'];
    const failing = new Map<string, string>();
    fail('readFile', (path) => {
      if (!failing.has(path) && codes.length > 0) failing.set(path, codes.shift() ?? '');
      return failing.get(path);
    });
    assert.deepEqual(await drainedIds(spool), idsOf(spans.slice(30)));
    for (const [path, code] of failing) {
      assert.ok(
        warnings.some((line) => line.includes(path) && line.includes(code)),
        path,
      );
    }
    assert.ok(spool.bytes > 0);
    heal();
    const late: string[] = [];
    await waitUntil(async () => late.push(...(await drainedIds(spool))) >= 30);
    assert.deepEqual(late.sort(), idsOf(spans.slice(0, 30)));
    assert.deepEqual(spool.losses, { dropped: 0, damagedBytes: 0 });
    await spool.close();
    assert.deepEqual(readdirSync(directory), []);
  });
}

test('a folder in the place of a file holds up nothing, is named and stays', async () => {
  mkdirSync(join(directory, '0@@gone@nowhere', '1-folder.spool'), { recursive: true });
  const spans = manySpans(5);
  leaveSegment(directory, '2-file.spool', await encodeRecord(spans));
  const spool = await open();
  assert.deepEqual(await drainedIds(spool), idsOf(spans));
  assert.ok(warnings.some((line) => line.includes('1-folder.spool') && line.includes('EISDIR')));
  await spool.close();
  assert.equal((await spoolStatus(directory)).spans, 0);
  assert.ok(
    readdirSync(directory, { recursive: true }).some((path) => String(path).endsWith('1-folder.spool')),
  );
});

test('a file that was taken over is in the books even if its size is not known', async () => {
  const spans = manySpans(5);
  leaveSegment(directory, '1-file.spool', await encodeRecord(spans));
  fail('stat', () => 'EIO');
  const spool = await open();
  heal();
  assert.deepEqual(await drainedIds(spool), idsOf(spans));
  await spool.close();
});

test('a missing file is forgotten and named', async () => {
  const spool = await open();
  await spool.append(manySpans(2));
  const [file = ''] = readdirSync(directory, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith('.spool'));
  rmSync(join(directory, file));
  assert.equal(await spool.peek(), undefined);
  assert.ok(spool.isEmpty);
  assert.ok(warnings.some((line) => line.includes(basename(file)) && line.includes('ENOENT')));
  await spool.close();
});

test('making room deletes nothing that cannot be read: the new spans have no room', async () => {
  const spool = await open({ maxBytes: 1500 });
  const kept = manySpans(5);
  await spool.append(kept);
  fail('readFile', () => 'EIO');
  await assert.rejects(async () => {
    for (let i = 0; i < 20; i += 1) await spool.append(manySpans(5));
  }, /the spool is full/);
  assert.equal(spool.losses.dropped, 0);
  heal();
  const ids: string[] = [];
  await waitUntil(async () => {
    ids.push(...(await drainedIds(spool)));
    return idsOf(kept).every((id) => ids.includes(id));
  });
  await spool.close();
});

test('records of a newer form and damaged bytes are moved aside, and a later start tries the records again', async () => {
  const [before, newer, damaged, after] = await Promise.all(
    [2, 3, 4, 5].map((n) => encodeRecord(manySpans(n))),
  );
  assert.ok(before && newer && damaged && after);
  newer.write('Z', 3);
  newer.writeUInt32BE(crc32(newer.subarray(12), crc32('Z')), 8);
  damaged[damaged.length - 1] = (damaged.at(-1) as number) ^ 1;
  leaveSegment(directory, '7-a.spool', Buffer.concat([before, newer, damaged, after]));
  for (const start of ['first', 'second']) {
    warnings = [];
    const spool = await open();
    const found = await drainedIds(spool);
    assert.equal(found.length, start === 'first' ? 7 : 0);
    assert.equal(spool.losses.damagedBytes, start === 'first' ? newer.length + damaged.length : newer.length);
    assert.equal(spool.losses.dropped, 0);
    await spool.close();
    assert.match(warnings.join('\n'), /3 spans in a form this version does not know.*7-a\.newer\.spool/);
    assert.deepEqual(readFileSync(join(directory, 'unreadable', '7-a.newer.spool')), newer);
    assert.deepEqual(readFileSync(join(directory, 'unreadable', '7-a.damaged')), damaged);
    const { spans, unreadableBytes } = await spoolStatus(directory);
    assert.deepEqual([spans, unreadableBytes], [0, newer.length + damaged.length]);
  }
});

test('if the disk is too full to set bytes aside, the whole file is moved', async () => {
  const record = await encodeRecord(manySpans(2));
  const content = Buffer.concat([record, Buffer.from('rubbish')]);
  leaveSegment(directory, '7-a.spool', content);
  const spool = await open();
  fail('open', (path) => (path.includes('unreadable') ? 'ENOSPC' : undefined));
  assert.equal((await drainedIds(spool)).length, 2);
  assert.deepEqual(readFileSync(join(directory, 'unreadable', '7-a.damaged')), content);
  await spool.close();
});

for (const days of [8, -30]) {
  test(`a clock that jumps by ${days} days and is set right deletes nothing`, async () => {
    const clock = Date.now.bind(Date);
    const sent: string[] = [];
    const put = async (spool: Spool) => {
      const spans = manySpans(10);
      sent.push(...idsOf(spans));
      await spool.append(spans);
    };
    const first = await open();
    await put(first);
    mock.method(Date, 'now', () => clock() + days * DAY_MS);
    await put(first);
    await first.close();
    const second = await open();
    await put(second);
    mock.restoreAll();
    await put(second);
    await second.close();
    const third = await open();
    assert.deepEqual(await drainedIds(third), sent.sort());
    assert.equal(third.losses.dropped, 0);
    await third.close();
  });
}

longTest('a batch that always takes the back end too long does not hold up those behind it', async () => {
  const isSlow = ({ name }: { name: string }) => name === 'slow';
  const exporter = new CollectingExporter((spans) =>
    spans.some(isSlow) ? new Promise<never>(() => {}) : undefined,
  );
  leaveSegment(directory, '1-slow.spool', await encodeRecord(manySpans(1, 'slow')));
  const spans = manySpans(10);
  leaveSegment(directory, '2-quick.spool', await encodeRecord(spans));
  const processor = new DurableSpanProcessor({
    exporter,
    spool: { directory },
    exportTimeoutMs: 20,
    minRetryDelayMs: 1,
    maxRetryDelayMs: 1,
    flushTimeoutMs: 200,
  });
  await waitUntil(() => exporter.spans.length === 10, 15_000);
  assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
  await processor.shutdown();
  assert.equal((await spoolStatus(directory)).spans, 1);
});
