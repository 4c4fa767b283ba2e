/**
 * CPU of writing model calls to Postgres and to ClickHouse in one run, in microseconds a span, and their size on disk.
 *
 *     node dist/bench/clickhouse-ingest.js [spans, default 50000] [rounds, default 5]
 *
 * Both servers are throwaway ones. ClickHouse is its engine as a library (chdb) behind an HTTP front in Python, whose CPU
 * counts as the server's; merging is forced at the end and told apart. Medians over the rounds.
 */
import { readFileSync } from 'node:fs';
import { ClickHouseSpanExporter } from '../src/clickhouse/index.ts';
import { databaseStatus, migrate, openPool, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startClickHouse } from '../test/support/clickhouse-server.ts';
import { exportSpans } from '../test/support/export.ts';
import { startOwnPostgres } from '../test/support/postgres-server.ts';
import { modelCallSpans } from './model-call-spans.ts';

const PER_EXPORT = 5000;
/** Of `/proc/PID/stat`. */
const TICK_US = 10_000;

const [count = 50_000, rounds = 5] = process.argv.slice(2).map(Number);
await using postgresServer = await startOwnPostgres({});
await using clickhouse = await startClickHouse();
const pool = await openPool(await postgresServer.createDatabase());
await migrate(pool);
const exporters = {
  Postgres: new PostgresSpanExporter({ connection: pool }),
  ClickHouse: new ClickHouseSpanExporter({ connection: clickhouse.url, migrate: true }),
};
const node: Record<keyof typeof exporters, number[]> = { Postgres: [], ClickHouse: [] };
const server: number[] = [];
for (let round = 0; round <= rounds; round += 1) {
  const spans = modelCallSpans(count);
  for (const name of ['Postgres', 'ClickHouse'] as const) {
    const engineAt = cpuOf(clickhouse.pid);
    const before = process.cpuUsage();
    for (let at = 0; at < count; at += PER_EXPORT) {
      const { code, error } = await exportSpans(exporters[name], spans.slice(at, at + PER_EXPORT));
      if (code !== 0) throw error;
    }
    const { user, system } = process.cpuUsage(before);
    // The first round compiles and connects.
    if (round === 0) continue;
    node[name].push((user + system) / count);
    if (name === 'ClickHouse') server.push((cpuOf(clickhouse.pid) - engineAt) / count);
  }
}
const engineAt = cpuOf(clickhouse.pid);
await clickhouse.run('OPTIMIZE TABLE mcp_traces FINAL');
const merging = (cpuOf(clickhouse.pid) - engineAt) / (count * (rounds + 1));
const [parts] = await clickhouse.query(
  "SELECT sum(bytes_on_disk)::Int32 AS bytes, sum(rows)::Int32 AS spans FROM system.parts WHERE active AND table = 'mcp_traces'",
);
await pool.query('VACUUM ANALYZE mcp_traces');
const { bytesPerSpan } = (await databaseStatus(pool)).table ?? {};

report('Node, to Postgres', median(node.Postgres), 'us');
report('Node, to ClickHouse', median(node.ClickHouse), 'us');
report('ClickHouse, insert', median(server), 'us');
report('ClickHouse, merging all once more', merging, 'us');
report('Postgres with indexes', bytesPerSpan ?? Number.NaN, 'bytes');
report('ClickHouse after merging', Number(parts?.bytes) / Number(parts?.spans), 'bytes');
for (const exporter of Object.values(exporters)) await exporter.shutdown();
await pool.end();

function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function report(name: string, value: number, unit: string): void {
  process.stdout.write(`${name.padEnd(40)}${value.toFixed(1).padStart(10)} ${unit} a span\n`);
}
