/** Shutdown and the end of a process: one deadline, and the spool before anything is dropped. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import { ObservatoryError } from '../src/base/index.ts';
import {
  createOtlpExporter,
  createOtlpMetricExporter,
  DurableSpanWriter,
  locateExporter,
  spoolStatus,
} from '../src/durable/index.ts';
import { PostgresSpanExporter } from '../src/postgres/index.ts';
import { CollectingExporter, end, processorOf, unreachable } from './support/collecting-exporter.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { longTest } from './support/size.ts';
import { spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

/** Far beyond the time that anything here may take: what waits for it fails by the limit of the test. */
const NEVER_MS = 3_600_000;
const LIMIT = { timeout: 20_000 };

let directory = '';
let warnings: string[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'observatory-shutdown-'));
  warnings = [];
  const log = (message: string) => void warnings.push(message);
  diag.setLogger({ error: log, warn: log, info: log, debug: log, verbose: log }, DiagLogLevel.WARN);
});
afterEach(() => {
  diag.disable();
  rmSync(directory, { recursive: true });
});

/** Neither an export nor its shutdown ever answers. */
class HangingExporter {
  exports = 0;
  export(): void {
    this.exports += 1;
  }
  shutdown(): Promise<never> {
    return new Promise(() => {});
  }
}

describe('at shutdown', LIMIT, () => {
  test('a back end that refuses connections gets one attempt for each export under way, and the rest is dropped', async () => {
    const exporter = new CollectingExporter(unreachable);
    const processor = processorOf(exporter, { flushTimeoutMs: NEVER_MS, maxExportBatchSize: 10 });
    end(processor, manySpans(1000));
    await assert.rejects(processor.shutdown(), { code: 'SPANS_NOT_SAFE', message: /^1000 spans/ });
    assert.equal(processor.stats.failedExports, 3);
    assert.equal(processor.stats.dropped, 1000);
    assert.deepEqual(
      warnings.filter((line) => line.includes('1000 spans') || line.includes('dropped')).length,
      1,
    );
    assert.ok(exporter.isShutDown);
  });

  test('all losses are told in one line at the end: how many, why and what to do', async () => {
    const exporter = new CollectingExporter(unreachable);
    const processor = processorOf(exporter, { maxQueueSize: 100, scheduledDelayMs: NEVER_MS });
    end(processor, manySpans(5000));
    const error = await processor.shutdown().catch((fault: Error) => fault);
    const { dropped } = processor.stats;
    assert.equal(dropped, 5000);
    const line = warnings.at(-1) ?? '';
    assert.match(
      line,
      /5000 spans were dropped in all: 4900 because the queue in memory was full; 100 because the program ended first: .*MCP_OBSERVATORY_SPOOL/,
    );
    assert.match(String(error), /5000 spans are neither stored nor on disk, in all: 4900 because/);
  });

  test('what is held back of the failed exports is logged at the end', async () => {
    const fault = Object.assign(new Error('busy'), { code: 503 });
    const exporter = new CollectingExporter(() => fault);
    const processor = processorOf(exporter, { scheduledDelayMs: 1, flushTimeoutMs: 50 });
    end(processor, manySpans(5));
    await waitUntil(() => processor.stats.failedExports >= 3);
    await assert.rejects(processor.shutdown());
    const told = warnings.flatMap((line) => /(\d+) exports of spans failed/.exec(line)?.[1] ?? []);
    assert.equal(told.length, 2);
  });

  test('a missing package is named by the error and the log, with the command that installs it', async () => {
    const error = new ObservatoryError('MISSING_PEER', "needs the package 'pg'. Run: npm install pg");
    const processor = processorOf(new CollectingExporter(() => error), { flushTimeoutMs: NEVER_MS });
    end(processor, manySpans(3));
    await assert.rejects(processor.shutdown(), { code: 'SPANS_NOT_SAFE', message: /npm install pg$/ });
    assert.match(warnings.at(-1) ?? '', /3 spans were dropped because .*npm install pg$/);
  });

  test(
    'a processor and an exporter that waits for it end at once, whichever is shut down first',
    LIMIT,
    async () => {
      for (const first of ['processor', 'exporter'] as const) {
        const exporter = new PostgresSpanExporter({ connection: 'postgresql://127.0.0.1:1/x' });
        const parts = { exporter, processor: processorOf(exporter, { flushTimeoutMs: NEVER_MS }) };
        await parts[first].shutdown();
        await Promise.all([parts.processor.shutdown(), exporter.shutdown()]);
      }
    },
  );

  test('a batch that waits for its next attempt is tried at once', async () => {
    let isDown = true;
    const exporter = new CollectingExporter(() => (isDown ? unreachable() : undefined));
    const options = { minRetryDelayMs: NEVER_MS, maxRetryDelayMs: NEVER_MS, scheduledDelayMs: 1 };
    const processor = processorOf(exporter, options);
    end(processor, manySpans(5));
    await waitUntil(() => processor.stats.failedExports === 1);
    isDown = false;
    await processor.shutdown();
    assert.equal(exporter.spans.length, 5);
  });

  test('an exporter that answers neither export nor shutdown is left behind, its spans counted', async () => {
    const processor = processorOf(new HangingExporter(), { exportTimeoutMs: NEVER_MS, flushTimeoutMs: 100 });
    end(processor, manySpans(700));
    await assert.rejects(processor.shutdown(), { code: 'SPANS_NOT_SAFE', message: /^700 spans/ });
    assert.equal(processor.stats.dropped, 700);
  });

  longTest('spans of a hanging exporter go to the disk, at forceFlush as at shutdown', async () => {
    const options = { spool: { directory }, exportTimeoutMs: NEVER_MS, flushTimeoutMs: 3000 };
    const processor = processorOf(new HangingExporter(), options);
    end(processor, manySpans(600));
    await processor.forceFlush();
    assert.equal((await spoolStatus(directory)).spans, 600);
    end(processor, manySpans(50));
    await processor.shutdown();
    assert.equal((await spoolStatus(directory)).spans, 650);
    assert.equal(processor.stats.dropped, 0);
  });

  test('an export from the disk that hangs is ended too', async () => {
    const options = { spool: { directory }, minRetryDelayMs: 1, maxRetryDelayMs: 1 };
    const first = processorOf(new CollectingExporter(unreachable), options);
    end(first, manySpans(10));
    await first.shutdown();
    const hanging = new HangingExporter();
    const second = processorOf(hanging, { ...options, exportTimeoutMs: NEVER_MS, flushTimeoutMs: 300 });
    await waitUntil(() => hanging.exports === 1);
    await second.shutdown();
    assert.equal((await spoolStatus(directory)).spans, 10);
  });

  test('a process without an event loop puts all spans on disk, those being exported too, for the next one', async () => {
    const options = { spool: { directory }, exportTimeoutMs: NEVER_MS };
    const hanging = new HangingExporter();
    const ending = processorOf(hanging, { ...options, maxConcurrentExports: 1 });
    const spans = manySpans(1200);
    end(ending, spans);
    await waitUntil(() => hanging.exports === 1);
    assert.deepEqual(ending.endNow(), []);
    const exporter = new CollectingExporter();
    const next = processorOf(exporter, options);
    await next.shutdown();
    assert.deepEqual([...new Set(idsOf(exporter.spans))], idsOf(spans));
  });

  test('without a spool, or with one that cannot be written, they are returned', () => {
    for (const options of [{}, { spool: { directory: '/dev/null/spool' } }]) {
      const processor = processorOf(new CollectingExporter(), options);
      const spans = manySpans(3);
      end(processor, spans);
      assert.deepEqual(processor.endNow(), spans);
    }
    assert.ok(warnings.some((line) => /could not be written to disk.*ENOTDIR/.test(line)));
  });
});

describe('the writer', LIMIT, () => {
  test('finds a back end again by itself while the disk cannot be written', async () => {
    let isDown = true;
    const exporter = new CollectingExporter(() => (isDown ? unreachable() : undefined));
    const spool = { directory, maxBytes: 1, whenFull: 'refuse' } as const;
    const writer = new DurableSpanWriter({ exporter, spool, minRetryDelayMs: 1, maxRetryDelayMs: 1 });
    await writer.ready();
    assert.equal((await writer.write(manySpans(3))).kind, 'failed');
    assert.equal((await writer.write(manySpans(3))).kind, 'failed');
    assert.ok(warnings.some((line) => /could not be written to disk.*the spool is full/.test(line)));
    isDown = false;
    await waitUntil(() => writer.waitMs === 0);
    assert.equal((await writer.write(manySpans(3))).kind, 'safe');
    assert.equal(exporter.spans.length, 3);
    await writer.shutdown();
  });

  test('merges what comes within a time into one batch, and at shutdown does not wait for it', async () => {
    const exporter = new CollectingExporter();
    const writer = new DurableSpanWriter({ exporter, maxExportBatchSize: 1000 }, 300);
    const first = [writer.write(manySpans(3)), writer.write(manySpans(3)), writer.write(manySpans(3))];
    for (const { kind } of await Promise.all(first)) assert.equal(kind, 'safe');
    assert.equal(exporter.exports, 1);
    const full = await writer.write(manySpans(1000));
    assert.equal(full.kind, 'safe');
    const last = new DurableSpanWriter({ exporter, maxExportBatchSize: 1000 }, NEVER_MS);
    const waiting = last.write(manySpans(3));
    await last.shutdown();
    assert.equal((await waiting).kind, 'safe');
    assert.equal(exporter.spans.length, 1012);
    await writer.shutdown();
  });

  test('a batch of one span that fails is sent once an attempt', async () => {
    const exporter = new CollectingExporter(() => Object.assign(new Error('bad'), { code: 400 }));
    const writer = new DurableSpanWriter({ exporter });
    assert.equal((await writer.write([spanWith({})])).kind, 'failed');
    assert.equal(writer.stats.failedExports, 1);
    await writer.shutdown();
  });
});

test(
  'connections to a database that does not answer end with shutdown, and their exports fail',
  LIMIT,
  async (t) => {
    let open = 0;
    const server = createTcpServer((socket) => {
      open += 1;
      socket.resume().on('close', () => {
        open -= 1;
      });
    }).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connection = `postgres://user@127.0.0.1:${port}/traces`;
    const exporter = new PostgresSpanExporter({ connection, connectTimeoutMs: NEVER_MS });
    const processor = processorOf(exporter, { maxExportBatchSize: 10 });
    end(processor, manySpans(30));
    await waitUntil(() => open === 3);
    await assert.rejects(processor.shutdown(200), { code: 'SPANS_NOT_SAFE' });
    await waitUntil(() => open === 0);
    await exporter.shutdown();
    assert.equal(exporter.stats.failed, 30);
  },
);

describe('the OTLP exporters', LIMIT, () => {
  let server: Server;
  let answer: (count: number) => number | undefined = () => 200;
  let bodies: Buffer[] = [];
  let url = '';
  beforeEach(async () => {
    bodies = [];
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks));
        const status = answer(bodies.length);
        if (status !== undefined) response.writeHead(status).end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  test('spans: one request for each export, whose code the processor reads; shutdown ends one that hangs', async () => {
    answer = (count) => (count === 1 ? 503 : undefined);
    const exporter = await createOtlpExporter({ url: `${url}/v1/traces`, headers: { 'x-key': 'k' } }, {});
    const results: { code: number; error?: (Error & { code?: unknown }) | undefined }[] = [];
    exporter.export(manySpans(2), (result) => results.push(result));
    await waitUntil(() => results.length === 1);
    assert.deepEqual([results[0]?.code, results[0]?.error?.code], [1, 503]);
    assert.equal(bodies.length, 1);
    exporter.export(manySpans(2), (result) => results.push(result));
    await waitUntil(() => bodies.length === 2);
    await exporter.shutdown();
    assert.equal(results[1]?.code, 1);
  });

  test('gRPC is asked for: the HTTP port of the same receiver is used, another port is that of gRPC', async () => {
    const urls = [];
    for (const endpoint of [
      'http://collector:4317',
      'collector:4317',
      'https://otlp.example.com:4317/tenant/',
      '',
    ]) {
      const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
      urls.push((await createOtlpExporter({}, env)).requestOf?.([]).target.url);
    }
    assert.deepEqual(urls, [
      'http://collector:4318/v1/traces',
      'http://collector:4318/v1/traces',
      'https://otlp.example.com:4318/tenant/v1/traces',
      'http://localhost:4318/v1/traces',
    ]);
    // The SDK's own exporter of gRPC makes its requests itself.
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:5317' };
    const exporter = await createOtlpExporter({}, env);
    assert.equal(exporter.requestOf, undefined);
    await exporter.shutdown();
  });

  for (const answer of ['stored', 'failed'] as const) {
    test(`an exporter that closes waits for a slow back end, and counts what that has not stored: ${answer}`, async () => {
      let close = async () => {};
      let stored = 0;
      const processor = processorOf(
        {
          export: (spans, done) => {
            setTimeout(() => {
              if (answer === 'stored') stored += spans.length;
              done(answer === 'stored' ? { code: 0 } : { code: 1, error: new Error('too slow') });
            }, 30);
          },
          shutdown: async () => {},
          beforeShutdown: (settle: () => Promise<void>) => {
            close = settle;
          },
        } as SpanExporter,
        { scheduledDelayMs: 0, maxExportBatchSize: 10, flushTimeoutMs: 1 },
      );
      end(processor, manySpans(50));
      await close().catch((error: Error) => assert.match(error.message, /^50 spans are neither/));
      assert.deepEqual([stored, processor.stats.dropped], answer === 'stored' ? [50, 0] : [0, 50]);
    });
  }

  test('a flush of the exporter takes what its processor has', async () => {
    let flush = async () => {};
    const exported: number[] = [];
    const processor = processorOf(
      {
        export: (spans, done) => {
          exported.push(spans.length);
          done({ code: 0 });
        },
        shutdown: async () => {},
        beforeShutdown: (_: unknown, own: () => Promise<void>) => {
          flush = own;
        },
      } as SpanExporter,
      { scheduledDelayMs: 60_000 },
    );
    end(processor, manySpans(3));
    await flush();
    assert.deepEqual(exported, [3]);
    await processor.shutdown();
  });

  test('metrics: a busy back end is tried again; shutdown ends an export that hangs or waits', async (t) => {
    const file = locateExporter('metrics', undefined) ?? '';
    process.env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT = url;
    t.after(() => delete process.env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT);
    const nothing = { resource: { attributes: {} }, scopeMetrics: [] };
    answer = (count) => (count === 1 ? 503 : 200);
    for (const hangs of [false, true]) {
      const exporter = await createOtlpMetricExporter(file, {});
      const codes: number[] = [];
      exporter.export(nothing, ({ code }) => codes.push(code));
      if (!hangs) await waitUntil(() => codes.length === 1);
      answer = () => undefined;
      if (hangs) await waitUntil(() => bodies.length === 3);
      await exporter.shutdown();
      assert.deepEqual(codes, [hangs ? 1 : 0]);
    }
  });
});
