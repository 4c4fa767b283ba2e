/** Processes that are killed between reserving a call and its outcome, and roles that may not forge one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PostgresLedger } from '../src/policy/postgres-ledger.ts';
import {
  applyRoles,
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';
import { sized } from './support/size.ts';
import { tempDir } from './support/temp-dir.ts';

const PROCESS = fileURLToPath(new URL('./support/ledger-process.js', import.meta.url));
/** `OBSERVATORY_LEDGER_KILLS=10000` interrupts as many calls, in waves of 64 processes. */
const KILLS = Number(process.env.OBSERVATORY_LEDGER_KILLS ?? 0);
const PROCESSES = KILLS > 0 ? 64 : sized(4, 6);
const WAVES = KILLS > 0 ? 4 : 3;
const CALLS = KILLS > 0 ? Math.ceil(KILLS / (PROCESSES * WAVES * 0.4)) : 16;

describe('the ledger and its processes', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let url: string;
  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
  });
  after(() => server?.stop());

  test('an effect is done once, and never told as failed when it happened, however its processes die', async () => {
    const bank = join(tempDir(), 'bank.txt');
    writeFileSync(bank, '');
    const payments = (PROCESSES / 2) * CALLS;
    let interrupted = 0;
    for (let wave = 0; wave < WAVES; wave += 1) {
      const running = Array.from({ length: PROCESSES }, (_, at) => {
        // Two processes about the same payments.
        const first = Math.floor(at / 2) * CALLS;
        const args = [url, bank, first, first + CALLS, wave * 1_000 + at].map(String);
        const child = spawn(process.execPath, [PROCESS, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
        return once(child, 'exit');
      });
      for (const [, signal] of await Promise.all(running)) assert.equal(signal, 'SIGKILL');
      const open = await runSql(
        url,
        `SELECT count(*)::integer AS n FROM mcp_ledger_calls WHERE status = 'reserved' AND quiet_until > now()`,
      );
      interrupted += Number(open[0]?.n);
      // The time passes in which they may still take effect.
      await runSql(url, 'UPDATE mcp_ledger_calls SET quiet_until = clock_timestamp()');
    }
    const done = readFileSync(bank, 'utf8').trim().split('\n');
    assert.ok(interrupted > WAVES, `${interrupted} calls were interrupted`);
    assert.equal(new Set(done).size, done.length, 'no refund was made twice');
    const rows = await runSql(url, `SELECT status, count(*)::integer AS n FROM mcp_ledger_calls GROUP BY 1`);
    // Each that happened is done, or nobody knows; no other call says that it is done.
    const live = new Map(rows.map(({ status, n }) => [status, Number(n)]));
    assert.ok(done.length >= (live.get('done') ?? 0));
    assert.ok(
      done.length <= (live.get('done') ?? 0) + (live.get('reserved') ?? 0) + (live.get('unknown') ?? 0),
    );
    const ledger = new PostgresLedger(url);
    const { createHash } = await import('node:crypto');
    for (let at = 0; at < payments; at += 1) {
      const key = createHash('sha256')
        .update(JSON.stringify(['refund:{payment_id}', [`p${at}`]]))
        .digest('hex');
      const found = await ledger.find(key);
      const happened = done.includes(`p${at}`);
      if (happened) assert.ok(found !== undefined, `p${at} happened and is not told as failed`);
      else assert.notEqual(found?.state, 'done');
    }
    await ledger.close();
    if (KILLS > 0)
      console.error({ interrupted, payments, done: done.length, states: Object.fromEntries(live) });
  });

  test('the writer reserves and settles its own calls, and forges neither rows nor the word of a person', {
    skip: findPsql() === undefined && 'no psql',
  }, async () => {
    applyRoles(url);
    await using writer = await createRole(url, 'IN ROLE mcp_observatory_writer');
    await using reader = await createRole(url, 'IN ROLE mcp_observatory_reader');
    const app = new PostgresLedger(writer.url);
    const key = 'f'.repeat(64);
    const request = {
      caller: '',
      server: 's',
      tool: 't',
      key,
      effect: 'e',
      digest: 'd',
      quiet_ms: 60_000,
      takes: [],
    };
    const taken = await app.reserve(request);
    assert.equal(taken.state, 'taken');
    const { id, token } = taken as { id: string; token: string };
    assert.equal(await app.settle(id, crypto.randomUUID(), 'failed'), false, 'without the token');
    assert.equal(await app.settle(id, token, 'unknown'), true);
    assert.equal((await app.resolve(id, 'failed', { tool: 'x' }))?.state, 'unknown', 'too early');
    await assert.rejects(
      app.resolve(id, 'failed', { review: crypto.randomUUID() }),
      /nobody has decided so|DATABASE_REFUSED|refused/i,
    );
    for (const sql of [writer.url, reader.url]) {
      for (const statement of [
        `UPDATE mcp_ledger_calls SET status = 'failed'`,
        'DELETE FROM mcp_ledger_calls',
        'SELECT token FROM mcp_ledger_calls',
        'UPDATE mcp_ledger_accounts SET units = 0',
        `SELECT mcp_ledger_book('[]', 1, 'reserve', NULL)`,
      ])
        await assert.rejects(runSql(sql, statement), { code: '42501' }, statement);
    }
    await assert.rejects(runSql(reader.url, `SELECT mcp_ledger_reserve('{}')`), { code: '42501' });
    assert.equal(
      (await runSql(reader.url, `SELECT status FROM mcp_ledger_calls WHERE effect = 'e'`))[0]?.status,
      'unknown',
    );
    for (const wrong of [
      '{}',
      '{"quiet_ms":1,"takes":[{}]}',
      '{"quiet_ms":1e99,"takes":[]}',
      '{"quiet_ms":1,"takes":[],"key":"x"}',
      '{"quiet_ms":1,"takes":[{"account":"a","units":"-1","on":"reserve","back":"failed"}]}',
    ])
      await assert.rejects(
        runSql(writer.url, `SELECT mcp_ledger_reserve('${wrong}')`),
        { code: '22023' },
        wrong,
      );
    await app.close();
  });
});
