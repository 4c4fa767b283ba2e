import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { archive, queryArchive } from '../src/archive/index.ts';
import { COLUMNS } from '../src/base/fields.ts';
import { dbCommand } from '../src/cli/db.ts';
import { type OwnPool, openPool, PostgresSpanExporter } from '../src/postgres/index.ts';
import {
  addDay,
  age,
  archiveLate,
  filledDays,
  makeOlder,
  plainRow,
  rowDigests,
  selectAll,
  today,
} from './support/archived-rows.ts';
import { insertDay } from './support/day-of-rows.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import { noPostgres, runSql, startOwnPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { manyRows } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

/** Of the day that is archived whole. */
const DAY_ROWS = manyRows(20_000);
const COUNT = 'SELECT count(*)::INTEGER FROM mcp_traces';
const MAIN = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));

describe('an archive of closed days', { skip: noPostgres() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-archive-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const counted = async (pool: OwnPool, to: string): Promise<number> => {
    const { rows } = await queryArchive({
      archive: to,
      sql: 'SELECT count(*)::INTEGER FROM mcp_traces',
      pool,
    });
    return Number(rows[0]?.[0]);
  };

  const archivedFiles = (to: string): string[] =>
    (existsSync(to) ? readdirSync(to, { recursive: true, encoding: 'utf8' }) : []).filter(
      (name) => name.endsWith('.parquet') && !name.includes('.work'),
    );

  test('holds every row as the table did, and the table no row that it holds', async () => {
    await using server = await startOwnPostgres();
    const url = await filledDays(server, 400);
    const pool = await openPool(url);
    const to = join(folder, 'equal');
    const expected = (await pool.query(selectAll('pg'))).rows.map((row) => COLUMNS.map((name) => row[name]));
    assert.equal(expected.length, 800);
    const archived = await archive(pool, to, today());
    assert.equal(
      archived.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
      800,
    );
    const { rows } = await queryArchive({ archive: to, sql: selectAll('duckdb') });
    assert.deepEqual(rows.map(plainRow), expected.map(plainRow));
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 0);
    const hours = await pool.query('SELECT sum(spans)::integer AS n FROM mcp_traces_hourly');
    assert.equal(hours.rows[0]?.n, 800, 'the roll-ups count what is archived');
    for (const file of readdirSync(to, { recursive: true, encoding: 'utf8' })) {
      assert.equal(statSync(join(to, file)).mode & 0o077, 0, `${file} is for its owner alone`);
    }
    assert.deepEqual(await archive(pool, to, today()), [], 'nothing is left to archive');
    await pool.end();
  });

  test('a span that arrives after its day was archived is kept, one that is sent again counts once', async () => {
    await using server = await startOwnPostgres();
    const url = await server.createMigrated();
    const pool = await openPool(url);
    await archiveLate(pool, join(folder, 'late'));
    await pool.end();
  });

  test('late spans stay, and are counted, while a transaction that is older than them is open', async () => {
    await using server = await startOwnPostgres();
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const to = join(folder, 'held-back');
    await using exporter = new PostgresSpanExporter({ connection: pool });
    await exportSpans(exporter, manySpans(10));
    await age(pool);
    await archive(pool, to, today());
    const other = new pg.Client(url);
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT txid_current()');
    await exportSpans(exporter, manySpans(7));
    await makeOlder(pool);
    const run = async () => {
      const { code, stdout } = await runCommand(dbCommand, [
        ...['archive', '--database-url', url, '--to', to, '--older-than', '1d'],
      ]);
      assert.equal(code, 0);
      return stdout;
    };
    assert.match(await run(), /7 late spans stay until transactions that are open now have ended/);
    assert.equal(await counted(pool, to), 17);
    await other.query('ROLLBACK');
    await other.end();
    await age(pool);
    assert.doesNotMatch(await run(), /stay/);
    assert.equal(await counted(pool, to), 17);
    assert.equal((await pool.query('SELECT count(*)::int AS n FROM mcp_traces')).rows[0]?.n, 0);
    await pool.end();
  });

  test(`a day of ${DAY_ROWS} rows is archived and reads back equal, though the process is killed meanwhile`, async () => {
    await using server = await startOwnPostgres();
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const to = join(folder, 'day');
    await addDay(url, 1);
    await runSql(url, insertDay(DAY_ROWS, 1));
    await runSql(url, 'VACUUM ANALYZE mcp_traces');
    const expected = await rowDigests(DAY_ROWS, async (range) => {
      const { rows } = await pool.query(selectAll('pg', range));
      return rows.map((row) => COLUMNS.map((name) => row[name]));
    });
    const args = [MAIN, 'db', 'archive', '--database-url', url, '--to', to, '--older-than', '1m'];
    const run = () => spawn(process.execPath, args, { stdio: 'ignore' });
    for (let kill = 0; kill < 8; kill += 1) {
      const child = run();
      await sleep(400 + kill * (150 + DAY_ROWS / 250));
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      const { rows } = await pool.query('SELECT count(*)::integer AS n FROM mcp_traces');
      const left = Number(rows[0]?.n);
      assert.ok(left === DAY_ROWS || left === 0, `${left} rows are left`);
      if (left === 0) assert.equal((await queryArchive({ archive: to, sql: COUNT })).rows[0]?.[0], DAY_ROWS);
      if (archivedFiles(to).length > 0) assert.equal(await counted(pool, to), DAY_ROWS);
    }
    const startedAt = performance.now();
    await waitUntil(async () => {
      const [code] = await once(run(), 'exit');
      return code === 0;
    }, 600_000);
    const seconds = (performance.now() - startedAt) / 1000;
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 0);
    const found = await rowDigests(DAY_ROWS, async (range) => {
      const sql = selectAll('duckdb', range);
      return (await queryArchive({ archive: to, sql, maxRows: DAY_ROWS })).rows;
    });
    assert.deepEqual(found, expected);
    assert.ok(!readdirSync(to).includes('.work'), 'nothing is left of the killed processes');
    const bytes = archivedFiles(to).reduce((sum, name) => sum + statSync(join(to, name)).size, 0);
    console.log(
      `${DAY_ROWS} rows: the last run took ${seconds.toFixed(1)} s, ${(bytes / DAY_ROWS).toFixed(1)} bytes a span`,
    );
    await pool.end();
  });

  test('two processes at once: one works, the other says so', async () => {
    await using server = await startOwnPostgres();
    const url = await filledDays(server, 300);
    const pool = await openPool(url);
    const to = join(folder, 'two');
    const results = await Promise.allSettled([archive(pool, to, today()), archive(pool, to, today())]);
    const refused = results.filter(({ status }) => status === 'rejected');
    assert.ok(refused.length <= 1, String(refused.map((one) => (one as PromiseRejectedResult).reason.stack)));
    for (const one of refused) {
      assert.match(String((one as PromiseRejectedResult).reason), /Another process is archiving/);
    }
    assert.equal(await counted(pool, to), 600);
    await pool.end();
  });

  test('a file that cannot be written leaves its day in the database', async () => {
    await using server = await startOwnPostgres();
    const url = await filledDays(server, 50);
    const pool = await openPool(url);
    const to = join(folder, 'blocked');
    writeFileSync(to, 'a file where the folder should be');
    await assert.rejects(archive(pool, to, today()));
    assert.equal((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n, 100);
    await assert.rejects(queryArchive({ archive: join(folder, 'absent'), sql: 'SELECT 1' }), {
      code: 'ARCHIVE_REFUSED',
      message: /no files of an archive.*db archive --to/,
    });
    await pool.end();
  });
});
