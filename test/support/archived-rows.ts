/** Rows for archives, and a form in which a table and an archive of it can be compared. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { archive, queryArchive } from '../../src/archive/index.ts';
import { FIELDS } from '../../src/base/fields.ts';
import { canonicalJson } from '../../src/json/index.ts';
import { type OwnPool, PostgresSpanExporter, type Queryable } from '../../src/postgres/index.ts';
import { exportSpans } from './export.ts';
import { manySpans } from './many-spans.ts';
import { runSql } from './postgres-server.ts';
import { randomSpans } from './random-spans.ts';
import { waitUntil } from './wait-until.ts';

const DAY_MS = 86_400_000;
const RANGE_ROWS = 20_000;

/** One day for the whole test process, also when it runs past midnight. */
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** Yesterday and all before it is closed. */
export const today = () => new Date(TODAY_MS);

/** A database with twice as many spans, of values of every kind, over the partitions of four days that are over. */
export async function filledDays(
  server: { createMigrated(): Promise<string> },
  count: number,
): Promise<string> {
  const url = await server.createMigrated();
  for (let day = 1; day <= 4; day += 1) await addDay(url, day);
  await using exporter = new PostgresSpanExporter({ connection: url });
  assert.deepEqual(await exportSpans(exporter, [...randomSpans(count, 7), ...manySpans(count)]), {
    code: 0,
  });
  await runSql(
    url,
    `UPDATE mcp_traces SET start_time = '${today().toISOString()}'::timestamptz
      - interval '1 minute' * (1 + abs(hashtext(span_id::text)) % 5700)
      + interval '1 microsecond' * (abs(hashtext(trace_id::text)) % 1000000)`,
  );
  return url;
}

/** Adds the partition of a day that is over. */
export async function addDay(url: string, daysAgo: number): Promise<void> {
  const [from, to] = [daysAgo, daysAgo - 1].map((days) =>
    new Date(today().getTime() - days * DAY_MS).toISOString(),
  );
  const name = `mcp_traces_${from?.slice(0, 10).replaceAll('-', '')}`;
  await runSql(url, `CREATE TABLE ${name} PARTITION OF mcp_traces FOR VALUES FROM ('${from}') TO ('${to}')`);
}

const AGE = `UPDATE mcp_traces SET start_time = start_time - interval '2 days' WHERE start_time >= $1`;

/** What an archive takes are rows older than every transaction that is under way. */
const MAY_BE_ARCHIVED = `SELECT NOT EXISTS (
  SELECT FROM mcp_traces WHERE ingest_xid >= txid_snapshot_xmin(txid_current_snapshot())) AS may`;

/** What was stored today seems to have started two days ago. */
export async function makeOlder(pool: Queryable): Promise<void> {
  await pool.query(AGE, [today().toISOString()]);
}

/** As {@link makeOlder}, and can be archived. */
export async function age(pool: Queryable): Promise<void> {
  await makeOlder(pool);
  // The first export makes partitions behind its result; the server itself may be analyzing the table.
  await waitUntil(async () => (await pool.query(MAY_BE_ARCHIVED)).rows[0]?.may === true, 120_000);
}

/** A digest of the rows in each of some ranges of trace ids, so that a day fits into memory. */
export async function rowDigests(
  rows: number,
  read: (range: string) => Promise<readonly (readonly unknown[])[]>,
): Promise<string[]> {
  const ranges = Math.ceil(rows / RANGE_ROWS);
  const digests: string[] = [];
  const bound = (range: number) =>
    Math.floor((range * 65_536) / ranges)
      .toString(16)
      .padStart(4, '0');
  let count = 0;
  for (let range = 0; range < ranges; range += 1) {
    const from = `trace_id >= '${bound(range)}0000-0000-0000-0000-000000000000'`;
    const to =
      range + 1 === ranges ? '' : ` AND trace_id < '${bound(range + 1)}0000-0000-0000-0000-000000000000'`;
    const found = await read(`WHERE ${from}${to}`);
    count += found.length;
    const hash = createHash('sha256');
    for (const row of found) hash.update(canonicalJson(plainRow(row)));
    digests.push(hash.digest('hex'));
  }
  assert.equal(count, rows);
  return digests;
}

/** All columns in a form that both databases print alike. */
export function selectAll(dialect: 'pg' | 'duckdb', condition = ''): string {
  const cells = FIELDS.map(({ column, sqlType }) => {
    if (sqlType === 'timestamptz') {
      return dialect === 'pg'
        ? `(extract(epoch FROM ${column}) * 1000000)::bigint::text AS ${column}`
        : `epoch_us(${column})::VARCHAR AS ${column}`;
    }
    if (sqlType === 'uuid' || sqlType === 'jsonb') return `${column}::text AS ${column}`;
    return column;
  });
  return `SELECT ${cells.join(', ')} FROM mcp_traces ${condition} ORDER BY trace_id::text, span_id::text`;
}

/**
 * JSON texts as values, because both databases order and space them their own way. The driver of DuckDB takes a byte order
 * mark from the start of a text, and its Parquet files have one zero for both signs.
 */
export function plainRow(row: readonly unknown[]): unknown[] {
  return row.map((value, i) => {
    if (value === undefined) return null;
    if (value === 0) return 0;
    if (typeof value !== 'string') return value;
    return FIELDS[i]?.sqlType === 'jsonb' ? JSON.parse(value) : value.replace(/^\ufeff/, '');
  });
}

/** Archives 40 spans, then 20 that come late beside 20 that are sent again: each of the 60 is counted once. */
export async function archiveLate(pool: OwnPool, to: string): Promise<void> {
  const counted = async () =>
    (await queryArchive({ archive: to, sql: 'SELECT count(*)::INTEGER FROM mcp_traces', pool })).rows[0]?.[0];
  const spans = manySpans(60);
  await using exporter = new PostgresSpanExporter({ connection: pool });
  await exportSpans(exporter, spans.slice(0, 40));
  await age(pool);
  await archive(pool, to, today());
  await exportSpans(exporter, spans.slice(20));
  await age(pool);
  assert.equal(await counted(), 60, 'before the late spans are archived');
  const late = await archive(pool, to, today());
  assert.deepEqual(
    late.map(({ rows }) => rows),
    [20],
  );
  assert.equal(await counted(), 60);
}
