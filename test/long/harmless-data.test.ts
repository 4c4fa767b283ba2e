/**
 * No span is lost in silence, no store replaced and no approval forged: what other files try in detail, each once by the
 * package as it is published and installed.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type CollectProcess, startCollect } from '../support/collect-process.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from '../support/held-call.ts';
import { post } from '../support/http-post.ts';
import { Installed } from '../support/installed.ts';
import {
  applyRoles,
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from '../support/postgres-server.ts';
import { spanRequest } from '../support/span-requests.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

type Policy = typeof import('../../src/entries/policy.ts');
type Execution = typeof import('../../src/entries/execution.ts');

/** For what waits between its attempts. */
const PATIENCE_MS = 90_000;
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

let installed: Installed;
before(async () => {
  installed = await Installed.start();
});
after(() => installed?.[Symbol.asyncDispose]());

test('lost spans are told once, with their number, the reason and what keeps such spans', async () => {
  const register = ['--import', 'mcp-observatory/register'];
  const code = `import { trace } from '@opentelemetry/api';
    for (let i = 0; i < 5000; i += 1) trace.getTracer('app').startSpan('work').end();
    console.log('done');`;
  const ended = await installed.program(code, register, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_METRICS_EXPORTER: 'none',
  });
  assert.deepEqual([ended.code, ended.stdout], [0, 'done\n'], ended.stderr);
  const told = ended.stderr.split('\n').filter((line) => /spans? w(?:as|ere) dropped/.test(line));
  assert.equal(told.length, 1, ended.stderr);
  assert.match(told[0] ?? '', /5000 spans were dropped.* because .*MCP_OBSERVATORY_SPOOL/);
});

describe('a database', { skip: noPostgres() || (findPsql() === undefined && 'no psql') }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.stop());

  /** An empty database with the tables that the package makes. */
  const migrated = async () => {
    const url = await server.createDatabase();
    const { code, stderr } = await installed.command('db', 'migrate', '--database-url', url);
    assert.equal(code, 0, stderr);
    return url;
  };
  const stored = async (url: string) =>
    Number((await runSql(url, 'SELECT count(*) AS n FROM mcp_traces'))[0]?.n);
  const send = async (collector: CollectProcess, parts: object = {}, count = 100) => {
    const answer = await post(`${collector.http}/v1/traces`, PROTOBUF, spanRequest(count, parts).body);
    assert.deepEqual([answer.status, answer.body.length], [200, 0], 'taken, and no span is rejected');
  };
  const collect = (url: string) =>
    startCollect(url, ['--spool', tempDir(), '--no-migrate'], [], installed.cli);

  test('that takes no row for a check of somebody else, or has no partition, loses none', async () => {
    const url = await migrated();
    const [part] = await runSql(
      url,
      `SELECT relname AS name, pg_get_expr(relpartbound, oid) AS bound FROM pg_class
       WHERE relispartition AND relname = 'mcp_traces_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')`,
    );
    assert.ok(part);
    const faults = [
      {
        make: 'ADD CONSTRAINT theirs CHECK (false) NOT VALID',
        undo: 'DROP CONSTRAINT theirs',
        says: /takes no rows.*"theirs"/,
      },
      {
        make: `DETACH PARTITION ${part.name}; ALTER TABLE mcp_traces DETACH PARTITION mcp_traces_default`,
        undo: `ATTACH PARTITION ${part.name} ${part.bound};
          ALTER TABLE mcp_traces ATTACH PARTITION mcp_traces_default DEFAULT`,
        says: /no partition of relation "mcp_traces" found/,
      },
    ];
    for (const { make, undo, says } of faults) {
      const before = await stored(url);
      await using collector = await collect(url);
      await send(collector);
      await waitUntil(async () => (await stored(url)) === before + 100);
      await runSql(url, `ALTER TABLE mcp_traces ${make}`);
      await send(collector);
      await waitUntil(() => says.test(collector.log()));
      await runSql(url, `ALTER TABLE mcp_traces ${undo}`);
      await waitUntil(async () => (await stored(url)) === before + 200, PATIENCE_MS);
    }
  });

  test('whose every connection was opened under a bad setting gets the spans over new ones', async () => {
    const url = await migrated();
    const patient = `${url}?options=-c%20statement_timeout%3D0`;
    const set = (what: string) =>
      runSql(patient, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${what}', current_database()); END $$`);
    // The collector looks at the database once before it is ready, with time enough. Then its connections are ended.
    await using collector = await collect(url);
    await set("SET statement_timeout = ''1ms''");
    await runSql(
      patient,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await send(collector, {}, 1000);
    await waitUntil(() => /statement timeout/.test(collector.log()), PATIENCE_MS);
    await set('RESET statement_timeout');
    await waitUntil(async () => (await stored(patient)) === 1000, PATIENCE_MS);
  });

  test('holds one row for a span that comes again with another start', async () => {
    const url = await migrated();
    await using collector = await collect(url);
    const noon = BigInt(new Date().setUTCHours(12, 0, 0, 0)) * 1_000_000n;
    for (const later of [0n, 1_000_000_000n]) {
      const startTimeUnixNano = String(noon + later);
      await send(collector, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), startTimeUnixNano }, 1);
    }
    await send(collector);
    await waitUntil(async () => (await stored(url)) > 100);
    assert.equal(await stored(url), 101);
  });

  test('has each of 50 fast calls once their exporter is shut down', async () => {
    const url = await server.createDatabase();
    const code = `import { instrument, PostgresSpanExporter } from 'mcp-observatory';
      const exporter = new PostgresSpanExporter({ connection: '${url}', migrate: true });
      const interceptor = instrument({ serviceName: 'fast', exporter });
      const call = { model: 'gpt-4o', prompt: 'p', response: 'r' };
      for (let i = 0; i < 50; i += 1) await interceptor.recordModelCall(call);
      await exporter.shutdown();`;
    const ended = await installed.program(code);
    assert.deepEqual([ended.code, ended.stdout, ended.stderr], [0, '', '']);
    assert.equal(await stored(url), 50);
  });

  test('that is far away and empty gets its tables and the spans of a program that ends at once', async () => {
    const code = `import { trace } from '@opentelemetry/api'; trace.getTracer('app').startSpan('work').end();`;
    let rows = 0;
    // A machine too busy to reach the database within the time of an exit is no failure.
    for (let starts = 0; starts < 5 && rows === 0; starts += 1) {
      const url = await server.createDatabase();
      const { port } = new URL(url);
      const proxy = await startProxy(Number(port), 100);
      const { code: ended } = await installed.program(code, ['--import', 'mcp-observatory/register'], {
        MCP_OBSERVATORY_DATABASE_URL: url.replace(`:${port}`, `:${proxy.port}`),
        MCP_OBSERVATORY_EXIT_DEADLINE_MS: undefined,
      });
      assert.equal(ended, 0);
      await proxy.close();
      rows = await stored(url).catch(() => 0);
    }
    assert.equal(rows, 1);
  });

  test('whose table was dropped gets it again by db migrate, and the spans that wait on disk', async () => {
    const url = await migrated();
    await using collector = await collect(url);
    await send(collector);
    await waitUntil(async () => (await stored(url)) === 100);
    await runSql(url, 'DROP TABLE mcp_traces CASCADE');
    await send(collector);
    const again = await installed.command('db', 'migrate', '--database-url', url);
    assert.match(again.stdout, /made again, empty and with no grants, what was missing: table mcp_traces/);
    await waitUntil(async () => (await stored(url)) === 100, PATIENCE_MS);
    assert.match(collector.log(), /mcp_traces.*(does not exist|missing)/);
  });

  test("gives the role that writes no way to an approval, the person's command does", async () => {
    const { PolicyGate } = await installed.entry<Policy>('policy');
    const { PostgresReviewQueue } = await installed.entry<Execution>('execution');
    const url = await migrated();
    applyRoles(url, installed.path('schema/roles.sql'));
    await using role = await createRole(url, 'IN ROLE mcp_observatory_writer');
    const queue = new PostgresReviewQueue({ connection: role.url });
    const gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
    try {
      const held = await gate.authorize(HELD_CALL);
      assert.equal(held.reasonCode, 'approval_required');
      const [id = ''] = /[0-9a-f-]{36}/u.exec(held.message) ?? [];
      const answer = await queue.submit({ fallbackReason: 'low_confidence', content: { answer: 'Fine.' } });
      for (const forgery of [
        `INSERT INTO mcp_approvals SELECT '${answer}', fingerprint FROM mcp_approvals LIMIT 1`,
        `INSERT INTO mcp_approvals (review_id, fingerprint, usable_ms) SELECT '${answer}', fingerprint, 1e15 FROM mcp_approvals`,
        `UPDATE mcp_approvals SET review_id = '${answer}'`,
        `UPDATE mcp_reviews SET status = 'approved', decided_by = 'ada'`,
        `DELETE FROM mcp_reviews`,
      ])
        await assert.rejects(runSql(role.url, forgery), { code: '42501' }, forgery);
      await assert.rejects(queue.submit({ fallbackReason: 'approval_required', content: {} }));
      const forged = await installed.command(
        'approvals',
        'approve',
        id,
        '--as',
        'ada',
        '--database-url',
        role.url,
      );
      assert.notEqual(forged.code, 0, forged.stdout);
      assert.equal((await gate.authorize(HELD_CALL)).reasonCode, 'approval_required');
      const approved = await installed.command(
        'approvals',
        'approve',
        id,
        '--as',
        'ada',
        '--database-url',
        url,
      );
      assert.equal(approved.code, 0, approved.stderr);
      assert.equal((await gate.authorize(HELD_CALL)).reasonCode, 'approved');
    } finally {
      gate.close();
      await queue.close();
    }
  });
});

test('a store folder that is not understood is refused and left as it is', async () => {
  const directory = join(tempDir(), 'pgdata');
  const migrate = () => installed.command('db', 'migrate', '--data-dir', directory);
  assert.equal((await migrate()).code, 0);
  const contents = () => readdirSync(directory, { recursive: true }).sort();
  const version = join(directory, 'PG_VERSION');
  renameSync(version, `${directory}.version`);
  const before = contents();
  const { code, stderr } = await migrate();
  assert.equal(code, 1, stderr);
  assert.match(stderr, /nothing in it was changed/);
  assert.deepEqual(contents(), before);
});

test('a start on a full disk leaves nothing that refuses the next one', {
  skip: process.getuid?.() !== 0 && 'only root makes a small disk',
}, async (t) => {
  const disk = tempDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return t.skip('no disk can be mounted');
  }
  try {
    const fill = join(disk, 'fill');
    assert.throws(() => writeFileSync(fill, Buffer.alloc(1e6)), { code: 'ENOSPC' });
    const migrate = () => installed.command('db', 'migrate', '--data-dir', join(disk, 'pgdata'));
    const full = await migrate();
    assert.equal(full.code, 1, full.stdout);
    rmSync(fill);
    execFileSync('mount', ['-o', 'remount,size=1g', disk], { stdio: 'ignore' });
    const next = await migrate();
    assert.equal(next.code, 0, next.stderr);
  } finally {
    execFileSync('umount', ['-l', disk]);
  }
});
