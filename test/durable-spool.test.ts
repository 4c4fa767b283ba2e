import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { resolveSpoolOptions, type SpoolOptions } from '../src/durable/options.ts';
import { encodeRecord } from '../src/durable/record.ts';
import { Spool } from '../src/durable/spool.ts';
import { decodeProtobuf, encodeProtobuf } from '../src/otlp/index.ts';
import { leaveSegment } from './support/collecting-exporter.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { seededRandom } from './support/random.ts';
import { randomSpans } from './support/random-spans.ts';
import { sized } from './support/size.ts';
import { spanToRow } from './support/span-row.ts';
import { altered, spanWith } from './support/spans.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'observatory-spool-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (options: Partial<SpoolOptions> = {}) =>
  Spool.open(resolveSpoolOptions({ directory, sync: 'never', ...options }));

describe('a span that has been on disk', () => {
  test('is the same row, and the same OTLP document, as one that has not', () => {
    const spans = randomSpans(300, 99);
    const restored = throughOtlp(spans);
    assert.deepEqual(restored.map(spanToRow), spans.map(spanToRow));
    const plain = manySpans(50);
    assert.deepEqual(otlp(throughOtlp(plain)), otlp(plain));
  });

  test('keeps bytes, -0, NaN and null in nested values, parents, links and trace states', () => {
    const [parent, child] = manySpans(2);
    assert.ok(parent && child);
    const span = altered(child, {
      parentSpanContext: parent.spanContext(),
      attributes: { bytes: new Uint8Array([0, 255]), deep: { a: [-0, Number.NaN, null] } },
    });
    const [restored] = throughOtlp([span]);
    assert.deepEqual(restored?.attributes, span.attributes);
    assert.equal(restored?.parentSpanContext?.spanId, parent.spanContext().spanId);
    assert.equal(restored?.spanContext().spanId, child.spanContext().spanId);
  });

  test('has text in place of a value that cannot be copied', () => {
    const span = altered(spanWith({}), { attributes: { f: () => {}, ok: 1, list: [Symbol('s')] } });
    const [restored] = throughOtlp([span]);
    assert.deepEqual(restored?.attributes, { f: '[function]', ok: 1, list: ['[symbol]'] });
  });
});

describe('the spool', () => {
  test('gives batches back in order, each until it is removed, and leaves no file', async () => {
    const spool = await open({ segmentBytes: 2000 });
    const batches = Array.from({ length: 20 }, (_, i) => manySpans(1 + (i % 5)));
    for (const batch of batches) await spool.append(batch);
    for (const batch of batches) {
      assert.deepEqual(idsOf((await spool.peek())?.spans ?? []), idsOf(batch));
      assert.deepEqual(idsOf((await spool.peek())?.spans ?? []), idsOf(batch));
      await spool.remove();
    }
    assert.equal(await spool.peek(), undefined);
    assert.ok(spool.isEmpty);
    assert.equal(spool.bytes, 0);
    await spool.close();
    assert.deepEqual(readdirSync(directory), []);
  });

  test('batches appended while others are read are not lost', async () => {
    const spool = await open({ segmentBytes: 3000 });
    const sent: ReadableSpan[] = [];
    const got: ReadableSpan[] = [];
    const reading = (async () => {
      while (got.length < 200) {
        const batch = await spool.peek();
        if (batch === undefined) await sleep(1);
        else {
          got.push(...batch.spans);
          await spool.remove();
        }
      }
    })();
    for (let i = 0; i < 40; i += 1) {
      const batch = manySpans(5);
      sent.push(...batch);
      await spool.append(batch);
    }
    await reading;
    assert.deepEqual(idsOf(got), idsOf(sent));
    await spool.close();
  });

  test('is never said to be empty while spans are in it', async () => {
    const spool = await open();
    await spool.append(manySpans(5));
    const { bytes } = spool;
    let isOver = false;
    const peeked = spool.peek().finally(() => {
      isOver = true;
    });
    for (; !isOver; await new Promise(setImmediate)) {
      assert.deepEqual([spool.bytes, spool.isEmpty], [bytes, false]);
    }
    assert.equal((await peeked)?.spans.length, 5);
    assert.deepEqual([spool.bytes, spool.isEmpty], [bytes, false]);
    await spool.close();
  });

  test('a record torn at any byte is passed over, and all before it is there', async () => {
    const whole = await Promise.all([manySpans(3), manySpans(2)].map((spans) => encodeRecord(spans)));
    const bytes = Buffer.concat(whole);
    const first = whole[0]?.length ?? 0;
    const random = seededRandom(3);
    for (let i = 0; i < 30; i += 1) {
      const cut = first + Math.floor(random() * (bytes.length - first));
      leaveSegment(directory, `${Date.now()}-1-a.spool`, bytes.subarray(0, cut));
      const spool = await open();
      assert.equal((await spool.peek())?.spans.length, 3);
      await spool.remove();
      assert.equal(await spool.peek(), undefined);
      assert.equal(spool.losses.damagedBytes, cut - first);
      await spool.close();
    }
  });

  test('a byte changed anywhere costs the record it is in and no other', async () => {
    const records = await Promise.all([1, 2, 3].map((count) => encodeRecord(manySpans(count))));
    const random = seededRandom(4);
    for (let i = 0; i < 60; i += 1) {
      const bytes = Buffer.concat(records);
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 + Math.floor(random() * 255));
      leaveSegment(directory, `${Date.now()}-1-a.spool`, bytes);
      const spool = await open();
      const counts: number[] = [];
      for (let batch = await spool.peek(); batch !== undefined; batch = await spool.peek()) {
        counts.push(batch.spans.length);
        await spool.remove();
      }
      assert.equal(counts.length, 2, `byte ${at}`);
      const lost = [1, 2, 3].filter((count) => !counts.includes(count))[0] ?? 0;
      assert.equal(spool.losses.damagedBytes, records[lost - 1]?.length);
      await spool.close();
    }
  });

  test('rubbish in the place of a segment is not spans', async () => {
    const random = seededRandom(5);
    const rubbish = Buffer.from(Array.from({ length: 5000 }, () => random() * 256));
    for (let at = 0; at < 4000; at += 100) rubbish.write('MCOS', at);
    leaveSegment(directory, `${Date.now()}-1-a.spool`, rubbish);
    leaveSegment(directory, `${Date.now()}-2-a.spool`, Buffer.alloc(0));
    const spool = await open();
    assert.equal(await spool.peek(), undefined);
    assert.equal(spool.losses.damagedBytes, 5000);
    await spool.close();
    assert.deepEqual(readdirSync(directory), ['unreadable']);
    const [kept = ''] = readdirSync(join(directory, 'unreadable'));
    assert.deepEqual(readFileSync(join(directory, 'unreadable', kept)), rubbish);
  });

  test('beyond its size the oldest spans are dropped and counted', async () => {
    const spool = await open({ segmentBytes: 2000, maxBytes: 10_000 });
    const batches = Array.from({ length: 60 }, () => manySpans(5));
    for (const batch of batches) await spool.append(batch);
    assert.ok(spool.bytes <= 10_000, `${spool.bytes} bytes`);
    const kept: string[][] = [];
    for (let batch = await spool.peek(); batch !== undefined; batch = await spool.peek()) {
      kept.push(idsOf(batch.spans));
      await spool.remove();
    }
    assert.ok(kept.length > 2);
    assert.deepEqual(kept, batches.slice(-kept.length).map(idsOf));
    assert.equal(spool.losses.dropped, 5 * (60 - kept.length));
    await spool.close();
  });

  test('spans that were tried for too long are dropped and counted', async (t) => {
    const spool = await open({ maxAgeMs: 60_000, segmentBytes: 1 });
    await spool.append(manySpans(7));
    const now = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => now() + 60_001);
    await spool.append(manySpans(3));
    assert.equal((await spool.peek())?.spans.length, 3);
    assert.equal(spool.losses.dropped, 7);
    await spool.close();
  });

  test('what a closed spool leaves, the next one takes over in order, of this process or another', async () => {
    const left = manySpans(4);
    for (const part of [left.slice(0, 2), left.slice(2)]) {
      const spool = await open();
      await spool.append(part);
      await spool.close();
      await sleep(2);
    }
    const spool = await open();
    assert.deepEqual(idsOf((await spool.peek())?.spans ?? []), idsOf(left.slice(0, 2)));
    await spool.remove();
    assert.deepEqual(idsOf((await spool.peek())?.spans ?? []), idsOf(left.slice(2)));
    await spool.close();
  });

  test('the folder of a process that lives is left alone, and of several that come for an orphan one gets each file', async () => {
    const owner = await open();
    await owner.append(manySpans(1));
    const other = await open();
    assert.equal(await other.peek(), undefined);
    await owner.close();
    for (let i = 0; i < 20; i += 1)
      leaveSegment(directory, `${Date.now()}-${i}-a.spool`, await encodeRecord(manySpans(1)));
    const rivals = await Promise.all(Array.from({ length: 5 }, () => open()));
    const counts = await Promise.all(
      rivals.map(async (rival) => {
        let count = 0;
        for (; (await rival.peek()) !== undefined; count += 1) await rival.remove();
        return count;
      }),
    );
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      21,
    );
    for (const spool of [other, ...rivals]) await spool.close();
  });

  test('after kill -9 every batch that append() answered for is there, whenever it strikes', async () => {
    const program = fileURLToPath(new URL('./support/spool-process.js', import.meta.url));
    for (let round = 0; round < sized(1, 5); round += 1) {
      const child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      await once(child.stdout, 'data');
      await sleep(20 + round * 23);
      child.kill('SIGKILL');
      await once(child, 'close');
      const acknowledged = output.split('\n').slice(0, -1);
      const spool = await open();
      const found = new Set<string>();
      for (let batch = await spool.peek(); batch !== undefined; batch = await spool.peek()) {
        for (const id of idsOf(batch.spans)) found.add(id);
        await spool.remove();
      }
      assert.ok(acknowledged.length > 0);
      for (const id of acknowledged) assert.ok(found.has(id), `round ${round}`);
      await spool.close();
    }
  });

  test('files are readable for their owner only', async () => {
    const spool = await open();
    await spool.append(manySpans(1));
    const [folder = ''] = readdirSync(directory);
    const [file = ''] = readdirSync(join(directory, folder));
    assert.equal(statSync(join(directory, folder)).mode & 0o777, 0o700);
    assert.equal(statSync(join(directory, folder, file)).mode & 0o777, 0o600);
    await spool.close();
  });
});

function throughOtlp(spans: readonly ReadableSpan[]): ReadableSpan[] {
  return [...decodeProtobuf(encodeProtobuf(spans), spans.length).spans];
}

function otlp(spans: ReadableSpan[]): unknown {
  return JSON.parse(Buffer.from(JsonTraceSerializer.serializeRequest(spans) ?? []).toString());
}
