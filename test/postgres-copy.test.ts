import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import pg from 'pg';
import { COLUMNS } from '../src/base/fields.ts';
import { PostgresSpanExporter, type Queryable } from '../src/postgres/index.ts';
import type { RefusedSpansError } from '../src/postgres/store-exporter.ts';
import { countRows, readRows } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { createRole, noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { randomSpans } from './support/random-spans.ts';
import { sized } from './support/size.ts';
import { altered, spanWith } from './support/spans.ts';

/** Every column as text, converted by the server so that no driver is involved. */
const AS_TEXT = `SELECT (${COLUMNS.join(', ')})::text AS row FROM mcp_traces ORDER BY trace_id, span_id`;

/** What is watched of a connection of `pg`. */
interface WatchedConnection {
  query(text: string): void;
  endCopyFrom(): void;
  prependListener(event: 'copyInResponse', listener: () => void): void;
  readonly stream: { write(bytes: Uint8Array): boolean };
}

describe('binary COPY', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let statements: string[];

  before(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: await server.createMigrated() });
  });
  after(async () => {
    await pool.end();
    await server.stop();
  });

  /** The pool, with a note of each statement: `COPY`, `STAGING` or `INSERT`. */
  const watched = (): pg.Pool => {
    statements = [];
    return new Proxy(pool, {
      get: (target, key) => {
        if (key === 'query') {
          return (text: string, values: unknown[]) => {
            if (text.includes('INSERT INTO mcp_traces (')) statements.push('INSERT');
            return target.query(text, values);
          };
        }
        if (key !== 'connect') return Reflect.get(target, key, target);
        return (callback: (error: unknown, client: unknown) => void) =>
          target.connect((error, client) => {
            if (client === undefined) return callback(error, client);
            const { connection } = client as unknown as { connection: { query(text: string): void } };
            const { query } = Object.getPrototypeOf(connection) as typeof connection;
            connection.query = (text) => {
              if (text.includes('mcp_traces_staging')) statements.push('STAGING');
              else if (text.startsWith('COPY mcp_traces')) statements.push('COPY');
              query.call(connection, text);
            };
            callback(undefined, client);
          });
      },
    });
  };
  const empty = () => pool.query('TRUNCATE mcp_traces');
  const asText = async () => (await pool.query<{ row: string }>(AS_TEXT)).rows.map(({ row }) => row);

  test('leaves the same rows as INSERT, byte for byte, whatever the spans are', async () => {
    const count = sized(100, 400);
    const spans = [
      ...randomSpans(count, 20_261_121),
      altered(spanWith({}), { startTime: [-62_135_596_800, 0], endTime: [253_402_300_799, 999_999_999] }),
      altered(spanWith({}), { startTime: [Number.NaN, 0], endTime: [-1, 999_999_999] }),
      spanWith({ 'observatory.cost_usd': -0, 'observatory.session_id': '\u0000ü😀'.repeat(20_000) }),
    ];
    const written: string[][] = [];
    for (const copy of [true, false]) {
      await empty();
      const exporter = new PostgresSpanExporter({ connection: watched(), copy });
      assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
      assert.deepEqual(statements, [copy ? 'COPY' : 'INSERT']);
      written.push(await asText());
    }
    assert.equal(written[0]?.length, count + 3);
    assert.deepEqual(written[0], written[1]);
  });

  test('rows sent again go by the temporary table and leave what is there, new ones then directly again', async () => {
    await empty();
    const exporter = new PostgresSpanExporter({ connection: watched(), maxRowsPerStatement: 100 });
    const known = randomSpans(100, 1);
    await exportSpans(exporter, known);
    const before = await asText();
    assert.deepEqual(await exportSpans(exporter, [...known, ...known]), { code: 0 });
    assert.deepEqual(await asText(), before);
    assert.deepEqual(await exportSpans(exporter, randomSpans(100, 2)), { code: 0 });
    assert.deepEqual(await exportSpans(exporter, randomSpans(100, 3)), { code: 0 });
    assert.equal(await countRows(pool), 300);
    assert.equal(statements[0], 'COPY');
    assert.deepEqual(statements.slice(-3), ['STAGING', 'STAGING', 'COPY']);
    assert.equal(exporter.stats.exported, 500);
  });

  test('statements name the columns used so far; a row that needs others begins one with all, whatever is there', async () => {
    await empty();
    const exporter = new PostgresSpanExporter({ connection: watched() });
    const plain = Array.from({ length: 20 }, () => spanWith({ 'observatory.risk_tier': 'low' }));
    const wide = randomSpans(20, 14);
    const exports: [ReadableSpan[], string[]][] = [
      [plain.slice(0, 5), ['COPY']],
      [
        [...plain.slice(5), ...wide, ...plain.slice(0, 5)],
        ['COPY', 'COPY', 'STAGING'],
      ],
      [[...plain, spanWith({ 'observatory.is_shadow': true }), ...wide], ['STAGING']],
    ];
    for (const [spans, ways] of exports) {
      statements.length = 0;
      assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
      assert.deepEqual(statements, ways);
    }
    const written = await asText();
    await empty();
    const inserting = new PostgresSpanExporter({ connection: pool, copy: false });
    for (const [spans] of exports) assert.deepEqual(await exportSpans(inserting, spans), { code: 0 });
    assert.deepEqual(written.length, 41);
    assert.deepEqual(written, await asText());
  });

  test('a span that is twice in one export is stored once', async () => {
    await empty();
    const spans = randomSpans(20, 4);
    const exporter = new PostgresSpanExporter({ connection: watched() });
    assert.deepEqual(await exportSpans(exporter, [...spans, ...spans]), { code: 0 });
    assert.deepEqual(statements, ['COPY', 'STAGING']);
    assert.equal(await countRows(pool), 20);
  });

  test('a span sent again with another start of its day is stored once, and the first one stays', async () => {
    await empty();
    const spans = randomSpans(20, 6);
    const [first] = spans as [ReadableSpan];
    const noon = Math.floor(Date.now() / 86_400_000) * 86_400 + 43_200;
    const at = (hour: number) => spans.map((span) => altered(span, { startTime: [noon + 3600 * hour, 0] }));
    for (const copy of [true, false]) {
      const exporter = new PostgresSpanExporter({ connection: pool, copy });
      for (const hour of copy ? [0, 1, 2] : [3, 4]) {
        assert.deepEqual(await exportSpans(exporter, at(hour)), { code: 0 });
      }
      assert.deepEqual(await exportSpans(exporter, [...at(5), ...at(6)]), { code: 0 });
    }
    assert.equal(await countRows(pool), 20);
    const { rows } = await pool.query('SELECT start_time FROM mcp_traces_hex WHERE span_id = $1', [
      first.spanContext().spanId,
    ]);
    assert.deepEqual(rows, [{ start_time: new Date(noon * 1000) }]);
  });

  test('the server reads the first rows of an export while the last are encoded', async () => {
    await empty();
    const spans = randomSpans(200, 5);
    const last = new Proxy(spans.at(-1) as ReadableSpan, {
      get: (target, key) => {
        if (key === 'attributes') statements.push('last span');
        return Reflect.get(target, key, target);
      },
    });
    const exporter = new PostgresSpanExporter({ connection: watched() });
    assert.deepEqual(await exportSpans(exporter, [...spans.slice(0, -1), last]), { code: 0 });
    assert.deepEqual([...new Set(statements)], ['COPY', 'last span']);
    assert.equal(await countRows(pool), 200);
  });

  test('once COPY has succeeded, rows go with the statement, and their end when the server has asked for them', async () => {
    await empty();
    const one = new pg.Pool({ connectionString: pool.options.connectionString, max: 1 });
    const client = await one.connect();
    const { connection } = client as unknown as { connection: WatchedConnection };
    const events: string[] = [];
    const { query, endCopyFrom, stream } = connection;
    connection.query = (text) => {
      events.push('statement');
      query.call(connection, text);
    };
    connection.endCopyFrom = () => {
      events.push('end');
      endCopyFrom.call(connection);
    };
    const { write } = stream;
    stream.write = (bytes) => {
      if (bytes[0] === 'd'.charCodeAt(0) && bytes.length === 5) events.push('rows');
      return write.call(stream, bytes);
    };
    connection.prependListener('copyInResponse', () => events.push('asked'));
    client.release();
    try {
      const exporter = new PostgresSpanExporter({ connection: one });
      for (const seed of [8, 9]) {
        events.length = 0;
        assert.deepEqual(await exportSpans(exporter, randomSpans(5, seed)), { code: 0 });
        const inOrder = events.filter((event, i) => event !== events[i - 1]);
        const early = ['statement', 'rows', 'asked', 'end'];
        assert.deepEqual(inOrder.slice(0, 4), seed === 9 ? early : ['statement', 'asked', 'rows', 'end']);
      }
      assert.equal(await countRows(pool), 10);
    } finally {
      await one.end();
    }
  });

  test('rows sent with a statement that fails at once are dropped, and the connection goes on', async () => {
    await empty();
    const one = new pg.Pool({ connectionString: pool.options.connectionString, max: 1 });
    try {
      const exporter = new PostgresSpanExporter({ connection: one });
      assert.deepEqual(await exportSpans(exporter, randomSpans(5, 10)), { code: 0 });
      const parts = [11, 12, 13].map((seed) => randomSpans(300, seed));
      const exportAll = () => Promise.all(parts.map((spans) => exportSpans(exporter, spans)));
      await pool.query('ALTER TABLE mcp_traces RENAME TO mcp_traces_away');
      const failed = await exportAll().finally(() =>
        pool.query('ALTER TABLE mcp_traces_away RENAME TO mcp_traces'),
      );
      for (const { error } of failed) assert.match(String(error?.message), /mcp_traces/);
      assert.equal(await countRows(pool), 5);
      assert.deepEqual(
        (await exportAll()).map(({ code }) => code),
        [0, 0, 0],
      );
      assert.equal(await countRows(pool), 905);
    } finally {
      await one.end();
    }
  });

  test('exports that share a connection keep their rows apart when the server refuses one half way', async () => {
    await empty();
    await pool.query(`ALTER TABLE mcp_traces ADD CONSTRAINT no_poison CHECK (risk_tier <> 'poison')`);
    const one = new pg.Pool({ connectionString: pool.options.connectionString, max: 1 });
    try {
      const exporter = new PostgresSpanExporter({ connection: one });
      assert.deepEqual(await exportSpans(exporter, [spanWith({})]), { code: 0 });
      const parts = Array.from({ length: 3 }, (_, part) =>
        Array.from({ length: 300 }, (_, i) =>
          spanWith({ 'observatory.risk_tier': i === 70 * part ? 'poison' : 'low', note: 'n'.repeat(2_000) }),
        ),
      );
      const results = await Promise.all(parts.map((spans) => exportSpans(exporter, spans)));
      assert.deepEqual(
        results.map(({ error }) => (error as RefusedSpansError).refusedSpans),
        parts.map((spans, part) => [spans[70 * part]]),
      );
      assert.equal(await countRows(pool), 1 + 3 * 299);
    } finally {
      await one.end();
      await empty();
      await pool.query('ALTER TABLE mcp_traces DROP CONSTRAINT no_poison');
    }
  });

  test('a span the table refuses does not take the others with it, known ones among them', async () => {
    await empty();
    await pool.query(`ALTER TABLE mcp_traces ADD CONSTRAINT no_poison CHECK (risk_tier <> 'poison')`);
    try {
      const spans = Array.from({ length: 100 }, (_, i) =>
        spanWith({ 'observatory.risk_tier': i % 40 === 7 ? 'poison' : 'low' }),
      );
      const exporter = new PostgresSpanExporter({ connection: watched() });
      await exportSpans(exporter, spans.slice(20, 30));
      const { error } = await exportSpans(exporter, spans);
      assert.match(String(error?.message), /^3 of 100 spans were refused.*no_poison/);
      assert.equal(await countRows(pool), 97);
      assert.ok(!statements.includes('INSERT'));
    } finally {
      await pool.query('ALTER TABLE mcp_traces DROP CONSTRAINT no_poison');
    }
  });

  test('where COPY is refused, INSERT takes its place for good', async () => {
    const url = await server.createMigrated();
    await using limited = await createRole(url);
    const owner = new pg.Pool({ connectionString: url });
    await owner.query(`GRANT INSERT ON mcp_traces TO ${limited.name};
      ALTER TABLE mcp_traces ENABLE ROW LEVEL SECURITY;
      CREATE POLICY all_rows ON mcp_traces USING (true)`);
    await using exporter = new PostgresSpanExporter({ connection: limited.url });
    assert.deepEqual(await exportSpans(exporter, randomSpans(5, 5)), { code: 0 });
    assert.deepEqual(await exportSpans(exporter, randomSpans(5, 6)), { code: 0 });
    assert.equal(await countRows(owner as Queryable), 10);
    await owner.end();
  });

  test('several exports at once share the pool, and each answers for its own spans', async () => {
    await empty();
    await using exporter = new PostgresSpanExporter({ connection: pool });
    const exports = Array.from({ length: 12 }, (_, i) => randomSpans(20, 100 + i));
    const results = await Promise.all(exports.map((spans) => exportSpans(exporter, spans)));
    assert.deepEqual(
      results,
      Array.from(results, () => ({ code: 0 })),
    );
    assert.equal(await countRows(pool), 240);
  });

  test('a connection that breaks in mid-COPY fails the export, not the process, and its place is free again', async () => {
    await empty();
    const exporter = new PostgresSpanExporter({ connection: pool });
    // Another session's lock makes COPY wait until its connection is ended.
    const blocker = await pool.connect();
    await blocker.query('BEGIN; LOCK TABLE mcp_traces');
    const spans = randomSpans(10, 7);
    const result = exportSpans(exporter, spans);
    const kill = `SELECT count(pg_terminate_backend(pid))::integer AS killed FROM pg_stat_activity
      WHERE query LIKE 'COPY mcp_traces%' AND wait_event_type = 'Lock'`;
    for (;;) {
      // Not by the blocker: within a transaction the view of what others do stands still.
      const { rows } = await pool.query<{ killed: number }>(kill);
      if (rows[0]?.killed === 1) break;
    }
    assert.equal((await result).code, 1);
    await blocker.query('ROLLBACK');
    blocker.release();
    assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
    assert.equal((await readRows(pool)).length, 10);
  });
});
