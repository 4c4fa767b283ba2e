/** Every command on a database that other programs share: nothing of theirs is touched, nothing of ours goes unasked. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMANDS } from '../src/cli/run-cli.ts';
import { OWN_TABLES } from '../src/postgres/own-tables.ts';
import { ROOT } from './support/consumer.ts';
import { Installed } from './support/installed.ts';
import { noPostgres, type PostgresServer, runSql, startOwnPostgres } from './support/postgres-server.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const ID = '00000000-0000-4000-8000-000000000001';
/** `up` deletes for the first time ten seconds after its start. */
const TIDIED_MS = 14_000;
const AT_ONCE = 4;
/** A command that should have ended is ended, so that its case fails and the others run. */
const MAX_RUN_MS = 120_000;
const ARCHIVE = tempDir();

let installed: Installed;

/** Which of our spans are in the database, by the age they were made with. */
const SPANS = ['20 days', '2 days', 'today', 'ahead'] as const;

interface Case {
  readonly args: readonly string[];
  /** How the database is named. @defaultValue `DATABASE_URL` */
  readonly by?: 'flag' | 'MCP_OBSERVATORY_DATABASE_URL' | 'DATABASE_URL';
  /** Whether it has tables of ours. @defaultValue true */
  readonly isMigrated?: boolean;
  readonly stdin?: string;
  /** A service, ended after this time. */
  readonly runsMs?: number;
  /** @defaultValue 0; null for any */
  readonly code?: number | null;
  /** @defaultValue that it says which database `DATABASE_URL` names */
  readonly says?: RegExp;
  /** Spans of ours that are left. @defaultValue all */
  readonly left?: readonly (typeof SPANS)[number][];
}

const SERVING = { runsMs: 1500 } as const;
const TIDYING = { runsMs: TIDIED_MS } as const;
const NOT_USED = /DATABASE_URL is set and not used, .* use --database-url or MCP_OBSERVATORY_DATABASE_URL/;
const ANY_PORT = ['--port', '0'];
const UP = [...ANY_PORT, '--http-port', '0', '--grpc-port', '0', '--json'];
/** It says nothing of a database that it does not use. */
const NO_DATABASE = { says: /^(?!.*DATABASE_URL)/s, code: null } as const;
/** What a person asked for is not there. */
const ABSENT = { code: 1 } as const;

/** Of each command and subcommand, at least one case. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  demo: [{ args: [], says: NOT_USED, isMigrated: false }],
  score: [{ args: [], stdin: '{"prompt":"2 + 2?","answer":"4"}\n', ...NO_DATABASE }],
  run: [{ args: ['--provider', 'openai', 'Hello'], ...NO_DATABASE }],
  ask: [{ args: ['Hello'], ...NO_DATABASE }],
  hook: [{ args: ['codex'], stdin: '{}', ...NO_DATABASE }],
  setup: [{ args: ['--dry-run'], ...NO_DATABASE }],
  gate: [
    { args: ['lint', 'config/allowlist.json'], ...NO_DATABASE },
    { args: ['learn', '--since', '1d'], code: 2 },
    { args: ['what-if', 'config/allowlist.json', '--since', '1d'] },
  ],
  golden: [
    { args: ['list', 'goldens'], ...NO_DATABASE },
    { args: ['check', 'goldens', '--', process.execPath, '-e', '0'], ...NO_DATABASE },
    { args: ['from-trace', ID, '--out', join(tempDir(), 'golden.json')], ...ABSENT },
  ],
  doctor: [{ args: [], ...NO_DATABASE }],
  'approvals list': [{ args: [] }],
  'approvals show': [{ args: [ID], code: 2 }],
  'approvals approve': [{ args: [ID, '--as', 'ada'], code: null }],
  'approvals reject': [{ args: [ID, '--as', 'ada'], code: null }],
  'approvals revoke': [{ args: [ID, '--as', 'ada'], code: null }],
  'reviews list': [{ args: [] }],
  'reviews show': [{ args: [ID], ...ABSENT }],
  'reviews claim': [{ args: ['--as', 'ada'], code: null }],
  'reviews approve': [{ args: [ID, '--as', 'ada', '--token', '1'], code: null }],
  'reviews reject': [{ args: [ID, '--as', 'ada', '--token', '1'], code: null }],
  'reviews expire': [{ args: [] }],
  'runs list': [{ args: [] }],
  'runs show': [{ args: [ID], ...ABSENT }],
  'runs diff': [{ args: [ID, ID], ...ABSENT }],
  tax: [{ args: [] }],
  drift: [{ args: [], code: null }],
  templates: [{ args: [] }],
  mcp: [{ args: [], stdin: '' }],
  ui: [{ args: [...ANY_PORT], ...SERVING }],
  collect: [
    { args: ['--http', '127.0.0.1:0', '--grpc', 'off'], ...SERVING },
    { args: ['--http', '127.0.0.1:0', '--grpc', 'off'], ...SERVING, isMigrated: false },
  ],
  up: [
    { args: UP, ...TIDYING, says: NOT_USED, isMigrated: false },
    { args: UP, ...TIDYING, by: 'MCP_OBSERVATORY_DATABASE_URL', says: /^(?!.*deleting)/s },
    { args: UP, ...TIDYING, by: 'flag', says: /^(?!.*deleting)/s },
    {
      args: [...UP, '--max-size', '1m'],
      by: 'flag',
      code: 2,
      says: /--max-size deletes spans only together with --keep/,
    },
    {
      args: [...UP, '--keep', '10d'],
      ...TIDYING,
      by: 'flag',
      says: /deleting what is older than .* \(--keep\): 2 spans of mcp_traces, with 1 partition \(mcp_traces_\d{8}\); 2 rows of mcp_runs/,
      left: ['2 days', 'today'],
    },
    // The tables of the other programs are larger; only what a wrong clock dated is older than that.
    {
      args: [...UP, '--keep', '50w', '--max-size', '12m'],
      ...TIDYING,
      by: 'flag',
      says: /^(?!.*max-size).*: 1 span of mcp_traces; 1 row of mcp_runs/s,
      left: ['20 days', '2 days', 'today'],
    },
    {
      args: [...UP, '--keep', '50w', '--max-size', '1k'],
      ...TIDYING,
      by: 'flag',
      says: /more than --max-size; deleting what is older than .*: 1 span/,
      left: ['today'],
    },
  ],
  'db migrate': [{ args: [] }, { args: [], isMigrated: false }],
  'db check': [{ args: [] }],
  'db reprice': [{ args: [] }],
  'db status': [{ args: [] }, { args: [], isMigrated: false, code: 1 }],
  'db rollup': [{ args: [] }],
  'db prune': [
    { args: ['--older-than', '10d', '--dry-run'] },
    { args: ['--older-than', '10d'], left: ['2 days', 'today'] },
    { args: ['--older-than', '10d'], isMigrated: false, code: 1 },
    {
      args: ['--older-than', '10d', '--data-dir', join(tempDir(), 'pgdata')],
      code: 1,
      says: /no embedded database/,
    },
  ],
  'db archive': [
    { args: ['--older-than', '10d', '--to', tempDir(), '--dry-run'] },
    { args: ['--older-than', '10d', '--to', tempDir()], left: ['2 days', 'today', 'ahead'] },
  ],
  'db query': [{ args: ['SELECT count(*) FROM mcp_traces', '--archive', ARCHIVE] }],
};

/** What other programs have: old rows, names like ours, functions, and more bytes than we have. */
const THEIRS = `
CREATE TABLE app_orders (id int PRIMARY KEY, at timestamptz, total numeric);
INSERT INTO app_orders SELECT i, timestamptz '2001-01-01' + i * interval '1 hour', i FROM generate_series(1, 500) AS i;
CREATE TABLE app_blobs (i int, at timestamptz, blob text);
ALTER TABLE app_blobs ALTER COLUMN blob SET STORAGE EXTERNAL;
INSERT INTO app_blobs SELECT i, '2001-01-01', repeat(md5(i::text), 200) FROM generate_series(1, 1500) AS i;
CREATE TABLE app_events (at timestamptz NOT NULL, what text) PARTITION BY RANGE (at);
CREATE TABLE app_events_20200101 PARTITION OF app_events FOR VALUES FROM ('2020-01-01') TO ('2020-01-02');
INSERT INTO app_events VALUES ('2020-01-01 12:00', 'old');
CREATE TABLE mcp_orders (id int, started_at timestamptz);
INSERT INTO mcp_orders VALUES (1, '2001-01-01');
CREATE TABLE mcp_traces_late_arrivals (id int, start_time timestamptz);
INSERT INTO mcp_traces_late_arrivals VALUES (1, '2001-01-01');
CREATE FUNCTION app_total() RETURNS numeric LANGUAGE sql AS 'SELECT sum(total) FROM app_orders';
CREATE VIEW app_last AS SELECT max(at) FROM app_orders;
CREATE SCHEMA other;
CREATE TABLE other.mcp_traces (trace_id uuid, span_id uuid, start_time timestamptz, end_time timestamptz);
CREATE TABLE other.mcp_runs (trace_id uuid, started_at timestamptz, ended_at timestamptz);
CREATE TABLE other.mcp_sessions (session_id text, first_time timestamptz, last_time timestamptz);
CREATE TABLE other.mcp_reviews (review_id uuid, status text, decided_at timestamptz);
CREATE TABLE other.mcp_traces_20010101 (start_time timestamptz);
INSERT INTO other.mcp_traces SELECT gen_random_uuid(), gen_random_uuid(), '2001-01-01', '2001-01-01';
INSERT INTO other.mcp_runs SELECT gen_random_uuid(), '2001-01-01', '2001-01-01';
INSERT INTO other.mcp_sessions VALUES ('s', '2001-01-01', '2001-01-01');
INSERT INTO other.mcp_reviews VALUES (gen_random_uuid(), 'approved', '2001-01-01');
INSERT INTO other.mcp_traces_20010101 VALUES ('2001-01-01');`;

/** Partitions of two days, and a span of each age. */
const OURS = `
DO $$ DECLARE day timestamptz; BEGIN
  FOREACH day IN ARRAY ARRAY[now() - interval '20 days', now() - interval '2 days'] LOOP
    day := date_trunc('day', day, 'UTC');
    EXECUTE format('CREATE TABLE %I PARTITION OF mcp_traces FOR VALUES FROM (%L) TO (%L)',
      'mcp_traces_' || to_char(day AT TIME ZONE 'UTC', 'YYYYMMDD'), day, day + interval '1 day');
  END LOOP;
END $$;
INSERT INTO mcp_traces (trace_id, span_id, service, span_name, span_kind, status_code, scope, start_time, end_time,
    attributes, resource, events, links)
  SELECT gen_random_uuid(), gen_random_uuid(), 'shop', name, 'internal', 'unset', 's', at, at, '{}', '{}', '[]', '[]'
  FROM (VALUES ('20 days', now() - interval '20 days'), ('2 days', now() - interval '2 days'), ('today', now()),
    ('ahead', timestamptz '2554-07-21')) AS made (name, at);
INSERT INTO mcp_reviews (review_id, status, created_at, expires_at, fallback_reason, content, claim_token, decided_at)
  SELECT gen_random_uuid(), status, now() - interval '60 days', now() + expiry, 'x', '1', 1,
    CASE WHEN status = 'expired' THEN now() - interval '1 day' END
  FROM (VALUES ('expired', interval '-50 days'), ('pending', interval '1 day')) AS made (status, expiry);
SELECT mcp_runs_refresh();`;

describe('a database with the tables of other programs', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  const templates = { migrated: '', foreign: '' };
  let theirs: unknown;
  let copies = 0;
  const copyOf = async (template: string) => {
    copies += 1;
    const name = `shared_${copies}`;
    await runSql(server.url, `CREATE DATABASE ${name} TEMPLATE "${template}"`);
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    url.password = 'hunter2';
    return url.href;
  };
  const nameOf = (url: string) => new URL(url).pathname.slice(1);

  before(async () => {
    installed = await Installed.start();
    server = await startOwnPostgres();
    const foreign = await server.createDatabase();
    await runSql(foreign, THEIRS);
    templates.foreign = nameOf(foreign);
    const migrated = await copyOf(templates.foreign);
    assert.equal((await run(['db', 'migrate', '--database-url', migrated], {})).code, 0);
    const own = await runSql(migrated, OWN);
    assert.deepEqual(
      own.map(({ name }) => name),
      [...OWN_TABLES].sort(),
      'OWN_TABLES is what migrations make',
    );
    await runSql(migrated, OURS);
    templates.migrated = nameOf(migrated);
    const archived = await copyOf(templates.migrated);
    const archive = ['db', 'archive', '--older-than', '10d', '--to', ARCHIVE, '--database-url', archived];
    const { code, stderr } = await run(archive, {});
    assert.equal(code, 0, stderr);
    theirs = await snapshot(foreign);
  });
  after(async () => {
    await server?.stop();
    await installed?.[Symbol.asyncDispose]();
  });

  test('the cases name every command and subcommand', async () => {
    const named = Object.keys(CASES);
    for (const command of Object.keys(COMMANDS)) {
      assert.ok(
        named.some((name) => name.split(' ')[0] === command),
        `a case for ${command}`,
      );
      if (!named.some((name) => name.startsWith(`${command} `))) continue;
      const { stderr } = await run([command], {});
      const listed = /Expected one subcommand,? (.+?)(?:, and at most|, got)/.exec(stderr)?.[1] ?? '';
      const subcommands = listed.replace(' or query SQL', ', query').split(', ');
      assert.ok(subcommands.length > 1, stderr);
      for (const subcommand of subcommands) {
        assert.ok(named.includes(`${command} ${subcommand}`), `a case for ${command} ${subcommand}`);
      }
    }
  });

  describe('under each command nothing of theirs is touched, and nothing of ours goes unasked', {
    concurrency: AT_ONCE,
  }, () => {
    for (const [name, cases] of Object.entries(CASES)) {
      for (const one of cases) {
        const { args, by = 'DATABASE_URL', isMigrated = true } = one;
        const title = `${name} ${args.join(' ')} (${by}${isMigrated ? '' : ', no tables'})`;
        test(title, () => check(name, one));
      }
    }
  });

  async function check(name: string, one: Case): Promise<void> {
    const { args, by = 'DATABASE_URL', isMigrated = true, code = 0, left = SPANS } = one;
    const url = await copyOf(isMigrated ? templates.migrated : templates.foreign);
    const before = isMigrated ? await ownRows(url) : {};
    const flags = by === 'flag' ? ['--database-url', url] : [];
    const env = by === 'flag' ? {} : { [by]: url };
    const ended = await run([...name.split(' '), ...args, ...flags], env, one);
    if (code !== null) assert.equal(ended.code, code, ended.stderr);
    const named = `using the database of DATABASE_URL, postgresql://postgres@${new URL(url).host}/${nameOf(url)}\n`;
    if (one.says === undefined) assert.ok(ended.stderr.includes(named), ended.stderr);
    else assert.match(ended.stderr, one.says);
    assert.ok(!`${ended.stderr}${ended.stdout}`.includes('hunter2'), 'no password');
    assert.deepEqual(await snapshot(url), theirs);
    if (!isMigrated) {
      const isTold = ['db migrate', 'collect'].includes(name);
      assert.equal((await runSql(url, OWN)).length > 0, isTold, 'tables are made where that was asked for');
      return;
    }
    const spans = await runSql(url, 'SELECT span_name AS name FROM mcp_traces ORDER BY start_time');
    assert.deepEqual(
      spans.map((span) => span.name),
      left,
      ended.stderr,
    );
    if (left.length < SPANS.length) return;
    const rows = await ownRows(url);
    for (const [table, count] of Object.entries(before)) {
      assert.ok((rows[table] ?? 0) >= count, `${table} had ${count} rows and has ${rows[table]}`);
    }
  }

  test('register takes no DATABASE_URL', async () => {
    const url = await copyOf(templates.foreign);
    const program = "setTimeout(() => console.log('done'), 500)";
    const flags = ['--import', 'mcp-observatory/register'];
    const ended = await installed.program(program, flags, { DATABASE_URL: url });
    assert.deepEqual([ended.code, ended.stdout], [0, 'done\n'], ended.stderr);
    assert.deepEqual(await snapshot(url), theirs);
    assert.deepEqual(await runSql(url, OWN), []);
  });

  describe('where the search path finds tables of theirs before ours, nothing is read or written', {
    concurrency: AT_ONCE,
  }, () => {
    for (const command of [
      ['db', 'migrate'],
      ['db', 'status'],
      ['db', 'check'],
      ['db', 'rollup'],
      ['db', 'prune', '--older-than', '10d'],
      ['db', 'reprice', '--since', '30d'],
      ['db', 'archive', '--older-than', '10d', '--to', tempDir()],
      ['collect', '--http', '127.0.0.1:0', '--grpc', 'off'],
      ['up', ...UP, '--keep', '10d'],
    ]) {
      test(command.slice(0, 2).join(' '), async () => {
        const url = await copyOf(templates.migrated);
        await runSql(url, `ALTER DATABASE ${nameOf(url)} SET search_path = other, public`);
        const before = await ownRows(url);
        const { code, stderr } = await run([...command, '--database-url', url], {});
        assert.equal(code, 1, stderr);
        assert.match(stderr, /finds tables in several schemas.*mcp_runs.* in schema other.*DATABASE_REFUSED/);
        assert.deepEqual(await snapshot(url), theirs);
        assert.deepEqual(await ownRows(url), before);
      });
    }
  });
});

/** Tables of ours, in the schema that we use. */
const OWN = `SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
  AND relkind IN ('r', 'p') AND NOT relispartition AND relname LIKE 'mcp\\_%'
  AND relname NOT IN ('mcp_orders', 'mcp_traces_late_arrivals') ORDER BY 1`;

/** Rows of each table of ours. */
async function ownRows(url: string): Promise<Record<string, number>> {
  const counts = OWN_TABLES.map(
    (name) => `SELECT '${name}' AS name, count(*)::int AS rows FROM public.${name}`,
  );
  const rows = await runSql(url, counts.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, rows: count }) => [String(name), Number(count)]));
}

/** All that other programs have: what it is, and a hash of its rows. */
async function snapshot(url: string): Promise<unknown> {
  const relations = await runSql(
    url,
    `SELECT format('%I.%I', c.relnamespace::regnamespace, c.relname) AS name, c.relkind::text AS kind, c.relowner::text AS owner, c.relacl::text AS acl,
       (SELECT string_agg(attname || ' ' || atttypid::regtype, ',' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = c.oid AND attnum > 0) AS columns
     FROM pg_class c WHERE (c.relname LIKE 'app\\_%' AND c.relnamespace = 'public'::regnamespace)
       OR c.relname IN ('mcp_orders', 'mcp_traces_late_arrivals') OR c.relnamespace = to_regnamespace('other') ORDER BY 1`,
  );
  const tables = relations.filter(({ kind }) => kind === 'r' || kind === 'p');
  const rows = await runSql(
    url,
    tables
      .map(
        ({ name }) =>
          `SELECT '${name}' AS name, count(*)::int AS rows, sum(hashtextextended(t::text, 0))::text AS hash FROM ${name} t`,
      )
      .join(' UNION ALL '),
  );
  const functions = await runSql(
    url,
    `SELECT proname, md5(prosrc) AS hash FROM pg_proc WHERE proname LIKE 'app\\_%'`,
  );
  assert.ok(tables.length >= 10);
  return { relations, rows, functions };
}

/** The environment without what names a database or a back end. */
function bare(): NodeJS.ProcessEnv {
  const names = Object.entries(process.env).filter(([name]) => !/DATABASE_URL|^OTEL_|^PG|API_KEY/.test(name));
  return Object.fromEntries(names);
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the installed package in an empty folder; a service is ended after its time. */
async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { stdin = '', runsMs, says }: Pick<Case, 'stdin' | 'runsMs' | 'says'> = {},
): Promise<Ended> {
  const inRepository = args.some((arg) => arg.startsWith('config/') || arg === 'goldens');
  const child = spawn(process.execPath, [installed.cli, ...args], {
    cwd: inRepository ? ROOT : tempDir(),
    env: { ...bare(), ...env },
    stdio: 'pipe',
    timeout: MAX_RUN_MS,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      output[name] += chunk.toString();
    });
  }
  const exited = once(child, 'exit');
  child.stdin.end(stdin);
  if (runsMs !== undefined) {
    await Promise.race([waitUntil(() => output.stdout !== '', 60_000), exited]);
    await Promise.race([sleep(runsMs), exited]);
    // A busy machine is late. What it has begun to delete is deleted before it ends.
    if (says !== undefined) {
      const said = waitUntil(() => says.test(output.stderr), 40_000).catch(() => {});
      await Promise.race([said, exited]);
    }
    child.kill('SIGTERM');
  }
  const [code] = (await exited) as [number | null];
  return { code, ...output };
}
