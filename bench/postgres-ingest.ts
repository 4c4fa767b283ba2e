/**
 * How fast spans get into Postgres, side by side in one run: INSERT of one row each, prepared; INSERT of many; one
 * INSERT from arrays; binary COPY; the exporter whole, from spans; and `\copy` of psql, which nothing in Node can beat.
 *
 *     node dist/bench/postgres-ingest.js [rows, default 40000] [rounds, default 5]
 *
 * A throwaway server with its default, durable settings; medians. Rates depend on the machine, ratios hardly do.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import pg from 'pg';
import { COLUMNS, type TraceRow } from '../src/fields.ts';
import {
  BINARY_COLUMNS,
  BINARY_HEADER,
  BINARY_TRAILER,
  BinaryRowEncoder,
} from '../src/postgres/binary-row.ts';
import { joinPlaces } from '../src/postgres/byte-writer.ts';
import { type CopyClient, copyIn } from '../src/postgres/copy-in.ts';
import { migrate, PostgresSpanExporter, spanToRow } from '../src/postgres/index.ts';
import { DEFAULT_ROW_LIMITS } from '../src/postgres/row-limits.ts';
import { INSERT_STATEMENT, insertValues } from '../src/postgres/statement.ts';
import { insertEncoder } from '../src/postgres/writer.ts';
import { exportSpans } from '../test/support/export.ts';
import { findPsql, startPostgres } from '../test/support/postgres-server.ts';
import { recordSpans } from '../test/support/spans.ts';

const BATCH = 512;
/** Parameters of one statement are at most 65,535. */
const VALUES_ROWS = 500;
const NAMES = COLUMNS.join(', ');

const [rowCount = 40_000, rounds = 5] = process.argv.slice(2).map(Number);
await using server = await startPostgres({});
const url = await server.createDatabase();
const pool = new pg.Pool({ connectionString: url, max: 4 });
await migrate(pool);
const client = await pool.connect();
const backend = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
const postmaster = statOf(Number(backend.rows[0]?.pid))?.parent ?? 0;

const spans = makeSpans(rowCount);
const rows = spans.map(spanToRow);
const encodeForInsert = insertEncoder(DEFAULT_ROW_LIMITS);
const binary = new BinaryRowEncoder(DEFAULT_ROW_LIMITS);
const folder = mkdtempSync(join(tmpdir(), 'observatory-bench-'));
const psql = findPsql() ?? 'psql';

interface Method {
  readonly name: string;
  /** A slow method gets a part of the rows. */
  readonly share?: number;
  /** Whether the rows are there already. */
  readonly isResend?: boolean;
  run(count: number): Promise<void>;
}

const one = `INSERT INTO mcp_traces (${NAMES}) VALUES (${COLUMNS.map((_, i) => `$${i + 1}`).join(', ')}) ON CONFLICT DO NOTHING`;
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
    run: (count) =>
      inBatches(spans.slice(0, count), BATCH, async (part) => {
        await client.query(INSERT_STATEMENT, insertValues(part.map(encodeForInsert)));
      }),
  },
  {
    name: 'binary COPY',
    run: (count) =>
      inBatches(spans.slice(0, count), BATCH, async (part) => {
        const places = part.map((span) => binary.encode(span).place);
        const sql = `COPY mcp_traces (${BINARY_COLUMNS.join(', ')}) FROM STDIN WITH (FORMAT binary)`;
        await copyIn(client as unknown as CopyClient, sql, [
          BINARY_HEADER,
          ...joinPlaces(places),
          BINARY_TRAILER,
        ]);
      }),
  },
  { name: 'exporter, INSERT, 1 at a time', run: (count) => exportAll(count, { copy: false }, 1) },
  { name: 'exporter, COPY, 1 at a time', run: (count) => exportAll(count, {}, 1) },
  { name: 'exporter, COPY, 4 at a time', run: (count) => exportAll(count, {}, 4) },
  {
    name: 'exporter, COPY, same rows again',
    isResend: true,
    run: (count) => exportAll(count, {}, 1),
  },
  {
    name: 'psql \\copy',
    run: async (count) => {
      const file = join(folder, `${count}.copy`);
      execFileSync(psql, [url, '-qc', `\\copy mcp_traces FROM '${file}'`]);
    },
  },
];

interface Measure {
  readonly rate: number;
  readonly nodeMicros: number;
  readonly serverMicros: number;
}

const measures = new Map<string, Measure[]>(methods.map(({ name }) => [name, []]));
await writeCopyFile(rowCount);
for (let round = 0; round <= rounds; round += 1) {
  for (const method of methods) {
    const count = Math.round(rowCount * (method.share ?? 1));
    if (method.isResend !== true) await client.query('TRUNCATE mcp_traces');
    await client.query('CHECKPOINT');
    const measure = await timed(count, () => method.run(count));
    const { rows: found } = await client.query<{ n: number }>(
      'SELECT count(*)::integer AS n FROM mcp_traces',
    );
    if (found[0]?.n !== count) throw new Error(`${method.name}: ${found[0]?.n} rows of ${count}`);
    // The first round warms up.
    if (round > 0) measures.get(method.name)?.push(measure);
  }
}
report();
client.release();
await pool.end();
rmSync(folder, { recursive: true });

function report(): void {
  const median = (name: string, of: (measure: Measure) => number) => {
    const sorted = (measures.get(name) ?? []).map(of).sort((a, b) => a - b);
    return sorted[sorted.length >> 1] ?? Number.NaN;
  };
  const rate = (name: string) => median(name, (measure) => measure.rate);
  const ceiling = rate('psql \\copy');
  const single = rate('INSERT of one row, prepared');
  const line = (cells: readonly string[]) =>
    process.stdout.write(
      `${(cells[0] ?? '').padEnd(34)}${cells
        .slice(1)
        .map((cell) => cell.padStart(12))
        .join('')}\n`,
    );
  line(['', 'rows/s', 'of \\copy', 'x one row', 'Node us', 'server us']);
  for (const { name } of methods) {
    line([
      name,
      Math.round(rate(name)).toString(),
      (rate(name) / ceiling).toFixed(2),
      (rate(name) / single).toFixed(1),
      median(name, (measure) => measure.nodeMicros).toFixed(1),
      median(name, (measure) => measure.serverMicros).toFixed(1),
    ]);
  }
}

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

async function exportAll(count: number, options: { copy?: boolean }, atOnce: number): Promise<void> {
  const exporter = new PostgresSpanExporter({ connection: pool, ...options });
  const parts: ReadableSpan[][] = [];
  for (let i = 0; i < count; i += BATCH) parts.push(spans.slice(i, Math.min(i + BATCH, count)));
  const next = async (): Promise<void> => {
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const { code, error } = await exportSpans(exporter, part);
      if (code !== 0) throw error ?? new Error('An export failed');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
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
  await exportAll(count, {}, 1);
  execFileSync(psql, [url, '-qc', `\\copy (SELECT * FROM mcp_traces) TO '${join(folder, `${count}.copy`)}'`]);
}

/** Model calls as an agent makes them: columns filled, and some attributes beside. */
function makeSpans(count: number): ReadableSpan[] {
  return recordSpans(
    (tracer) => {
      for (let i = 0; i < count; i += 1) {
        const hash = i.toString(16).padStart(64, '0');
        const attributes = {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.response.model': 'gpt-4o-2024-08-06',
          'gen_ai.usage.input_tokens': 500 + (i % 1000),
          'gen_ai.usage.output_tokens': i % 400,
          'gen_ai.response.id': `chatcmpl-${hash.slice(40)}`,
          'gen_ai.response.finish_reasons': ['stop'],
          'observatory.prompt_hash': hash,
          'observatory.normalized_prompt_hash': (i % 50).toString(16).padStart(64, 'a'),
          'observatory.answer_hash': hash,
          'observatory.cost_usd': i / 1e6,
          'observatory.grounding_score': (i % 100) / 100,
          'observatory.hallucination_risk_score': (i % 97) / 97,
          'observatory.hallucination_risk_level': 'low',
          'server.address': 'api.openai.com',
          'app.user.id': `user-${i % 1000}`,
          'app.route': '/v1/assistants/{assistant}/threads/{thread}/runs',
          'app.note': 'a short text that an application adds to each of its spans',
        };
        tracer.startSpan('chat gpt-4o', { attributes }).end();
      }
    },
    { service: 'payments-mcp', resource: { 'host.name': 'app-1', 'process.pid': 4711 } },
  );
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
