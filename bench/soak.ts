/**
 * A long run at a steady rate with a Postgres outage in the middle. At the end the table must contain every span once,
 * the spool must be empty and memory flat:
 *
 *   npm run build && node dist/bench/soak.js --minutes 20 --rate 2000
 *
 * It starts its own PostgreSQL (server binaries must be installed), crashes it after 40 % of the time, restarts it at
 * 50 %, and exits with 1 if a span is missing or duplicated, the spool is not empty, or the heap in the last quarter is
 * more than a fifth larger than in the second.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DurableSpanProcessor } from '../src/durable/index.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { manySpans } from '../test/support/many-spans.ts';
import { runSql, startOwnPostgres } from '../test/support/postgres-server.ts';

const TICK_MS = 100;
const HEAP_GROWTH = 1.2;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, rate: { type: 'string', default: '2000' } },
});
const durationMs = Number(values.minutes) * 60_000;
const perTick = Math.round((Number(values.rate) * TICK_MS) / 1000);
if (!(durationMs > 0) || !(perTick > 0)) throw new Error('--minutes and --rate take positive numbers');

const directory = mkdtempSync(join(tmpdir(), 'observatory-soak-'));
const server = await startOwnPostgres({});
const { crash, restart } = server;
if (crash === undefined || restart === undefined) throw new Error('The soak needs PostgreSQL binaries');
const url = await server.createDatabase();
{
  await using db = await openDatabase({ url });
  await migrate(db);
}
const processor = new DurableSpanProcessor({
  exporter: new PostgresSpanExporter({ connection: url, connectTimeoutMs: 1_000 }),
  spool: { directory },
  flushTimeoutMs: 300_000,
});

interface Sample {
  readonly at: number;
  readonly heapMb: number;
  readonly rssMb: number;
}
const samples: Sample[] = [];
const startedAt = performance.now();
let sent = 0;
let outage: 'ahead' | 'on' | 'over' = 'ahead';
let maxSpoolMb = 0;

for (let tick = 0; ; tick += 1) {
  const at = (performance.now() - startedAt) / durationMs;
  if (at >= 1) break;
  if (outage === 'ahead' && at >= 0.4) {
    outage = 'on';
    await crash();
    say('Postgres is gone');
  } else if (outage === 'on' && at >= 0.5) {
    outage = 'over';
    await restart();
    say('Postgres is back');
  }
  // What is behind its time is made up for, so that the rate holds on a busy machine.
  const due = Math.floor((performance.now() - startedAt) / TICK_MS) + 1 - tick;
  for (const span of manySpans(perTick * Math.max(due, 1))) processor.onEnd(span);
  sent += perTick * Math.max(due, 1);
  tick += Math.max(due, 1) - 1;
  if (samples.length === 0 || at - (samples.at(-1)?.at ?? 0) > 0.01) sample(at);
  await sleep(TICK_MS);
}

say('waiting for the spool');
await processor.forceFlush();
const drainDeadline = performance.now() + 300_000;
while (processor.stats.spoolBytes > 0 && performance.now() < drainDeadline) await sleep(200);
await processor.shutdown();
const [row] = await runSql(
  url,
  'SELECT count(*)::integer AS rows, count(DISTINCT span_id)::integer AS spans FROM mcp_traces',
);
const left = readdirSync(directory);
await server.stop();
rmSync(directory, { recursive: true });

const heapOf = (from: number, to: number) =>
  median(samples.filter(({ at }) => at >= from && at < to).map(({ heapMb }) => heapMb));
const [before, after] = [heapOf(0.25, 0.4), heapOf(0.75, 1)];
const report = {
  minutes: Number(values.minutes),
  spans_sent: sent,
  rows: row?.rows,
  distinct_spans: row?.spans,
  spans_per_second: Math.round(sent / (durationMs / 1000)),
  dropped: processor.stats.dropped,
  refused: processor.stats.refused,
  files_left_in_spool: left.length,
  most_spool_mb: round(maxSpoolMb),
  heap_mb_before_outage: round(before),
  heap_mb_last_quarter: round(after),
  most_rss_mb: round(Math.max(...samples.map(({ rssMb }) => rssMb))),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
const isWhole = row?.rows === sent && row?.spans === sent && left.length === 0;
if (!isWhole || after > before * HEAP_GROWTH) process.exitCode = 1;

function sample(at: number): void {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  samples.push({ at, heapMb: heapUsed / 1e6, rssMb: rss / 1e6 });
  maxSpoolMb = Math.max(maxSpoolMb, processor.stats.spoolBytes / 1e6);
  const { dropped, spoolBytes } = processor.stats;
  say(
    `${Math.round(at * 100)} %, ${sent} spans, heap ${round(heapUsed / 1e6)} MB, spool ${round(spoolBytes / 1e6)} MB, ${dropped} dropped`,
  );
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
