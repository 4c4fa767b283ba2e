import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
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
