/**
 * Compares ways to write spans to Postgres in one run: prepared single-row INSERT; multi-row INSERT; INSERT from
 * arrays; binary COPY; the whole exporter, from spans; and psql's `\copy`.
 *
 *     node dist/bench/postgres-ingest.js [rows, default 40000] [rounds, default 21]
 *
 * Uses a throwaway server with default, durable settings, and prints medians. Rates depend on the machine, and on a
 * virtual one they differ by half from one second to the next. So each round runs `\copy` before, between and after the
 * methods that use COPY, a ratio is to the median of these, and rounds are many; slow methods take part in every third.
 *
 * "One at a time" is how a `BatchSpanProcessor` exports: each export waits for the one before. With "1 connection" two
 * exports share a connection, so that the rows of one are encoded while the other is committed.
 *
 * The column "x first" is the rate of sending everything a second time relative to the first. The size of a span includes
 * all indexes.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import pg from 'pg';
import { COLUMNS, type TraceRow } from '../src/base/fields.ts';
import { DurableSpanProcessor } from '../src/durable/index.ts';
import { joinPlaces } from '../src/postgres/byte-writer.ts';
import { ALL_COLUMNS } from '../src/postgres/column-list.ts';
import { type CopyClient, copyIn } from '../src/postgres/copy-in.ts';
import {
  databaseStatus,
  migrate,
  PostgresSpanExporter,
  type PostgresSpanExporterOptions,
} from '../src/postgres/index.ts';
import { encodeForInsert, INSERT_STATEMENT, insertValues } from '../src/postgres/insert-writer.ts';
import { BINARY_HEADER, BINARY_TRAILER, RowEncoder } from '../src/postgres/row-encoder.ts';
import { resolveRowLimits } from '../src/postgres/row-limits.ts';
import { exportSpans } from '../test/support/export.ts';
import { findPsql, startOwnPostgres } from '../test/support/postgres-server.ts';
import { spanToRow } from '../test/support/span-row.ts';
import { modelCallSpans } from './model-call-spans.ts';
import { type Measure, medianOf, reportIngest } from './postgres-ingest-report.ts';

const BATCH = 512;
/** Parameters of one statement are at most 65,535. */
const VALUES_ROWS = 500;
const NAMES = COLUMNS.join(', ');
/** Rounds from one in which slow methods take part to the next. */
const SLOW_EVERY = 3;

const [rowCount = 40_000, rounds = 21] = process.argv.slice(2).map(Number);
await using server = await startOwnPostgres({});
const url = await server.createDatabase();
const pool = new pg.Pool({ connectionString: url, max: 5 });
await migrate(pool);
const oneConnection = new pg.Pool({ connectionString: url, max: 1 });
const client = await pool.connect();
const backend = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
const postmaster = statOf(Number(backend.rows[0]?.pid))?.parent ?? 0;

const spans = modelCallSpans(rowCount);
const rows = spans.map(spanToRow);
const encoder = new RowEncoder(resolveRowLimits({}));
const folder = mkdtempSync(join(tmpdir(), 'observatory-bench-'));
const psql = findPsql() ?? 'psql';

interface Method {
  readonly name: string;
  /** A slow method gets a part of the rows, in every third round. */
  readonly share?: number;
  /** The method that wrote the rows it sends again. */
  readonly resendOf?: string;
  run(count: number): Promise<void>;
}

const one = `INSERT INTO mcp_traces (${NAMES}) VALUES (${COLUMNS.map((_, i) => `$${i + 1}`).join(', ')}) ON CONFLICT DO NOTHING`;
/** Measured several times in a round, beside the methods that are compared with it. */
const CEILING: Method = {
  name: 'psql \\copy',
  run: async (count) => {
    const file = join(folder, `${count}.copy`);
    execFileSync(psql, [url, '-qc', `\\copy mcp_traces FROM '${file}'`]);
  },
};
const methods: readonly Method[] = [
  {
    name: 'INSERT of one row, prepared',
    share: 0.1,
    run: async (count) => {
      for (const row of rows.slice(0, count)) {
        await client.query({ name: 'one', text: one, values: valuesOf(row) });
      }
    },
  },
  {
    name: 'INSERT of 500 rows, VALUES',
    share: 0.5,
    run: (count) =>
      inBatches(rows.slice(0, count), VALUES_ROWS, async (part) => {
        const width = COLUMNS.length;
        const tuples = part.map((_, r) => `(${COLUMNS.map((__, c) => `$${r * width + c + 1}`).join(',')})`);
        await client.query({
          name: `values-${part.length}`,
          text: `INSERT INTO mcp_traces (${NAMES}) VALUES ${tuples.join(',')} ON CONFLICT DO NOTHING`,
          values: part.flatMap(valuesOf),
        });
      }),
  },
  {
    name: 'INSERT from arrays (unnest)',
    share: 0.5,
    run: (count) =>
      inBatches(spans.slice(0, count), BATCH, async (part) => {
        await client.query(
          INSERT_STATEMENT,
          insertValues(part.map((span) => encodeForInsert(encoder, span))),
        );
      }),
  },
  {
    name: 'binary COPY',
    share: 0.5,
    run: (count) =>
      inBatches(spans.slice(0, count), BATCH, async (part) => {
        const places = part.map((span) => encoder.binary(span).place);
        const sql = `COPY mcp_traces (${ALL_COLUMNS.columns.join(', ')}) FROM STDIN WITH (FORMAT binary)`;
        const data = Readable.from([[BINARY_HEADER, ...joinPlaces(places), BINARY_TRAILER]]);
        await copyIn(client as unknown as CopyClient, sql, data);
      }),
  },
  {
    name: 'exporter, INSERT, one at a time',
    share: 0.5,
    run: (count) => exportAll(count, { connection: pool, copy: false }, 1),
  },
  CEILING,
  { name: 'exporter, COPY, one at a time', run: (count) => exportAll(count, { connection: pool }, 1) },
  {
    name: 'exporter, COPY, 1 connection',
    run: (count) => exportAll(count, { connection: oneConnection }, 2),
  },
  { name: 'processor, COPY, 1 connection', run: (count) => processAll(count, oneConnection) },
  {
    name: 'exporter, COPY, one, all sent again',
    resendOf: 'exporter, COPY, one at a time',
    run: (count) => exportAll(count, { connection: pool }, 1),
  },
  CEILING,
  { name: 'exporter, COPY, 4 in flight', run: (count) => exportAll(count, { connection: pool }, 4) },
  {
    name: 'exporter, COPY, 4, all sent again',
    resendOf: 'exporter, COPY, 4 in flight',
    run: (count) => exportAll(count, { connection: pool }, 4),
  },
  { name: 'processor, COPY, its defaults', run: (count) => processAll(count, pool) },
  CEILING,
];

/** By round. */
const measures = new Map<string, Measure[]>(methods.map(({ name }) => [name, []]));
await writeCopyFile(rowCount);
for (let round = 0; round <= rounds; round += 1) {
  const ofRound = new Map<string, readonly Measure[]>();
  for (const method of methods) {
    const isSlow = method.share !== undefined;
    if (isSlow && round > 0 && round % SLOW_EVERY !== 1) continue;
    const count = Math.round(rowCount * (method.share ?? 1));
    if (method.resendOf === undefined) await client.query('TRUNCATE mcp_traces');
    await client.query('CHECKPOINT');
    const measure = await timed(count, () => method.run(count));
    const { rows: found } = await client.query<{ n: number }>(
      'SELECT count(*)::integer AS n FROM mcp_traces',
    );
    if (found[0]?.n !== count) throw new Error(`${method.name}: ${found[0]?.n} rows of ${count}`);
    ofRound.set(method.name, [...(ofRound.get(method.name) ?? []), measure]);
  }
  // The first round warms up.
  if (round === 0) continue;
  for (const [name, found] of ofRound) (measures.get(name) as Measure[])[round] = medianOf(found);
}
const once = methods.filter((method, i) => methods.lastIndexOf(method) === i);
reportIngest(once, measures, { ceiling: CEILING.name, single: 'INSERT of one row, prepared' });
const { bytesPerSpan } = (await databaseStatus(pool)).table ?? {};
process.stdout.write(`${bytesPerSpan} bytes per span, with indexes\n`);
client.release();
await pool.end();
await oneConnection.end();
rmSync(folder, { recursive: true });

async function timed(count: number, work: () => Promise<void>): Promise<Measure> {
  const node = process.cpuUsage();
  const before = serverMicros();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(node);
  return {
    rate: count / seconds,
    nodeMicros: (user + system) / count,
    serverMicros: (serverMicros() - before) / count,
  };
}

async function exportAll(
  count: number,
  options: PostgresSpanExporterOptions,
  takeAll: number,
): Promise<void> {
  const exporter = new PostgresSpanExporter(options);
  const parts: ReadableSpan[][] = [];
  for (let i = 0; i < count; i += BATCH) parts.push(spans.slice(i, Math.min(i + BATCH, count)));
  const next = async (): Promise<void> => {
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const { code, error } = await exportSpans(exporter, part);
      if (code !== 0) throw error ?? new Error('An export failed');
    }
  };
  await Promise.all(Array.from({ length: takeAll }, next));
}

/** As a program ends spans: one after the other, the processor batches and sends them. */
async function processAll(count: number, connection: pg.Pool): Promise<void> {
  const processor = new DurableSpanProcessor({
    exporter: new PostgresSpanExporter({ connection }),
    maxQueueSize: count,
    flushTimeoutMs: 600_000,
  });
  for (let i = 0; i < count; i += BATCH) {
    for (const span of spans.slice(i, i + BATCH)) processor.onEnd(span);
    await nextTurn();
  }
  await processor.shutdown();
}

async function inBatches<T>(
  all: readonly T[],
  size: number,
  work: (part: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let i = 0; i < all.length; i += size) await work(all.slice(i, i + size));
}

function valuesOf(row: TraceRow): unknown[] {
  return COLUMNS.map((column) => {
    const value = row[column];
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  });
}

async function writeCopyFile(count: number): Promise<void> {
  await exportAll(count, { connection: pool }, 1);
  execFileSync(psql, [url, '-qc', `\\copy (SELECT * FROM mcp_traces) TO '${join(folder, `${count}.copy`)}'`]);
}

/** Processor time of all processes of the server, those that ended included. */
function serverMicros(): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = pids.map((pid) => statOf(Number(pid)));
  const own = stats
    .filter((stat) => stat?.parent === postmaster)
    .reduce((sum, stat) => sum + (stat?.ticks ?? 0), 0);
  // Ticks are hundredths of a second on Linux.
  return (own + (statOf(postmaster)?.ticksOfChildren ?? 0)) * 10_000;
}

function statOf(pid: number): { parent: number; ticks: number; ticksOfChildren: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const at = (i: number) => fields[i] ?? 0;
    return { parent: at(1), ticks: at(11) + at(12), ticksOfChildren: at(13) + at(14) };
  } catch {
    return undefined;
  }
}
