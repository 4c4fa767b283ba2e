import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, before, describe, test } from 'node:test';
import { type Database, openDatabase } from '../src/postgres/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'observatory-embedded-'));
const dataDir = join(folder, 'pgdata');
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the embedded database', () => {
  let db: Database;
  before(async () => {
    db = await openDatabase({ dataDir: dataDir });
  });
  after(() => db.close());

  test('does not hold the event loop while it answers', async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    let isAnswered = false;
    const query = db.query('SELECT count(*)::int AS n FROM generate_series(1, 5000000) AS i WHERE i % 3 = 0');
    const answered = query.finally(() => {
      isAnswered = true;
    });
    delay.enable();
    let turns = 0;
    while (!isAnswered) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      turns += 1;
    }
    delay.disable();
    assert.deepEqual((await answered).rows, [{ n: 1_666_666 }]);
    assert.ok(turns > 10, `${turns} turns while it answered`);
    // Half the machine may be somebody else's.
    assert.ok(delay.percentile(50) < 50e6, `half of the turns took ${delay.percentile(50) / 1e6} ms`);
  });

  test('answers with dates, bytes, lists, JSON and big integers, as it does in one thread', async () => {
    const at = new Date('2026-01-02T03:04:05.678Z');
    const { rows } = await db.query(
      `SELECT $1::timestamptz AS at, $2::bytea AS bytes, $3::text[] AS list, $4::jsonb AS json, $5::int8 AS big, NULL AS none`,
      [at, Buffer.from([0, 255]), ['a', 'b'], { deep: [1, null] }, 2n ** 60n],
    );
    assert.deepEqual(
      { ...rows[0] },
      {
        at,
        bytes: new Uint8Array([0, 255]),
        list: ['a', 'b'],
        json: { deep: [1, null] },
        big: 2n ** 60n,
        none: null,
      },
    );
  });

  test("an error has the database's code, and the statements after it run", async () => {
    await assert.rejects(db.query('SELECT * FROM absent'), { code: '42P01', message: /absent/ });
    await assert.rejects(db.query('SELECT $1::text', [() => 1]), { name: 'DataCloneError' });
    const answers = await Promise.all([1, 2, 3].map((n) => db.query('SELECT $1::int AS n', [n])));
    assert.deepEqual(
      answers.map(({ rows }) => rows[0]?.n),
      [1, 2, 3],
    );
  });

  describe('questions', () => {
    const GROWING = {
      replace: `SELECT length(replace(replace('${'a'.repeat(8000)}', 'a', '${'b'.repeat(8000)}'), 'b', '${'c'.repeat(300)}'))`,
      concat: `WITH a AS MATERIALIZED (SELECT '${'x'.repeat(4000)}' AS s), b AS MATERIALIZED (SELECT concat(${Array(100).fill('s').join()}) AS s FROM a),
        c AS MATERIALIZED (SELECT concat(${Array(100).fill('s').join()}) AS s FROM b), d AS MATERIALIZED (SELECT concat(${Array(20).fill('s').join()}) AS s FROM c)
        SELECT length(s) FROM d`,
      lpad: 'SELECT array_agg(lpad(i::text, 10000000)) FROM generate_series(1, 1000) AS i',
      jsonb_agg: "SELECT jsonb_array_length(jsonb_agg(repeat('x', 100000))) FROM generate_series(1, 50000)",
      recursive:
        "WITH RECURSIVE n(i, s) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, s || s FROM n) SELECT max(length(s)) FROM n",
    };
    const ENDLESS = 'SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b';
    const asked = (text: string, timeoutMs: number) =>
      db.readOnly([{ text }], { timeoutMs, isForeign: true });
    const countRows = async () => (await db.query('SELECT count(*)::int AS n FROM kept')).rows[0]?.n;
    const rssMb = () => process.memoryUsage.rss() / 1024 ** 2;
    before(() => db.query('CREATE TABLE IF NOT EXISTS kept (id int, text text)'));

    test('one that does not end is ended at its time, and all that waited for it is done', async () => {
      const question = assert.rejects(asked(ENDLESS, 1000), {
        code: 'DATABASE_REFUSED',
        // As long as it took: a machine with other work looks later.
        message: /stopped after \d+ s/,
      });
      const behind = asked('SELECT 1 AS one', 30_000);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const before = await countRows();
      await Promise.all([1, 2, 3].map((id) => db.query('INSERT INTO kept (id) VALUES ($1)', [id])));
      await question;
      assert.equal(await countRows(), Number(before) + 3);
      assert.deepEqual((await behind)[0]?.rows, [{ one: 1 }]);
    });

    test('a view gives way after 5 s when a statement waits', async () => {
      const view = assert.rejects(db.readOnly([{ text: ENDLESS }], { timeoutMs: 600_000 }), {
        message: /stopped after [5-9] s/,
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await db.query('INSERT INTO kept (id) VALUES (0)');
      await view;
    });

    for (const [name, sql] of Object.entries(GROWING)) {
      test(`one that grows is ended, and its memory given back: ${name}`, async () => {
        await db.query('SELECT 1');
        const before = rssMb();
        let most = 0;
        const look = setInterval(() => {
          most = Math.max(most, rssMb());
        }, 20);
        await assert.rejects(asked(sql, 5000), (error: Error & { code: string }) => {
          assert.ok(
            ['DATABASE_REFUSED', '53200', '54000'].includes(error.code),
            `${error.code} ${error.message}`,
          );
          return true;
        });
        clearInterval(look);
        await db.query('SELECT 1');
        assert.ok(most < before + 1100, `${Math.round(before)} MB before, ${Math.round(most)} MB at most`);
        assert.ok(rssMb() < before + 400, `${Math.round(before)} MB before, ${Math.round(rssMb())} MB after`);
      });
    }

    test('what one has sorted on disk is bounded, and removed after its end', async () => {
      const sort = (rows: number) =>
        `SELECT count(*) FROM (SELECT repeat(md5(i::text), 50) AS text FROM generate_series(1, ${rows}) AS i ORDER BY 1) AS sorted`;
      await assert.rejects(asked(sort(30_000_000), 3000), { code: 'DATABASE_REFUSED' });
      await db.query('SELECT 1');
      assert.equal(existsSync(join(dataDir, 'base', 'pgsql_tmp')), false);
      const limited = await db.readOnly([{ text: "SELECT current_setting('temp_file_limit') AS most" }], {
        timeoutMs: 5000,
      });
      assert.deepEqual(limited[0]?.rows, [{ most: '512MB' }]);
      const { rows } = await db.query("SELECT current_setting('temp_file_limit') AS most");
      assert.deepEqual(rows, [{ most: '-1' }]);
    });

    test('a deep expression is answered or refused, and never without its row', async () => {
      const deep = (open: string, close: string, times: number) =>
        open.repeat(times) + 1 + close.repeat(times);
      const answers = await Promise.allSettled([
        asked(`SELECT ${deep('abs(', ')', 3000)} AS one`, 30_000),
        asked(`SELECT '1' ~ '${deep('(', ')', 20_000)}' AS one`, 30_000),
        asked(`SELECT '${deep('[', ']', 100_000)}'::jsonb IS NULL AS one`, 30_000),
        asked(`SELECT ${deep('(SELECT ', ')', 1000)} AS one`, 30_000),
      ]);
      for (const [i, answer] of answers.entries()) {
        if (answer.status === 'fulfilled') assert.equal(answer.value[0]?.rows.length, 1, `answer ${i}`);
        else
          assert.match(
            `${answer.reason.code}`,
            /^(?:54001|42601|DATABASE_REFUSED)$/,
            `${i}: ${answer.reason}`,
          );
      }
      assert.deepEqual((await asked('SELECT 1 AS one', 5000))[0]?.rows, [{ one: 1 }]);
    });

    test('the log that is read after an end stays short', async () => {
      const row = `SELECT i, repeat(md5(i::text), 30) FROM generate_series(1, 20000) AS i`;
      for (let i = 0; i < 16; i += 1) {
        await db.query(`INSERT INTO kept ${row}`);
        // Looked at once a second.
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      const { rows } = await db.query(
        'SELECT (pg_current_wal_insert_lsn() - redo_lsn)::float8 AS bytes FROM pg_control_checkpoint()',
      );
      const megabytes = Number(rows[0]?.bytes) / 1024 ** 2;
      assert.ok(megabytes < 200, `${Math.round(megabytes)} MB`);
    });
  });

  test('a signal ends whatever runs, and the database closes', async () => {
    const giveUp = new AbortController();
    await using other = await openDatabase({ dataDir: join(folder, 'other'), signal: giveUp.signal });
    const all = Promise.allSettled([
      other.query('SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b'),
      other.query('SELECT 1'),
      other.readOnly([{ text: 'SELECT 1' }], { timeoutMs: 1000 }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    giveUp.abort();
    for (const answer of await all) {
      assert.equal(answer.status, 'rejected');
      assert.equal((answer as PromiseRejectedResult).reason.code, 'DATABASE_UNREACHABLE');
    }
    await assert.rejects(other.query('SELECT 1'), { code: 'DATABASE_UNREACHABLE', message: /is closed/ });
  });

  test('others of its user read it beside its owner where that shares it, and write nothing', async () => {
    const beside = () => openDatabase({ dataDir, mayShare: true });
    await assert.rejects(beside(), { message: /is in use by process/ });
    await db.share?.({ spansUrl: 'http://127.0.0.1:9' });
    await assert.rejects(openDatabase({ dataDir }), { message: /is in use by process/ });
    const other = await beside();
    const values = [new Date('2026-01-02'), Buffer.from([0, 255]), ['a'], 2n ** 60n];
    const echo = 'SELECT $1::timestamptz AS at, $2::bytea AS bytes, $3::text[] AS list, $4::int8 AS big';
    assert.deepEqual((await other.query(echo, values)).rows, (await db.query(echo, values)).rows);
    assert.equal(other.spansUrl, 'http://127.0.0.1:9');
    await assert.rejects(other.query('SELECT * FROM absent'), { code: '42P01', message: /absent/ });
    await db.query('CREATE TABLE shared (id int)');
    const count = async () => (await db.query('SELECT count(*)::int AS n FROM shared')).rows[0]?.n;
    for (const text of [
      'INSERT INTO shared VALUES (1)',
      'WITH one AS (INSERT INTO shared VALUES (1) RETURNING id) SELECT id FROM one',
      'SET TRANSACTION READ WRITE',
      'COMMIT',
      'SELECT 1; INSERT INTO shared VALUES (1)',
    ]) {
      await assert.rejects(
        other.readOnly([{ text: 'SELECT 1' }, { text }, { text: 'SELECT 1' }], { timeoutMs: 5000 }),
        text,
      );
      assert.equal(await count(), 0, text);
    }
    await assert.rejects(other.query('INSERT INTO shared VALUES (1)'), {
      code: 'DATABASE_REFUSED',
      message: /can only be read/,
    });
    const [lock] = readdirSync(folder).filter((name) => name.includes('.lock.'));
    const { door } = JSON.parse(readFileSync(join(folder, String(lock)), 'utf8'));
    assert.equal(statSync(join(folder, String(lock))).mode & 0o077, 0);
    for (const authorization of ['', 'Bearer ', `Bearer ${'x'.repeat(43)}`])
      assert.equal((await fetch(door.url, { method: 'POST', headers: { authorization } })).status, 401);
    await db.close();
    await assert.rejects(other.query('SELECT 1'), { code: 'DATABASE_UNREACHABLE', message: /has gone/ });
    db = await openDatabase({ dataDir });
  });

  test('what is asked of a closed database is a typed error', async () => {
    await db.close();
    await db.close();
    await assert.rejects(db.query('SELECT 1'), { code: 'DATABASE_UNREACHABLE', message: /is closed/ });
  });

  test('an open database does not keep a process alive, and a statement under way does', async () => {
    const source = `
    import { openDatabase } from ${JSON.stringify(new URL('../src/postgres/index.js', import.meta.url).href)};
      const db = await openDatabase({ dataDir: ${JSON.stringify(dataDir)} });
      db.query('SELECT count(*)::int AS n FROM generate_series(1, 300000)').then(({ rows }) => {
        console.log(rows[0].n);
        // Refused at once: nothing runs.
        return db.query('SELECT $1::text', [() => 1]);
      }).catch(() => {});`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
    });
    const [code] = await once(child, 'exit');
    assert.deepEqual([code, printed], [0, '300000\n']);
  });
});
