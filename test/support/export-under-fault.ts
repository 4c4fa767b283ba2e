import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DurableSpanProcessor, type DurableStats } from '../../src/durable/index.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../../src/postgres/index.ts';
import { idsOf, manySpans } from './many-spans.ts';
import { runSql } from './postgres-server.ts';
import { waitUntil } from './wait-until.ts';

/** Spans that end one after the other before the program goes on. */
const PART = 200;

/** What the processor's queue holds by default. */
const QUEUE_SIZE = 16_384;
/** How full the queue may be when more spans end: past its end they are dropped, which no disk can help. */
const FULL = 0.8;

export interface FaultRun {
  /** Where the spans are to be in the end. */
  readonly url: string;
  /** Where the exporter connects to, when not there. */
  readonly exporterUrl?: string | undefined;
  readonly spans: number;
  /** The spool's folder. @defaultValue one of its own, which must be empty in the end */
  readonly directory?: string | undefined;
  readonly maxQueueSize?: number | undefined;
  /** Runs beside the load, from its first spans on; the load goes on until it ends. */
  fault(run: { readonly processor: DurableSpanProcessor }): Promise<void>;
  /** Some spans end twice. */
  readonly repeats?: boolean | undefined;
}

/**
 * Sends spans while something goes wrong, waits until all is well again, and checks that the table holds exactly the
 * spans that were sent, each once.
 */
export async function exportUnderFault(run: FaultRun): Promise<DurableStats> {
  const directory = run.directory ?? mkdtempSync(join(tmpdir(), 'observatory-fault-'));
  {
    await using db = await openDatabase({ url: run.url });
    await migrate(db);
  }
  const processor = new DurableSpanProcessor({
    exporter: new PostgresSpanExporter({
      connection: run.exporterUrl ?? run.url,
      connectTimeoutMs: 1000,
      statementTimeoutMs: 2000,
    }),
    maxQueueSize: run.maxQueueSize,
    spool: { directory, sync: 'never' },
    minRetryDelayMs: 20,
    maxRetryDelayMs: 300,
    flushTimeoutMs: 60_000,
  });
  const sent: string[] = [];
  let isOver = false;
  const fault = run.fault({ processor }).finally(() => {
    isOver = true;
  });
  try {
    while (sent.length < run.spans || !isOver) {
      // Once the number is reached and the fault has struck, the load trickles on so that its end meets traffic.
      const isEnough = sent.length >= run.spans && processor.stats.failedExports > 0;
      const spans = manySpans(isEnough ? 1 : PART);
      await waitUntil(() => processor.stats.waiting < FULL * (run.maxQueueSize ?? QUEUE_SIZE), 120_000);
      for (const span of spans) processor.onEnd(span);
      if (run.repeats) for (const span of spans.slice(0, PART / 4)) processor.onEnd(span);
      sent.push(...idsOf(spans));
      await sleep(isEnough ? 50 : 4);
    }
    await fault;
    await processor.forceFlush();
    const deadline = Date.now() + 30_000;
    while (processor.stats.spoolBytes > 0 && Date.now() < deadline) await sleep(10);
    await processor.shutdown();
    const { dropped, refused, waiting } = processor.stats;
    assert.deepEqual({ dropped, refused, waiting }, { dropped: 0, refused: 0, waiting: 0 });
    await drainRest(run.url, directory);
    await assertExactly(run.url, sent);
    return processor.stats;
  } finally {
    if (run.directory === undefined) rmSync(directory, { recursive: true });
  }
}

/**
 * What processes had to leave on disk at their end, the next one sends.
 * @param isTorn a process was killed: half a record, which it had not called safe, may be left as unreadable.
 */
export async function drainRest(url: string, directory: string, isTorn = false): Promise<void> {
  const processor = new DurableSpanProcessor({
    exporter: new PostgresSpanExporter({ connection: url }),
    spool: { directory, drainSpansPerSecond: 1_000_000 },
    flushTimeoutMs: 60_000,
  });
  await processor.shutdown();
  const left = readdirSync(directory).filter((name) => !(isTorn && name === 'unreadable'));
  assert.deepEqual(left, [], `spans are left on disk: ${JSON.stringify(processor.stats)}`);
}

/** The table holds these spans, each once, and no other. */
export async function assertExactly(url: string, ids: readonly string[]): Promise<void> {
  const rows = await runSql(url, 'SELECT span_id FROM mcp_traces_hex ORDER BY 1');
  const found = rows.map((row) => String(row.span_id));
  assert.equal(found.length, new Set(found).size, 'a span is there twice');
  const missing = new Set(ids);
  const unknown = found.filter((id) => !missing.delete(id));
  assert.deepEqual({ missing: missing.size, unknown: unknown.length }, { missing: 0, unknown: 0 });
}
