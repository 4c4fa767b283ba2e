import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { ObservatoryError } from '../src/base/errors.ts';
import { migrate, type Queryable } from '../src/postgres/index.ts';
import { countRows, testDatabases } from './support/databases.ts';
import {
  createRole,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';

/** Columns of the table of the Python package: those that ours has too, and others. */
const SHARED = `trace_id uuid, span_id uuid, parent_span_id uuid, service text, model text, tool_name text,
  start_time timestamp, end_time timestamp, prompt_tokens int, completion_tokens int, cost_usd float, retries int,
  fallback_used boolean, method text, session_id text, policy_decision text`;
const OTHERS =
  'request_id text, composite_risk_score float, exec_token_ttl_ms int, exec_token_verified boolean';

/** The forms it is found in. */
const FORMS = {
  'without a key': `CREATE TABLE mcp_traces (${SHARED}, ${OTHERS}); CREATE INDEX mcp_traces_prompt_hash ON mcp_traces (method)`,
  'with a primary key': `CREATE TABLE mcp_traces (${SHARED}, ${OTHERS}, PRIMARY KEY (trace_id, span_id))`,
  'with a serial key and an index named as ours': `CREATE TABLE mcp_traces (id serial PRIMARY KEY, ${SHARED}, ${OTHERS});
    CREATE INDEX mcp_traces_run_id ON mcp_traces (trace_id); CREATE INDEX mcp_traces_default_pkey ON mcp_traces (span_id)`,
  'with the columns of ours only': `CREATE TABLE mcp_traces (${SHARED}, span_kind text)`,
} as const;

const TRACE = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
const SPAN = '00000000-0000-0000-b7ad-6b7169203331';
const ROW = `INSERT INTO mcp_traces (trace_id, span_id, service, model, start_time, end_time, prompt_tokens, cost_usd, method)
  VALUES ('${TRACE}', '${SPAN}', 'svc', 'gpt-4o', '2026-01-02 03:04:05.678901', '2026-01-02 03:04:06', 12, 0.1, 'tools/call')`;
const ROWS = `SELECT service, span_name, span_kind, status_code, prompt_tokens, cost_usd::text AS cost, attributes::text, resource::text,
    to_char(start_time AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS start,
    to_char(end_time AT TIME ZONE 'UTC', 'HH24:MI:SS') AS end, ingest_xid IS NOT NULL AS is_counted
  FROM mcp_traces ORDER BY service NULLS LAST`;

for (const databases of testDatabases()) {
  describe(`the table of the Python package on ${databases.name}`, { skip: databases.skip }, () => {
    after(() => databases[Symbol.asyncDispose]());
    const exec = async (db: Queryable, text: string) => {
      for (const statement of text.split(';')) await db.query(statement);
    };

    for (const [form, ddl] of Object.entries(FORMS)) {
      test(`${form}: its rows are taken over, with times as UTC, and its INSERT goes on`, async () => {
        const db = await databases.create();
        await exec(db, ddl);
        await db.query(ROW);
        const { version } = await migrate(db);
        assert.ok(version > 0);
        await db.query(ROW.replace(SPAN, SPAN.replace('1', '2')).replace("'svc'", "'svd'"));
        const { rows } = await db.query(ROWS);
        const { service, start, attributes: _kept, ...first } = rows[0] ?? {};
        assert.deepEqual([service, start], ['svc', '2026-01-02 03:04:05.678901']);
        // The server's time zone is what it makes of a time without one that is written now.
        const { service: next, start: _start, end: _end, attributes, ...second } = rows[1] ?? {};
        assert.deepEqual([next, attributes], ['svd', '{}']);
        assert.deepEqual(first, {
          ...second,
          span_name: 'tools/call',
          span_kind: 'internal',
          status_code: 'unset',
          prompt_tokens: 12,
          cost: '0.1',
          resource: '{}',
          end: '03:04:06',
          is_counted: true,
        });
        assert.equal((await db.query('SELECT FROM mcp_traces_first')).rows.length, 1);
        assert.deepEqual(await migrate(db), { applied: [], remade: [], version });
      });
    }

    test('what only it has stays in columns and is in attributes, also of rows that come later', async () => {
      const db = await databases.create();
      await exec(db, FORMS['without a key']);
      const insert = (id: number, names: string, values: string) =>
        `INSERT INTO mcp_traces (trace_id, span_id, start_time, service, ${names}) VALUES
          ('${TRACE}', '00000000-0000-0000-0000-00000000000${id}', now() AT TIME ZONE 'UTC', 's${id}', ${values})`;
      const names = 'request_id, composite_risk_score, exec_token_ttl_ms';
      await db.query(insert(1, names, `'r-1', 0.30000000000000004, 7`));
      await migrate(db);
      await db.query(insert(2, names, `'r-2', NULL, 8`));
      const { rows } = await db.query(
        'SELECT request_id, exec_token_ttl_ms AS ttl, attributes::text AS attributes FROM mcp_traces ORDER BY service',
      );
      assert.deepEqual(
        rows.map(({ request_id, ttl, attributes }) => [request_id, ttl, JSON.parse(String(attributes))]),
        [
          [
            'r-1',
            7,
            {
              'observatory.request_id': 'r-1',
              'observatory.composite_risk_score': 0.30000000000000004,
              'observatory.exec_token_ttl_ms': 7,
            },
          ],
          ['r-2', 8, { 'observatory.request_id': 'r-2', 'observatory.exec_token_ttl_ms': 8 }],
        ],
      );
    });

    test('a name that no index takes is in attributes alone', async () => {
      const db = await databases.create();
      await exec(db, FORMS['without a key']);
      await migrate(db);
      const { rows } = await db.query(`INSERT INTO mcp_traces (model, service, prompt_tokens, start_time)
        SELECT string_agg(md5(n::text), ''), 'svc', 3, now() FROM generate_series(1, 500) AS n
        RETURNING model, service, prompt_tokens, length(attributes ->> 'observatory.model') AS kept`);
      assert.deepEqual({ ...rows[0] }, { model: null, service: 'svc', prompt_tokens: 3, kept: 16_000 });
    });

    test('rows without ids or times, and two of one id, are all kept', async () => {
      const db = await databases.create();
      await exec(db, FORMS['without a key']);
      await db.query(ROW);
      await db.query(`INSERT INTO mcp_traces (trace_id, span_id, service, start_time, cost_usd)
        SELECT trace_id, span_id, 'again', start_time, 'NaN' FROM mcp_traces`);
      await db.query(`INSERT INTO mcp_traces (tool_name) VALUES ('search')`);
      await migrate(db);
      const { rows } = await db.query(ROWS);
      assert.deepEqual(
        rows.map((row) => [row.span_name, row.cost, row.start]),
        [
          ['unknown', 'NaN', '2026-01-02 03:04:05.678901'],
          ['tools/call', '0.1', '2026-01-02 03:04:05.678901'],
          ['search', null, '1970-01-01 00:00:00.000000'],
        ],
      );
      const moved = rows.filter(({ attributes }) => String(attributes).includes('span_id_of_another_row'));
      assert.equal(moved.length, 1);
    });

    test('a value that does not fit is refused, and everything is as it was', async () => {
      const db = await databases.create();
      await db.query(
        'CREATE TABLE mcp_traces (trace_id uuid, span_id uuid, start_time timestamp, end_time timestamp, retries bigint)',
      );
      await db.query('INSERT INTO mcp_traces (retries) VALUES (1099511627776)');
      await assert.rejects(migrate(db), { code: 'DATABASE_REFUSED', message: /out of range/ });
      assert.equal(await countRows(db), 1);
      const { rows } = await db.query(
        `SELECT to_regclass('mcp_traces_first') AS a, to_regclass('mcp_runs') AS b`,
      );
      assert.deepEqual({ ...rows[0] }, { a: null, b: null });
    });
  });
}

describe('a migration that fails', { skip: noPostgres() }, () => {
  let server: Promise<PostgresServer> | undefined;
  const newDatabase = async () => {
    server ??= startPostgres();
    return (await server).createDatabase();
  };
  after(async () => (await server)?.stop());

  const tryMigrate = async (connectionString: string) => {
    const pool = new pg.Pool({ connectionString });
    try {
      return await migrate(pool).catch((error: unknown) => error);
    } finally {
      await pool.end();
    }
  };
  /** Every relation, column, function and right of the database, and the rows of the table. */
  const snapshot = (url: string) =>
    runSql(
      url,
      `SELECT relname AS name, relkind::text AS kind, relacl::text AS acl, reltuples::text AS rows FROM pg_class WHERE relnamespace = 'public'::regnamespace
       UNION ALL SELECT attrelid::regclass || '.' || attname, atttypid::regtype::text, '', '' FROM pg_attribute JOIN pg_class ON oid = attrelid
         WHERE relnamespace = 'public'::regnamespace
       UNION ALL SELECT proname, 'function', proacl::text, '' FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       UNION ALL SELECT 'row', t::text, '', '' FROM mcp_traces t ORDER BY 1, 2`,
    );

  for (const inTheWay of [
    'TABLE mcp_traces_first (mine integer)',
    'VIEW mcp_prompt_template_changes AS SELECT 1 AS mine',
    'TABLE mcp_sessions (mine integer)',
    'FUNCTION mcp_runs_names(a text[], b text[]) RETURNS text[] LANGUAGE sql AS $$ SELECT a $$',
    'VIEW mcp_tool_tax AS SELECT 1 AS mine',
    'TABLE mcp_approvals (mine integer)',
    'FUNCTION mcp_approvals_announced(a_id uuid) RETURNS void LANGUAGE sql AS $$ $$',
  ]) {
    test(`because of a ${inTheWay.split(' ', 2).join(' ')} leaves the database as it was, and says so`, async () => {
      const url = await newDatabase();
      await runSql(url, `${FORMS['with a primary key']}; ${ROW}; GRANT INSERT ON mcp_traces TO PUBLIC`);
      await runSql(url, `CREATE ${inTheWay}`);
      const before = await snapshot(url);
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const error = await tryMigrate(url);
        assert.ok(ObservatoryError.isInstance(error), String(error));
        assert.equal(error.code, 'DATABASE_REFUSED');
        assert.match(error.message, /already exists.*in the way/);
        assert.deepEqual(await snapshot(url), before);
      }
      await runSql(url, `DROP ${inTheWay.split(/[ (]/, 2).join(' ')}`);
      assert.notDeepEqual(((await tryMigrate(url)) as { applied: string[] }).applied, []);
      assert.equal((await runSql(url, 'SELECT FROM mcp_traces')).length, 1);
    });
  }

  test('because its role does not own the table, or may make none, leaves it as it was', async () => {
    const url = await newDatabase();
    await runSql(url, `${FORMS['without a key']}; ${ROW}; REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
    await using role = await createRole(url, '');
    const before = await snapshot(url);
    for (const right of ['USAGE', 'USAGE, CREATE']) {
      await runSql(url, `GRANT ${right} ON SCHEMA public TO ${role.name}`);
      const error = await tryMigrate(role.url);
      assert.ok(ObservatoryError.isInstance(error), String(error));
      assert.deepEqual(
        [error.code, /permission denied|must be owner/.test(error.message)],
        ['DATABASE_REFUSED', true],
      );
      assert.deepEqual(await snapshot(url), before);
    }
  });

  test('a role that was granted INSERT on the table of before goes on writing', async () => {
    const url = await newDatabase();
    await runSql(url, FORMS['with a primary key']);
    await using role = await createRole(url, '');
    await runSql(url, `GRANT INSERT ON mcp_traces TO ${role.name}`);
    await tryMigrate(url);
    await runSql(role.url, ROW);
    await assert.rejects(runSql(role.url, 'SELECT * FROM mcp_traces'), { code: '42501' });
    assert.equal((await runSql(url, 'SELECT FROM mcp_traces')).length, 1);
  });
});
