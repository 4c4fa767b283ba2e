import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { archive, queryArchive } from '../src/archive/index.ts';
import { COLUMNS, FIELDS } from '../src/base/fields.ts';
import { canonicalJson } from '../src/json/index.ts';
import { type OwnPool, openPool, PostgresSpanExporter } from '../src/postgres/index.ts';
import { insertDay } from './support/day-of-rows.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import { noPostgres, runSql, startPostgres } from './support/postgres-server.ts';
import { randomSpans } from './support/random-spans.ts';
import { manyRows } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const DAY_MS = 86_400_000;
/** Of the day that is archived whole. */
const DAY_ROWS = manyRows(20_000);
const RANGES = Math.ceil(DAY_ROWS / 20_000);
const COUNT = 'SELECT count(*)::INTEGER FROM mcp_traces';
const MAIN = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
/** Yesterday and all before it is closed. */
const before = () => new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);

describe('an archive of closed days', { skip: noPostgres() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-archive-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** A database with spans of values of every kind, over the partitions of four days that are over. */
  async function filled(server: { createMigrated(): Promise<string> }, count: number): Promise<string> {
    const url = await server.createMigrated();
    for (let day = 1; day <= 4; day += 1) {
      const [from, to] = [day, day - 1].map((days) =>
        new Date(before().getTime() - days * DAY_MS).toISOString(),
      );
      const name = `mcp_traces_${from?.slice(0, 10).replaceAll('-', '')}`;
      await runSql(
        url,
        `CREATE TABLE ${name} PARTITION OF mcp_traces FOR VALUES FROM ('${from}') TO ('${to}')`,
      );
    }
    await using exporter = new PostgresSpanExporter({ connection: url });
    assert.deepEqual(await exportSpans(exporter, [...randomSpans(count, 7), ...manySpans(count)]), {
      code: 0,
    });
    await runSql(
      url,
      `UPDATE mcp_traces SET start_time = '${before().toISOString()}'::timestamptz
        - interval '1 minute' * (1 + abs(hashtext(span_id::text)) % 5700)
        + interval '1 microsecond' * (abs(hashtext(trace_id::text)) % 1000000)`,
    );
    return url;
  }

  /** What was stored so far seems to have started two days ago. */
  const age = (url: string) =>
    runSql(
      url,
      `UPDATE mcp_traces SET start_time = start_time - interval '2 days' WHERE start_time >= '${before().toISOString()}'`,
    );

  const counted = async (pool: OwnPool, to: string): Promise<number> => {
    const { rows } = await queryArchive({
      folder: to,
      sql: 'SELECT count(*)::INTEGER FROM mcp_traces',
      pool,
    });
    return Number(rows[0]?.[0]);
  };

  test('holds every row as the table did, and the table no row that it holds', async () => {
    await using server = await startPostgres();
    const url = await filled(server, 400);
    const pool = await openPool(url);
    const to = join(folder, 'equal');
    const expected = (await pool.query(select('pg'))).rows.map((row) => COLUMNS.map((name) => row[name]));
    assert.equal(expected.length, 800);
    const archived = await archive(pool, to, before());
    assert.equal(
      archived.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
      800,
    );
    const { rows } = await queryArchive({ folder: to, sql: select('duckdb') });
    assert.deepEqual(rows.map(plain), expected.map(plain));
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 0);
    const hours = await pool.query('SELECT sum(spans)::integer AS n FROM mcp_traces_hourly');
    assert.equal(hours.rows[0]?.n, 800, 'the roll-ups count what is archived');
    for (const file of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
      assert.equal(statSync(join(to, file)).mode & 0o077, 0, `${file} is for its owner alone`);
    }
    assert.deepEqual(await archive(pool, to, before()), [], 'nothing is left to archive');
    await pool.end();
  });

  test('a span that arrives after its day was archived is kept, one that is sent again counts once', async () => {
    await using server = await startPostgres();
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const to = join(folder, 'late');
    const spans = manySpans(60);
    await using exporter = new PostgresSpanExporter({ connection: pool });
    await exportSpans(exporter, spans.slice(0, 40));
    await age(url);
    await archive(pool, to, before());
    await exportSpans(exporter, spans.slice(20));
    await age(url);
    assert.equal(await counted(pool, to), 60, 'before the late spans are archived');
    const late = await archive(pool, to, before());
    assert.deepEqual(
      late.map(({ rows }) => rows),
      [20],
    );
    assert.equal(await counted(pool, to), 60);
    await pool.end();
  });

  test('a process that is killed at any moment loses no span and doubles none', async () => {
    await using server = await startPostgres();
    const url = await filled(server, 1500);
    const pool = await openPool(url);
    const to = join(folder, 'killed');
    const run = () =>
      spawn(
        process.execPath,
        [MAIN, 'db', 'archive', '--database-url', url, '--to', to, '--older-than', '1m'],
        {
          stdio: 'ignore',
        },
      );
    let kills = 0;
    for (let delayMs = 300; kills < 12; delayMs += 60) {
      const child = run();
      await sleep(delayMs);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      kills += 1;
      const hasFiles = readdirSync(folder, { recursive: true, encoding: 'utf8' }).some(
        (name) => /^killed.*\.parquet$/.test(name) && !name.includes('.work'),
      );
      if (hasFiles) assert.equal(await counted(pool, to), 3000, `after ${delayMs} ms`);
    }
    // The server notices late that a killed process is gone, and until then another one may not archive.
    await waitUntil(async () => {
      const [code] = await once(run(), 'exit');
      return code === 0;
    }, 30_000);
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 0);
    assert.equal(await counted(pool, to), 3000);
    assert.ok(!readdirSync(to).includes('.work'), 'nothing is left of the killed processes');
    await pool.end();
  });

  test(`a day of ${DAY_ROWS} rows is archived and reads back equal, though the process is killed meanwhile`, async () => {
    await using server = await startPostgres();
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const to = join(folder, 'day');
    const day = new Date(before().getTime() - DAY_MS).toISOString();
    await runSql(
      url,
      `CREATE TABLE mcp_traces_${day.slice(0, 10).replaceAll('-', '')} PARTITION OF mcp_traces
        FOR VALUES FROM ('${day}') TO ('${before().toISOString()}')`,
    );
    await runSql(url, insertDay(DAY_ROWS, 1));
    await runSql(url, 'VACUUM ANALYZE mcp_traces');
    const expected = await digests(async (range) => {
      const { rows } = await pool.query(select('pg', range));
      return rows.map((row) => COLUMNS.map((name) => row[name]));
    });
    const args = [MAIN, 'db', 'archive', '--database-url', url, '--to', to, '--older-than', '1m'];
    const run = () => spawn(process.execPath, args, { stdio: 'ignore' });
    for (let kill = 0; kill < 5; kill += 1) {
      const child = run();
      await sleep(500 + kill * (300 + DAY_ROWS / 250));
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      const { rows } = await pool.query('SELECT count(*)::integer AS n FROM mcp_traces');
      const left = Number(rows[0]?.n);
      assert.ok(left === DAY_ROWS || left === 0, `${left} rows are left`);
      if (left === 0) assert.equal((await queryArchive({ folder: to, sql: COUNT })).rows[0]?.[0], DAY_ROWS);
    }
    const startedAt = performance.now();
    await waitUntil(async () => {
      const [code] = await once(run(), 'exit');
      return code === 0;
    }, 600_000);
    const seconds = (performance.now() - startedAt) / 1000;
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 0);
    const found = await digests(async (range) => {
      const sql = select('duckdb', range);
      return (await queryArchive({ folder: to, sql, maxRows: DAY_ROWS })).rows;
    });
    assert.deepEqual(found, expected);
    const files = readdirSync(to, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.parquet'),
    );
    const bytes = files.reduce((sum, name) => sum + statSync(join(to, name)).size, 0);
    console.log(
      `${DAY_ROWS} rows: the last run took ${seconds.toFixed(1)} s, ${(bytes / DAY_ROWS).toFixed(1)} bytes a span`,
    );
    await pool.end();
  });

  test('two processes at once: one works, the other says so', async () => {
    await using server = await startPostgres();
    const url = await filled(server, 300);
    const pool = await openPool(url);
    const to = join(folder, 'two');
    const results = await Promise.allSettled([archive(pool, to, before()), archive(pool, to, before())]);
    const refused = results.filter(({ status }) => status === 'rejected');
    assert.ok(refused.length <= 1, String(refused.map((one) => (one as PromiseRejectedResult).reason.stack)));
    for (const one of refused) {
      assert.match(String((one as PromiseRejectedResult).reason), /Another process is archiving/);
    }
    assert.equal(await counted(pool, to), 600);
    await pool.end();
  });

  test('a file that cannot be written leaves its day in the database', async () => {
    await using server = await startPostgres();
    const url = await filled(server, 50);
    const pool = await openPool(url);
    const to = join(folder, 'blocked');
    writeFileSync(to, 'a file where the folder should be');
    await assert.rejects(archive(pool, to, before()));
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 100);
    await assert.rejects(queryArchive({ folder: join(folder, 'absent'), sql: 'SELECT 1' }), {
      code: 'ARCHIVE_REFUSED',
      message: /no files of an archive.*db archive --to/,
    });
    await pool.end();
  });
});

/** A digest of the rows in each of some ranges of trace ids, so that a day fits into memory. */
async function digests(read: (range: string) => Promise<readonly (readonly unknown[])[]>): Promise<string[]> {
  const found: string[] = [];
  const bound = (range: number) =>
    Math.floor((range * 65_536) / RANGES)
      .toString(16)
      .padStart(4, '0');
  let count = 0;
  for (let range = 0; range < RANGES; range += 1) {
    const from = `trace_id >= '${bound(range)}0000-0000-0000-0000-000000000000'`;
    const to =
      range + 1 === RANGES ? '' : ` AND trace_id < '${bound(range + 1)}0000-0000-0000-0000-000000000000'`;
    const rows = await read(`WHERE ${from}${to}`);
    count += rows.length;
    const hash = createHash('sha256');
    for (const row of rows) hash.update(canonicalJson(plain(row)));
    found.push(hash.digest('hex'));
  }
  assert.equal(count, DAY_ROWS);
  return found;
}

/** All columns in a form that both databases print alike. */
function select(dialect: 'pg' | 'duckdb', condition = ''): string {
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
function plain(row: readonly unknown[]): unknown[] {
  return row.map((value, i) => {
    if (value === undefined) return null;
    if (value === 0) return 0;
    if (typeof value !== 'string') return value;
    return FIELDS[i]?.sqlType === 'jsonb' ? JSON.parse(value) : value.replace(/^\ufeff/, '');
  });
}
