import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { spoolStatus } from '../src/durable/index.ts';
import { CollectingExporter, end, processorOf, unreachable } from './support/collecting-exporter.ts';
import { listen } from './support/http-server.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { captureDiagOf } from './support/observed.ts';
import { sized } from './support/size.ts';
import { spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const root = mkdtempSync(join(tmpdir(), 'observatory-durable-'));
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(root, 'spool-'));
});
after(() => rmSync(root, { recursive: true }));

const withSpool = () => ({ spool: { directory, drainSpansPerSecond: 1_000_000 } });

test('a burst larger than the queue goes to the spool instead of being dropped, also at the end of the process', async () => {
  const small = { maxQueueSize: 256, maxExportBatchSize: 64, ...withSpool() };
  const flushed = manySpans(3_000);
  const processor = processorOf(new CollectingExporter(unreachable), small);
  end(processor, flushed);
  assert.deepEqual([processor.stats.dropped, processor.stats.waiting], [0, 3_000]);
  await processor.forceFlush();
  await processor.shutdown();
  assert.deepEqual([processor.stats.dropped, processor.stats.waiting], [0, 0]);

  const exporter = new CollectingExporter();
  const heir = processorOf(exporter, withSpool());
  await waitUntil(() => exporter.spans.length === 3_000);
  assert.deepEqual(idsOf(exporter.spans), idsOf(flushed));
  await heir.shutdown();

  const ended = processorOf(new CollectingExporter(unreachable), small);
  end(ended, manySpans(2_000));
  assert.deepEqual(ended.endNow(), []);
  assert.equal(ended.stats.dropped, 0);
  assert.equal((await spoolStatus(directory)).spans, 2_000);
});

describe('in memory', () => {
  test('a burst of thousands of spans to a slow exporter loses none, in batches, several at a time', async () => {
    const exporter = new CollectingExporter(async () => sleep(5, undefined));
    const processor = processorOf(exporter, { maxConcurrentExports: 3 });
    const count = sized(2_000, 10_000);
    const spans = manySpans(count);
    end(processor, spans);
    await processor.forceFlush();
    assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
    assert.equal(exporter.mostUnderWay, 3);
    assert.equal(exporter.exports, Math.ceil(count / 512));
    await processor.shutdown();
    const { received, exported, dropped, waiting } = processor.stats;
    assert.deepEqual([received, exported, dropped, waiting], [count, count, 0, 0]);
  });

  test('an incomplete batch goes after its delay, and a span that is not sampled never', async () => {
    const exporter = new CollectingExporter();
    const processor = processorOf(exporter, { scheduledDelayMs: 20 });
    const [span, other] = manySpans(2);
    assert.ok(span && other);
    processor.onEnd(span);
    processor.onEnd(
      new Proxy(other, {
        get: (target, key) =>
          key === 'spanContext'
            ? () => ({ ...target.spanContext(), traceFlags: 0 })
            : Reflect.get(target, key),
      }),
    );
    await waitUntil(() => exporter.spans.length > 0);
    assert.deepEqual(idsOf(exporter.spans), idsOf([span]));
    assert.equal(processor.stats.received, 1);
    await processor.shutdown();
  });

  test('forceFlush waits for the batch that is under way already, and ends under constant load', async () => {
    let open = () => {};
    const gate = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    const exporter = new CollectingExporter(() => gate);
    const processor = processorOf(exporter, { maxExportBatchSize: 10, maxConcurrentExports: 1 });
    end(processor, manySpans(15));
    await waitUntil(() => exporter.underWay === 1);
    let isFlushed = false;
    const flush = processor.forceFlush().then(() => {
      isFlushed = true;
    });
    const load = setInterval(() => end(processor, manySpans(3)), 1);
    await sleep(20);
    assert.equal(isFlushed, false);
    open();
    await flush;
    clearInterval(load);
    assert.ok(exporter.spans.length >= 15);
    await processor.shutdown();
  });

  test('what fails is sent again until it is taken, each span once', async () => {
    let calls = 0;
    const exporter = new CollectingExporter(() => {
      calls += 1;
      return calls % 2 === 1 ? unreachable() : undefined;
    });
    const processor = processorOf(exporter);
    const spans = manySpans(3000);
    end(processor, spans);
    await processor.forceFlush();
    assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
    assert.ok(processor.stats.failedExports > 0);
    await processor.shutdown();
  });

  test('an exporter that throws, and one that never answers, have failed; the spans are sent again', async () => {
    let calls = 0;
    const taken: ReadableSpan[] = [];
    const processor = processorOf(
      {
        export: (spans, done) => {
          calls += 1;
          if (calls === 1) throw new Error('host fault');
          if (calls === 2) return;
          taken.push(...spans);
          done({ code: 0 });
        },
        shutdown: async () => {},
      },
      { exportTimeoutMs: 30 },
    );
    const spans = manySpans(10);
    end(processor, spans);
    await processor.forceFlush();
    assert.deepEqual(idsOf(taken), idsOf(spans));
    await processor.shutdown();
  });

  test('beyond the queue spans are dropped and counted, told in one line, and forceFlush says so once', async () => {
    const exporter = new CollectingExporter();
    const processor = processorOf(exporter, { maxQueueSize: 100 });
    const messages = await captureDiagOf(async () => {
      end(processor, manySpans(1000));
      await assert.rejects(processor.forceFlush(), { code: 'SPANS_NOT_SAFE', message: /^900 spans/ });
    });
    assert.equal(messages.length, 1, messages.join('\n'));
    assert.equal(exporter.spans.length, 100);
    assert.equal(processor.stats.dropped, 900);
    await processor.forceFlush();
    await processor.shutdown();
  });

  test('without a spool shutdown gives up in time, says how many spans are lost, and closes the exporter', async () => {
    const exporter = new CollectingExporter(() => unreachable());
    const processor = processorOf(exporter, { flushTimeoutMs: 100 });
    end(processor, manySpans(700));
    await assert.rejects(processor.forceFlush(), { code: 'SPANS_NOT_SAFE', message: /^700 spans/ });
    await assert.rejects(processor.shutdown(), { code: 'SPANS_NOT_SAFE', message: /^700 spans/ });
    assert.ok(exporter.isShutDown);
    const { dropped, waiting } = processor.stats;
    assert.deepEqual([dropped, waiting], [700, 0]);
    processor.onEnd(spanWith({}));
    assert.equal(processor.stats.dropped, 701);
  });

  test('outcomes of spans are reported as metrics until shutdown', async () => {
    const memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter: memory, exportIntervalMillis: 60_000 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    const processor = processorOf(new CollectingExporter(), { maxQueueSize: 100, meterProvider });
    end(processor, manySpans(130));
    await processor.forceFlush().catch(() => {});
    await reader.forceFlush();
    const points = memory
      .getMetrics()
      .flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) =>
          metrics.flatMap(({ descriptor, dataPoints }) =>
            dataPoints.map(({ attributes, value }) => [
              descriptor.name,
              attributes['observatory.outcome'] ?? '',
              value,
            ]),
          ),
        ),
      );
    const of = (name: string, outcome = '') =>
      points.find((point) => point[0] === name && point[1] === outcome)?.[2];
    assert.equal(of('observatory.spans', 'exported'), 100);
    assert.equal(of('observatory.spans', 'dropped'), 30);
    assert.equal(of('observatory.spans.waiting'), 0);
    await processor.shutdown();
    await meterProvider.shutdown();
  });

  test('options that cannot be used are named', () => {
    const exporter = new CollectingExporter();
    assert.throws(() => processorOf(exporter, { maxQueueSize: 0 }), {
      code: 'INVALID_OPTION',
      message: /'maxQueueSize'.*from 1 up, got 0/,
    });
    assert.throws(() => processorOf(exporter, { spool: { directory, maxBytes: Number.NaN } }), {
      code: 'INVALID_OPTION',
    });
    assert.throws(() => processorOf(undefined as never), { code: 'INVALID_OPTION' });
  });
});

describe('with a spool', () => {
  const parts = sized(5, 20);
  test('during an outage spans go to the disk and memory stays free; afterwards all come, the oldest first', async () => {
    let isDown = true;
    const exporter = new CollectingExporter(() => (isDown ? unreachable() : undefined));
    const processor = processorOf(exporter, { ...withSpool(), maxQueueSize: 4000 });
    const sent: ReadableSpan[] = [];
    for (let i = 0; i < parts; i += 1) {
      const spans = manySpans(1000, `part ${i}`);
      sent.push(...spans);
      end(processor, spans);
      await processor.forceFlush();
      assert.equal(processor.stats.waiting, 0);
    }
    assert.equal(exporter.spans.length, 0);
    const { spooled, isBackEndDown, spoolBytes } = processor.stats;
    assert.deepEqual([spooled, isBackEndDown, spoolBytes > 0], [parts * 1000, true, true]);
    isDown = false;
    await waitUntil(() => exporter.spans.length === sent.length);
    assert.deepEqual(idsOf(exporter.spans), idsOf(sent));
    const order = exporter.spans.map(({ name }) => Number(name.slice(5)));
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    );
    await processor.shutdown();
    assert.equal(processor.stats.drained, parts * 1000);
    assert.deepEqual(readdirSync(directory), []);
  });

  test('a back end slower than the load loses nothing: half a full queue goes to the disk', async () => {
    let answer = () => {};
    const answered = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined);
    });
    const exporter = new CollectingExporter(() => answered);
    const processor = processorOf(exporter, {
      ...withSpool(),
      maxQueueSize: sized(2000, 10_000),
      maxConcurrentExports: 1,
    });
    const sent: ReadableSpan[] = [];
    for (let i = 0; i < 100; i += 1) {
      const spans = manySpans(sized(40, 200));
      sent.push(...spans);
      end(processor, spans);
      await waitUntil(() => processor.stats.waiting < sized(1600, 8000), 60_000);
    }
    answer();
    await processor.shutdown();
    assert.ok(processor.stats.spooled > 500);
    assert.equal(processor.stats.dropped, 0);
    assert.deepEqual(idsOf(exporter.spans), idsOf(sent));
  });

  test('what is on disk at shutdown is sent by the next processor', async () => {
    const down = processorOf(new CollectingExporter(unreachable), withSpool());
    const spans = manySpans(1200);
    end(down, spans);
    await down.shutdown();
    assert.equal(down.stats.spooled, 1200);
    const exporter = new CollectingExporter();
    const next = processorOf(exporter, withSpool());
    await waitUntil(() => exporter.spans.length === 1200);
    assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
    await next.shutdown();
    assert.deepEqual(readdirSync(directory), []);
  });

  test('a processor shut down as soon as it is made sends what others left', async () => {
    const down = processorOf(new CollectingExporter(unreachable), withSpool());
    const spans = manySpans(600);
    end(down, spans);
    await down.shutdown();
    const exporter = new CollectingExporter();
    await processorOf(exporter, withSpool()).shutdown();
    assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
    assert.deepEqual(readdirSync(directory), []);
  });

  test('a disk that cannot be written to leaves the spans in memory, told once', async () => {
    let isDown = true;
    const exporter = new CollectingExporter(() => (isDown ? unreachable() : undefined));
    const spans = manySpans(3000);
    const messages = await captureDiagOf(async () => {
      const processor = processorOf(exporter, { spool: { directory: '/dev/null/spool' } });
      end(processor, spans);
      await sleep(50);
      isDown = false;
      await processor.forceFlush();
      await processor.shutdown();
    });
    assert.deepEqual(idsOf(exporter.spans), idsOf(spans));
    assert.equal(messages.filter((message) => message.includes('no spool in')).length, 1);
  });

  test('a real OTLP exporter loses nothing while its back end answers 503', async () => {
    const received = new Set<string>();
    let isDown = true;
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        response.statusCode = isDown ? 503 : 200;
        if (!isDown)
          for (const [id] of Buffer.concat(chunks)
            .toString()
            .matchAll(/(?<="spanId":")\w+/g))
            received.add(id);
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    await using listening = await listen(server);
    const url = `${listening.origin}/v1/traces`;
    const processor = processorOf(new OTLPTraceExporter({ url, timeoutMillis: 300 }), withSpool());
    const spans = manySpans(1500);
    end(processor, spans);
    await processor.forceFlush();
    assert.equal(received.size, 0);
    assert.equal(processor.stats.spooled, 1500);
    isDown = false;
    await waitUntil(() => received.size === 1500);
    assert.deepEqual([...received].sort(), idsOf(spans));
    await processor.shutdown();
  });
});
