import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { archive, queryArchive } from '../src/archive/index.ts';
import { COLUMNS } from '../src/base/fields.ts';
import { type OwnPool, openPool } from '../src/postgres/index.ts';
import {
  addDay,
  archiveLate,
  filledDays,
  plainRow,
  rowDigests,
  selectAll,
  today,
} from './support/archived-rows.ts';
import { insertDay } from './support/day-of-rows.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { startS3Proxy } from './support/s3-proxy.ts';
import { noS3Server, type S3Server, startS3 } from './support/s3-server.ts';
import { manyRows } from './support/size.ts';
import { startProxy } from './support/tcp-proxy.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const COUNT = 'SELECT count(*)::INTEGER FROM mcp_traces';
const MAIN = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
const DAY_ROWS = manyRows(20_000);
const NAME = 'day=2026-11-01/mcp_traces_20261101.parquet';

describe('an archive in a bucket', { skip: noPostgres() || (await noS3Server()) }, () => {
  let s3: S3Server;
  let server: PostgresServer;
  const old = { ...process.env };
  before(async () => {
    [s3, server] = await Promise.all([startS3('bucket'), startPostgres()]);
    Object.assign(process.env, s3.env);
  });
  after(async () => {
    for (const name of Object.keys(s3.env)) delete process.env[name];
    Object.assign(process.env, old);
    await s3[Symbol.asyncDispose]();
    await server.stop();
  });

  const counted = async (pool: OwnPool | undefined, address: string): Promise<number> => {
    const { rows } = await queryArchive({ archive: address, sql: COUNT, pool });
    return Number(rows[0]?.[0]);
  };
  const left = async (pool: OwnPool) =>
    Number((await pool.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n);
  const keys = (prefix: string): string[] => {
    try {
      return readdirSync(join(s3.objects, 'bucket', prefix), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.parquet'))
        .sort();
    } catch {
      return [];
    }
  };
  const archiving = (url: string, address: string) =>
    spawn(
      process.execPath,
      [MAIN, 'db', 'archive', '--database-url', url, '--to', address, '--older-than', '1m'],
      { stdio: 'ignore' },
    );
  /** The server notices late that a killed process is gone, and until then another one may not archive. */
  const untilArchived = (url: string, address: string) =>
    waitUntil(async () => (await once(archiving(url, address), 'exit'))[0] === 0, 600_000);

  test('holds every row as the table did, and a question about one day reads no other file', async () => {
    const url = await filledDays(server, 400);
    const pool = await openPool(url);
    await using proxy = await startS3Proxy(s3.port);
    const to = `s3://bucket/equal/of one?endpoint=${proxy.url}`;
    const expected = (await pool.query(selectAll('pg'))).rows.map((row) => COLUMNS.map((name) => row[name]));
    const archived = await archive(pool, to, today());
    assert.equal(
      archived.reduce((sum, { rows }) => sum + (rows ?? 0), 0),
      800,
    );
    assert.equal(await left(pool), 0);
    assert.deepEqual(
      keys('equal/of one'),
      archived.map(({ file }) => file),
    );
    const read = { archive: to, sql: selectAll('duckdb') };
    assert.deepEqual((await queryArchive(read)).rows.map(plainRow), expected.map(plainRow));
    assert.deepEqual(await archive(pool, to, today()), [], 'nothing is left to archive');

    const [other, one] = archived;
    const day = one?.file.slice(4, 14) ?? '';
    const before = proxy.requests.length;
    const sql = 'SELECT min(start_time)::VARCHAR AS first, count(*)::INTEGER AS n FROM mcp_traces';
    const child = spawn(
      process.execPath,
      [MAIN, 'db', 'query', sql, '--archive', to, '--days', day, '--json'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [output] = await Promise.all([child.stdout.toArray(), once(child, 'exit')]);
    const row = JSON.parse(Buffer.concat(output).toString());
    assert.equal(row.n, one?.rows);
    assert.equal(row.first.slice(0, 10), day);
    const asked = proxy.requests.slice(before).map((line) => decodeURIComponent(line));
    assert.ok(asked.some((line) => line.includes(`${one?.file}`)));
    assert.ok(!asked.some((line) => line.includes(`${other?.file}`)), asked.join('\n'));
    await pool.end();
  });

  test('a span that arrives after its day was archived is kept, one that is sent again counts once', async () => {
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const to = 's3://bucket/late';
    await archiveLate(pool, to);
    assert.equal(await counted(undefined, to), 60);
    await pool.end();
  });

  test(`a day of ${DAY_ROWS} rows is archived and reads back equal, though the process is killed and the network fails`, async () => {
    const url = await server.createMigrated();
    const pool = await openPool(url);
    const proxy = await startProxy(s3.port);
    const to = `s3://bucket/day?endpoint=http://127.0.0.1:${proxy.port}`;
    await addDay(url, 1);
    await runSql(url, insertDay(DAY_ROWS, 1));
    const expected = await rowDigests(DAY_ROWS, async (range) => {
      const { rows } = await pool.query(selectAll('pg', range));
      return rows.map((row) => COLUMNS.map((name) => row[name]));
    });
    for (let kill = 0; kill < 6; kill += 1) {
      const child = archiving(url, to);
      const wait = 600 + kill * (150 + DAY_ROWS / 250);
      for (let cut = 0; cut < 10; cut += 1) {
        await sleep(wait / 10);
        if (kill % 2 === 1) proxy.cut();
      }
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      const rows = await left(pool);
      assert.ok(rows === DAY_ROWS || rows === 0, `${rows} rows are left`);
      if (keys('day').length > 0) {
        assert.equal(await counted(undefined, 's3://bucket/day'), DAY_ROWS, 'a file is whole');
        assert.equal(await counted(pool, 's3://bucket/day'), DAY_ROWS);
      } else assert.equal(rows, DAY_ROWS);
    }
    await untilArchived(url, to);
    assert.equal(await left(pool), 0);
    const found = await rowDigests(DAY_ROWS, async (range) => {
      const read = { archive: to, sql: selectAll('duckdb', range), maxRows: DAY_ROWS };
      return (await queryArchive(read)).rows;
    });
    assert.deepEqual(found, expected);
    await pool.end();
    await proxy.close();
  });

  test('a process that is killed at each of its requests loses no span and doubles none', async () => {
    const url = await filledDays(server, 200);
    const pool = await openPool(url);
    await using proxy = await startS3Proxy(s3.port);
    const to = `s3://bucket/killed?endpoint=${proxy.url}`;
    const killedAt = new Set<string>();
    for (let kill = 1; kill <= 14; kill += 1) {
      const child = archiving(url, to);
      const exit = once(child, 'exit');
      let requests = 0;
      proxy.losesAnswer = async (method) => {
        requests += 1;
        if (requests !== kill) return false;
        killedAt.add(method);
        child.kill('SIGKILL');
        await exit;
        return true;
      };
      // Where the server sees that a killed process is gone too late, the next one may not archive.
      await exit;
      proxy.losesAnswer = () => false;
      if (keys('killed').length > 0) assert.equal(await counted(pool, to), 400, `at request ${kill}`);
      else assert.equal(await left(pool), 400);
    }
    assert.ok(killedAt.has('PUT'), [...killedAt].join());
    await untilArchived(url, to);
    assert.equal(await left(pool), 0);
    assert.equal(await counted(undefined, to), 400);
    await pool.end();
  });

  test('a day is archived once, though the answers that say that its file is stored are lost', async () => {
    const url = await filledDays(server, 100);
    const pool = await openPool(url);
    await using proxy = await startS3Proxy(s3.port);
    const to = `s3://bucket/lost?endpoint=${proxy.url}`;
    let lost = 0;
    proxy.losesAnswer = (asked, path) => {
      const isEnd = asked === 'PUT' && path.includes('parquet');
      if (isEnd) lost += 1;
      return isEnd;
    };
    await archive(pool, to, today());
    assert.ok(lost > 0);
    assert.equal(await left(pool), 0);
    assert.equal(await counted(undefined, 's3://bucket/lost'), 200);
    await pool.end();
  });

  test('a file with spans that the day has not is not replaced, in a bucket or a folder', async () => {
    const url = await filledDays(server, 60);
    const pool = await openPool(url);
    for (const to of ['s3://bucket/foreign', join(tempDir(), 'archive')]) {
      const theirs = await filledDays(server, 60);
      const other = await openPool(theirs);
      await runSql(theirs, `UPDATE mcp_traces SET span_id = gen_random_uuid()`);
      await archive(other, to, today());
      await other.end();
      await assert.rejects(archive(pool, to, today()), {
        code: 'ARCHIVE_REFUSED',
        message: /has \d+ spans that are not in mcp_traces_.*a place of its own/,
      });
      assert.equal(await left(pool), 120);
      assert.equal(await counted(undefined, to), 120);
    }
    await pool.end();
  });

  test('a server that is gone or refuses: the day stays, and the error says what to do without secrets', async () => {
    const url = await filledDays(server, 50);
    const pool = await openPool(url);
    const refused = async (address: string, pattern: RegExp) => {
      const error = await archive(pool, address, today()).then(
        () => assert.fail('was archived'),
        (cause: unknown) => cause as Error & { code: string },
      );
      assert.match(error.message, pattern);
      assert.ok(['ARCHIVE_REFUSED', 'INVALID_OPTION', 'MISSING_PEER'].includes(error.code));
      const { AWS_SECRET_ACCESS_KEY: secret = '', AWS_ACCESS_KEY_ID: id = '' } = s3.env;
      for (const word of [secret, id, 'wrong-secret', 'wrong-id', 'token-of-session']) {
        const said = `${error.stack}${JSON.stringify(error)}${String(error.cause)}`;
        assert.ok(!said.includes(word), error.message);
      }
      assert.equal(await left(pool), 100);
    };
    const withEnv = async (env: Record<string, string>, address: string, pattern: RegExp) => {
      const keep = { ...process.env };
      Object.assign(process.env, env);
      try {
        await refused(address, pattern);
      } finally {
        for (const name of Object.keys(env)) delete process.env[name];
        Object.assign(process.env, keep);
      }
    };
    await refused('s3://absent/x', /NoSuchBucket.*create the bucket/);
    await refused('s3://user:wrong-secret@bucket/x', /without credentials; set AWS_ACCESS_KEY_ID/);
    await refused('s3://bucket/x?endpoint=http://127.0.0.1:1', /AWS_ENDPOINT_URL_S3/);
    await withEnv({ AWS_SECRET_ACCESS_KEY: 'wrong-secret' }, 's3://bucket/x', /403.*AWS_ACCESS_KEY_ID/);
    await withEnv({ AWS_ACCESS_KEY_ID: 'wrong-id' }, 's3://bucket/x', /40[34].*AWS_ACCESS_KEY_ID/);
    await withEnv({ AWS_ACCESS_KEY_ID: '' }, 's3://bucket/x', /needs DuckDB's extension aws.*INSTALL aws/);
    await withEnv({ HOME: tempDir() }, 's3://bucket/x', /needs DuckDB's extension httpfs.*INSTALL httpfs/);

    await s3.kill();
    await refused('s3://bucket/x', /AWS_ENDPOINT_URL_S3/);
    await s3.restart();
    await archive(pool, 's3://bucket/x', today());
    assert.equal(await left(pool), 0);
    assert.equal(await counted(undefined, 's3://bucket/x'), 100);
    await pool.end();
  });

  test('objects of others, wrong names and changed content do no harm', async () => {
    const folder = join(s3.objects, 'bucket/hostile');
    const put = (name: string, content: string) => {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    };
    const query = () => queryArchive({ archive: 's3://bucket/hostile', sql: COUNT });
    const others = [
      'notes.txt',
      'day=2026-11-01/x.csv',
      'day=x/y.parquet',
      'late/deep/z.parquet',
      'late/a b.parquet',
    ];
    for (const name of others) put(name, 'text');
    await assert.rejects(query(), {
      code: 'ARCHIVE_REFUSED',
      message: /no files of an archive in s3:\/\/bucket\/hostile.*--to s3/,
    });
    put(NAME, 'content');
    await assert.rejects(query(), { code: 'ARCHIVE_REFUSED', message: /DuckDB refused/ });
    rmSync(join(folder, NAME));
    const url = await filledDays(server, 20);
    const pool = await openPool(url);
    await archive(pool, 's3://bucket/hostile', today());
    assert.equal(await counted(undefined, 's3://bucket/hostile'), 40);
    for (const name of others) assert.equal(readFileSync(join(folder, name), 'utf8'), 'text');
    await pool.end();
  });
});
