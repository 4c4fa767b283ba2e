import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../src/base/index.ts';
import { commandIo, findDatabaseUrl } from '../src/cli/command-line/index.ts';
import { dbCommand } from '../src/cli/db.ts';
import { DurableSpanProcessor } from '../src/durable/index.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { LATEST_MIGRATION, MIGRATIONS } from '../src/postgres/migrations.ts';
import { exportSpans } from './support/export.ts';
import { manySpans } from './support/many-spans.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { spanWith } from './support/spans.ts';

const folder = mkdtempSync(join(tmpdir(), 'observatory-db-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('db, embedded', () => {
  const dataDir = join(folder, 'a', 'pgdata');

  test('status where there is no database says so and makes none', async () => {
    await assert.rejects(db(['status', '--data-dir', dataDir]), {
      code: 'DATABASE_UNREACHABLE',
      message: /no embedded database in .*pgdata.*db migrate/,
    });
    assert.equal(existsSync(dataDir), false);
  });

  test('migrate makes the tables, then finds them up to date', async () => {
    const first = await db(['migrate', '--data-dir', dataDir]);
    // A package that was prepared for publishing brings an empty store, migrated already.
    const isPrepared = existsSync(packageFile('dist/lib/empty-store.br'));
    const done = isPrepared ? 'up to date' : `applied ${MIGRATIONS.map(({ name }) => name).join(', ')}`;
    assert.deepEqual(
      [first.code, first.stdout],
      [0, `${dataDir}: ${done}; schema version ${LATEST_MIGRATION}\n`],
    );
    const again = await db(['migrate', '--data-dir', dataDir, '--json']);
    assert.deepEqual(JSON.parse(again.stdout), {
      database: dataDir,
      kind: 'pglite',
      applied: [],
      remade: [],
      schema_version: LATEST_MIGRATION,
    });
  });

  test('status counts what is in it and in a spool', () => assertStatus({ dataDir }, dataDir, 'pglite'));

  test('status refuses a folder that is no spool', async () => {
    await assert.rejects(db(['status', '--data-dir', dataDir, '--spool', join(folder, 'absent')]), {
      code: 'INVALID_OPTION',
      message: /absent cannot be read: ENOENT/,
    });
  });

  test('a data directory that another process uses is refused until that process ends, however it ends', async () => {
    const program = fileURLToPath(new URL('./support/hold-database-process.js', import.meta.url));
    const holder = spawn(process.execPath, [program, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = new Promise((resolve) => holder.once('exit', resolve));
    try {
      const lines = createInterface({ input: holder.stdout })[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value, 'open');
      await assert.rejects(openDatabase({ dataDir }), {
        code: 'DATABASE_UNREACHABLE',
        message: new RegExp(`in use by process ${holder.pid} on ${hostname()}`),
      });
    } finally {
      holder.kill('SIGKILL');
      await exited;
    }
    await using database = await openDatabase({ dataDir });
    assert.equal((await database.query('SELECT 1 AS one')).rows[0]?.one, 1);
    await assert.rejects(openDatabase({ dataDir }), { code: 'DATABASE_UNREACHABLE' });
    await database.close();
    await database.close();
    assert.deepEqual(
      readdirSync(dirname(dataDir)).filter((name) => name.includes('.lock.')),
      [],
      'no lock is left',
    );
  });

  test('of many that open a data directory at once, one at the most gets it', async () => {
    const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => openDatabase({ dataDir })));
    const open = attempts.filter((attempt) => attempt.status === 'fulfilled');
    for (const { value } of open) await value.close();
    assert.ok(open.length <= 1);
  });

  test('status of a database without the schema exits with 1 and says what to run', async () => {
    {
      await using database = await openDatabase({ dataDir });
      await database.query('DROP SCHEMA public CASCADE');
      await database.query('CREATE SCHEMA public');
    }
    const { code, stdout } = await db(['status', '--data-dir', dataDir]);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /schema +version 0, code knows \d+: not there\. Run: npx mcp-observatory db migrate/,
    );
  });
});

describe('db, with a server', { skip: noPostgres() }, () => {
  let server: Promise<PostgresServer> | undefined;
  const newDatabase = async () => {
    server ??= startPostgres();
    return (await server).createDatabase();
  };
  const newMigrated = async () => {
    server ??= startPostgres();
    return (await server).createMigrated();
  };
  after(async () => (await server)?.stop());

  test('the flag beats MCP_OBSERVATORY_DATABASE_URL, which beats DATABASE_URL', async () => {
    const [flag, own, common] = [await newDatabase(), await newDatabase(), await newDatabase()];
    const env = { MCP_OBSERVATORY_DATABASE_URL: own, DATABASE_URL: common };
    assert.equal((await db(['migrate', '--database-url', flag], env)).code, 0);
    assert.deepEqual(await Promise.all([flag, own, common].map(hasTable)), [true, false, false]);
    assert.equal((await db(['migrate'], env)).code, 0);
    assert.deepEqual(await Promise.all([flag, own, common].map(hasTable)), [true, true, false]);
    assert.equal((await db(['migrate'], { MCP_OBSERVATORY_DATABASE_URL: '', DATABASE_URL: common })).code, 0);
    assert.deepEqual(await Promise.all([flag, own, common].map(hasTable)), [true, true, true]);
  });

  test('status counts what is in it and in a spool', async () => {
    const url = await newMigrated();
    await assertStatus({ url }, url, 'postgres');
  });

  test('no output holds the password', async () => {
    const url = new URL(await newDatabase());
    url.password = 'hunter2';
    for (const args of [['migrate'], ['migrate', '--json'], ['status'], ['status', '--json']]) {
      const { code, stdout } = await db([...args, '--database-url', url.href]);
      assert.equal(code, 0);
      assert.ok(stdout.includes(`postgresql://postgres@${url.host}${url.pathname}`), stdout);
      assert.ok(!stdout.includes('hunter2'));
    }
  });

  test('status of an empty server and of one that is ahead exits with 1', async () => {
    const url = await newDatabase();
    const missing = await db(['status', '--database-url', url, '--json']);
    assert.deepEqual([missing.code, JSON.parse(missing.stdout).state], [1, 'missing']);
    await db(['migrate', '--database-url', url]);
    await runSql(url, `INSERT INTO mcp_observatory_migrations (id, name) VALUES (99, 'future')`);
    const ahead = await db(['status', '--database-url', url]);
    assert.equal(ahead.code, 1);
    assert.match(ahead.stdout, /version 99, code knows \d+: newer than this version/);
    await assert.rejects(db(['migrate', '--database-url', url]), { code: 'DATABASE_SCHEMA_TOO_NEW' });
  });

  test('prune says what it would drop, drops it, and then finds nothing', async () => {
    const url = await newMigrated();
    const old = 'mcp_traces_20250101';
    await runSql(
      url,
      `CREATE TABLE ${old} PARTITION OF mcp_traces FOR VALUES FROM ('2025-01-01 00:00Z') TO ('2025-01-02 00:00Z')`,
    );
    const prune = async (...more: string[]) => {
      const { stdout } = await db(['prune', '--older-than', '30d', '--json', '--database-url', url, ...more]);
      const { dropped, deleted_rows: deleted } = JSON.parse(stdout) as Record<string, unknown>;
      return { dropped, deleted };
    };
    assert.deepEqual(await prune('--dry-run'), { dropped: [old], deleted: 0 });
    assert.deepEqual(await prune(), { dropped: [old], deleted: 0 });
    assert.deepEqual(await prune(), { dropped: [], deleted: 0 });
    const text = await db(['prune', '--older-than', '8w', '--database-url', url]);
    assert.match(
      text.stdout,
      /dropped 0 partitions older than \d{4}-.*; 0 rows deleted; 0 ended reviews deleted/,
    );
  });

  test('prune deletes reviews that ended before, and none that is open, however old', async () => {
    const url = await newMigrated();
    await runSql(
      url,
      `INSERT INTO mcp_reviews (review_id, status, created_at, expires_at, fallback_reason, content, claim_token,
          claimed_by, claimed_at, lease_expires_at, decided_by, decided_at)
        SELECT gen_random_uuid(), status, now() - age, now() + expiry, 'x', '1', 1, 'ada', now(), now(),
          CASE WHEN status IN ('approved', 'rejected') THEN 'ada' END,
          CASE WHEN status NOT IN ('pending', 'claimed') THEN now() - ended END
        FROM (VALUES
          ('approved', interval '50 days', interval '40 days', interval '-49 days'),
          ('rejected', '50 days', '31 days', '-49 days'),
          ('expired', '50 days', '31 days', '-49 days'),
          ('approved', '50 days', '29 days', '-49 days'),
          ('expired', '50 days', '1 day', '-49 days'),
          ('pending', '400 days', '0', '1 day'),
          ('claimed', '400 days', '0', '1 day'),
          ('pending', '300 days', '0', '-200 days')) AS r (status, age, ended, expiry)`,
    );
    const left = async () => {
      const rows = await runSql(url, 'SELECT status FROM mcp_reviews ORDER BY status');
      return rows.map(({ status }) => status);
    };
    const prune = async (age: string, ...more: string[]) => {
      const args = ['prune', '--older-than', age, '--json', '--database-url', url, ...more];
      return (JSON.parse((await db(args)).stdout) as Record<string, unknown>).deleted_reviews;
    };
    assert.equal(await prune('30d', '--dry-run'), 3);
    const text = await db(['prune', '--older-than', '30d', '--dry-run', '--database-url', url]);
    assert.match(text.stdout, /would drop 0 .*; 3 ended reviews to be deleted/);
    assert.equal((await left()).length, 8, 'a dry run changes nothing');
    assert.equal(await prune('30d'), 3);
    // What nobody decided in time is marked now, and old enough later.
    assert.deepEqual(await left(), ['approved', 'claimed', 'expired', 'expired', 'pending']);
    assert.equal(await prune('30d'), 0);
    await runSql(url, `ALTER TABLE mcp_reviews DISABLE TRIGGER mcp_reviews_keep_decided`);
    await runSql(
      url,
      `UPDATE mcp_reviews SET decided_at = now() - interval '31 days' WHERE status = 'expired'`,
    );
    assert.equal(await prune('30d'), 2);
    assert.deepEqual(await left(), ['approved', 'claimed', 'pending']);
  });

  async function hasTable(url: string): Promise<boolean> {
    const [row] = await runSql(url, `SELECT to_regclass('mcp_traces') IS NOT NULL AS present`);
    return row?.present === true;
  }
});

test('bad usage is reported with the remedy', async () => {
  await assert.rejects(db([]), { code: 'INVALID_OPTION' });
  await assert.rejects(db(['drop']), {
    code: 'INVALID_OPTION',
    message: /Expected one subcommand, migrate, .*got 'drop'/,
  });
  await assert.rejects(db(['prune']), { code: 'INVALID_OPTION', message: /--older-than 30d/ });
  for (const age of ['30', '0d', '1.5d', '1y', '']) {
    await assert.rejects(db(['prune', '--older-than', age]), { code: 'INVALID_OPTION' }, age);
  }
  await assert.rejects(db(['status', '--nonsense']), { code: 'INVALID_OPTION', message: /--nonsense/ });
  await assert.rejects(db(['status', '--database-url', 'nonsense']), { code: 'INVALID_OPTION' });
});

test('a password in --database-url is told to be seen by others, once and without it', async () => {
  const told = async (url: string) => {
    const written: string[] = [];
    await findDatabaseUrl(
      { 'database-url': url },
      { env: {}, stderr: { writeLine: (line: string) => written.push(line) } as never },
    );
    return written.join();
  };
  for (const url of ['postgresql://app:s3cret@db/x', 'postgres://db/x?sslmode=require&password=s3cret'])
    assert.match(
      await told(url),
      /^(?!.*s3cret)mcp-observatory: --database-url holds a password, .* PGPASSWORD/,
      url,
    );
  for (const url of ['postgresql://app@db:5432/x', 'postgresql://app:@db/a:b@c', 'nonsense'])
    assert.equal(await told(url), '', url);
});

/** Fills a migrated database and reads its status. */
async function assertStatus(
  place: { url: string } | { dataDir: string },
  database: string,
  kind: string,
): Promise<void> {
  const flags = 'url' in place ? ['--database-url', place.url] : ['--data-dir', place.dataDir];
  const empty = await db(['status', ...flags]);
  assert.equal(empty.code, 0);
  assert.match(empty.stdout, /^spans +0$/m);

  await fill(place);
  const directory = join(folder, `spool of ${kind}`);
  await fillSpool(directory);
  const json = await db(['status', ...flags, '--spool', directory, '--json']);
  const status = JSON.parse(json.stdout) as Record<string, unknown>;
  const {
    spool,
    server_version: version,
    table_bytes: table,
    index_bytes: index,
    bytes_per_span: perSpan,
    partitions,
    default_partition_rows: inDefault,
    dead_rows: deadRows,
    dead_share: deadShare,
    lag_seconds: lag,
    ...rest
  } = status;
  assert.equal((partitions as unknown[]).length, 5);
  assert.deepEqual([typeof inDefault, typeof deadRows, typeof deadShare], ['number', 'number', 'number']);
  // The spans ended on 2026-11-18.
  const expected = (Date.now() - Date.parse('2026-11-18T11:06:42Z')) / 1000;
  assert.ok(Math.abs(Number(lag) - expected) < 3600, `${lag} s, expected ${expected}`);
  assert.deepEqual(rest, {
    database,
    kind,
    state: 'current',
    missing: [],
    schema_version: LATEST_MIGRATION,
    code_version: LATEST_MIGRATION,
    rows: 3,
    ahead_rows: 0,
    model_calls: 0,
    untemplated_calls: 0,
    first_start_time: '2026-11-18T11:06:40.000001Z',
    last_start_time: '2026-11-18T11:06:42.000001Z',
    services: [
      { service: 'billing', rows: 2 },
      { service: 'search', rows: 1 },
    ],
    models: [
      { model: null, rows: 2 },
      { model: 'gpt-4o', rows: 1 },
    ],
  });
  assert.match(String(version), /^\d+/);
  assert.equal(perSpan, Math.round((Number(table) + Number(index)) / 3));
  const { bytes, oldest, ...counts } = spool as Record<string, unknown>;
  assert.deepEqual(counts, { spans: 7, files: 1, unreadable_bytes: 0, refused_bytes: 0 });
  assert.ok(Number(bytes) > 100 && Date.parse(String(oldest)) <= Date.now());
  const text = (await db(['status', ...flags, '--spool', directory])).stdout;
  assert.match(text, /^spans +3$/m);
  assert.match(text, /^services +billing 2, search 1$/m);
  assert.match(text, /^models +\(none\) 2, gpt-4o 1$/m);
  assert.match(text, /^spool +7 spans wait in 1 files, .*oldest from 20/m);
  assert.match(text, /^lag +\d+\.\d s since the newest span ended$/m);
}

/** Runs the command as the shell would. */
async function db(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string }> {
  const stdout = new PassThrough();
  const io = commandIo({ stdin: Readable.from([]), stdout, stderr: new PassThrough(), env });
  const code = await dbCommand.run(args, io);
  stdout.end();
  return { code, stdout: await stdout.setEncoding('utf8').reduce((all, chunk) => all + chunk, '') };
}

/** Leaves seven spans in a spool, as a program does while its database is down. */
async function fillSpool(directory: string): Promise<void> {
  const down = new PostgresSpanExporter({ connection: 'postgresql://nobody@127.0.0.1:1/none' });
  const processor = new DurableSpanProcessor({ exporter: down, spool: { directory } });
  for (const span of manySpans(7)) processor.onEnd(span);
  await processor.shutdown();
}

async function fill(place: { url: string } | { dataDir: string }): Promise<void> {
  await using database = await openDatabase(place);
  await migrate(database);
  await using exporter = new PostgresSpanExporter({ connection: database });
  const spans = [
    spanWith({ 'gen_ai.request.model': 'gpt-4o' }, { service: 'billing' }),
    spanWith({}, { service: 'billing' }),
    spanWith({}, { service: 'search' }),
  ].map((span, i) =>
    Object.assign(span, { startTime: [1_795_000_000 + i, 1000], endTime: [1_795_000_000 + i, 2000] }),
  );
  assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
}
