import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, afterEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { context, propagation, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { ObservatoryError, type ObservatoryErrorCode } from '../src/base/errors.ts';
import { PostgresSpanExporter, type Queryable } from '../src/postgres/index.ts';
import { LATEST_MIGRATION } from '../src/postgres/migrations.ts';
import { type ExportResult, exportSpans } from './support/export.ts';
import { captureDiagOf } from './support/observed.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { longTest } from './support/size.ts';
import { altered, spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Answers every query with no rows. */
const silent: Queryable = { query: async () => ({ rows: [] }) };

describe('options', () => {
  test('a connection string that does not parse is refused without showing any of it', () => {
    const bad = [
      'postgresql://user:hunter2#x@host/db',
      'postgresql://user:hunter2/x@host:54 32/db',
      'postgresql://user:hunter2%zz@host/db',
      'host=localhost password=hunter2',
      'mysql://user:hunter2@host/db',
      'hunter2',
      '',
    ];
    for (const connection of bad) {
      assert.throws(
        () => new PostgresSpanExporter({ connection }),
        (error) =>
          isError(error, 'INVALID_OPTION') &&
          !inspect(error, { depth: 9, showHidden: true }).includes('hunter2'),
        connection,
      );
    }
  });

  test('values that cannot be used are named', () => {
    assert.throws(() => new PostgresSpanExporter({ connection: silent, maxRowsPerStatement: 0 }), {
      code: 'INVALID_OPTION',
      message: /'maxRowsPerStatement'.*from 1 up, got 0/,
    });
    assert.throws(() => new PostgresSpanExporter({ connection: {} as Queryable }), {
      code: 'INVALID_OPTION',
    });
    assert.throws(() => new PostgresSpanExporter({ connection: undefined as never }), {
      code: 'INVALID_OPTION',
    });
  });
});

describe('life cycle', () => {
  test('forceFlush and shutdown wait for exports under way, and an export after shutdown is refused', async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let answered = false;
    const exporter = new PostgresSpanExporter({
      connection: { query: () => gate.then(() => ({ rows: [] })) },
    });
    const result = exportSpans(exporter, [spanWith({})]).then((answer) => {
      answered = true;
      return answer;
    });
    let flushed = false;
    const flush = exporter.forceFlush().then(() => {
      flushed = true;
    });
    await new Promise(setImmediate);
    assert.deepEqual([answered, flushed], [false, false]);
    open();
    await flush;
    assert.equal(answered, true);
    assert.deepEqual(await result, { code: 0 });

    await Promise.all([exporter.shutdown(), exporter.shutdown(), exporter[Symbol.asyncDispose]()]);
    const late = await exportSpans(exporter, [spanWith({})]);
    assert.ok(isError(late.error, 'EXPORTER_SHUT_DOWN'));
    assert.deepEqual(exporter.stats, { exported: 1, sanitised: 0, truncated: 0, failed: 1, refused: 0 });
  });

  test('a callback that throws harms nobody', async () => {
    const exporter = new PostgresSpanExporter({ connection: silent });
    exporter.export([spanWith({})], () => {
      throw new Error('host fault');
    });
    await exporter.forceFlush();
    await exporter.shutdown();
    exporter.export([spanWith({})], () => {
      throw new Error('host fault');
    });
  });

  test('an empty export is a success without a statement', async () => {
    const exporter = new PostgresSpanExporter({
      connection: { query: () => assert.fail('nothing to say to the database') },
    });
    assert.deepEqual(await exportSpans(exporter, []), { code: 0 });
  });

  test('a span without a valid id is counted and told, and the others are stored', async () => {
    const exporter = new PostgresSpanExporter({ connection: silent });
    const span = spanWith({});
    const bad = altered(span, { spanContext: () => ({ ...span.spanContext(), traceId: 'x' }) });
    const messages = await captureDiagOf(async () => {
      const { code, error } = await exportSpans(exporter, [bad, span]);
      assert.equal(code, 1);
      assert.ok(isError(error, 'DATABASE_REFUSED'));
    });
    assert.match(messages.join('\n'), /1 of 2 spans were refused/);
    assert.deepEqual(exporter.stats, { exported: 1, sanitised: 0, truncated: 0, failed: 0, refused: 1 });
  });

  test('a span too large for any message is cut, stored and counted', async () => {
    const exporter = new PostgresSpanExporter({ connection: silent });
    const huge = altered(spanWith({}), { attributes: { 'session.id': 'x'.repeat(101 * 1024 * 1024) } });
    assert.deepEqual(await exportSpans(exporter, [spanWith({}), huge, spanWith({ 'k\0': 1 })]), { code: 0 });
    assert.deepEqual(exporter.stats, { exported: 3, sanitised: 1, truncated: 1, failed: 0, refused: 0 });
  });

  test('no statement holds data: values go as parameters or as bytes of COPY', async () => {
    const statements: string[] = [];
    const note = async (text: string) => {
      statements.push(text);
      return { rows: [] };
    };
    const client = {
      on: () => {},
      removeListener: () => {},
      release: () => {},
      connection: { endCopyFrom: () => {} },
      query: (statement: { submit(connection: object): void }, answered: (error: null) => void) => {
        statement.submit({ query: note, stream: new PassThrough().resume() });
        answered(null);
      },
    };
    const connect = (callback: (error: undefined, connected: object) => void) => callback(undefined, client);
    const pool = { query: note, connect, idleCount: 0, totalCount: 0 } as Queryable;
    const evil = `'; DROP TABLE mcp_traces; --"\\$1`;
    const span = spanWith({ 'observatory.risk_tier': evil, [evil]: evil }, { service: evil, scope: [evil] });
    const evilSpan = altered(span, { name: evil, status: { code: 2, message: evil } });
    for (const connection of [{ query: note }, pool]) {
      const exporter = new PostgresSpanExporter({ connection });
      for (const sent of [spanWith({}), evilSpan]) {
        assert.deepEqual(await exportSpans(exporter, [sent]), { code: 0 });
      }
    }
    const [insert, sameInsert, copy] = statements;
    assert.match(insert ?? '', /INSERT INTO mcp_traces/);
    assert.equal(sameInsert, insert);
    assert.match(copy ?? '', /^COPY mcp_traces/);
    assert.deepEqual(new Set(statements.filter((text) => text.startsWith('COPY'))), new Set([copy]));
    assert.ok(statements.every((text) => !text.includes('DROP')));
  });

  test('resource attributes that are still being found are waited for', async () => {
    let written = '';
    const exporter = new PostgresSpanExporter({
      connection: {
        query: async (_text, values) => {
          written = JSON.stringify(values);
          return { rows: [] };
        },
      },
    });
    const provider = new NodeTracerProvider({
      resource: resourceFromAttributes({
        'host.id': new Promise((resolve) => setTimeout(resolve, 20, 'found-late')),
      }),
    });
    const span = provider.getTracer('t').startSpan('t');
    span.end();
    await exportSpans(exporter, [span as never]);
    assert.match(written, /found-late/);
  });

  test('the exporter is not traced', async () => {
    const ended: string[] = [];
    const provider = new NodeTracerProvider({
      spanProcessors: [
        {
          onStart: () => {},
          onEnd: (span) => void ended.push(span.name),
          forceFlush: async () => {},
          shutdown: async () => {},
        },
      ],
    });
    provider.register();
    try {
      const tracer = provider.getTracer('instrumented-pg');
      const exporter = new PostgresSpanExporter({
        connection: {
          query: async () => {
            await new Promise(setImmediate);
            tracer.startSpan('pg.query').end();
            return { rows: [] };
          },
        },
        maxRowsPerStatement: 1,
      });
      await exportSpans(exporter, [spanWith({}), spanWith({})]);
      tracer.startSpan('of the application').end();
      assert.deepEqual(ended, ['of the application']);
    } finally {
      trace.disable();
      context.disable();
      propagation.disable();
    }
  });
});

describe('a database that cannot be reached', () => {
  test('nobody listens: the export fails, names the database and keeps the password', async () => {
    const port = await closedPort();
    const exporter = new PostgresSpanExporter({
      connection: `postgresql://bob:hunter2@127.0.0.1:${port}/db?password=hunter2`,
    });
    const { code, error } = await exportSpans(exporter, [spanWith({})]);
    assert.equal(code, 1);
    assert.ok(isError(error, 'DATABASE_UNREACHABLE'));
    assert.match(error.message, new RegExp(`postgresql://bob@127.0.0.1:${port}/db.*ECONNREFUSED`));
    assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /hunter2/);
    assert.deepEqual(exporter.stats, { exported: 0, sanitised: 0, truncated: 0, failed: 1, refused: 0 });
    await exporter.shutdown();
  });

  test('a server that accepts and says nothing: the export fails after the time given', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const exporter = new PostgresSpanExporter({
      connection: `postgresql://bob@127.0.0.1:${address.port}/db`,
      connectTimeoutMs: 200,
    });
    try {
      const { error } = await exportSpans(exporter, [spanWith({})]);
      assert.ok(isError(error, 'DATABASE_UNREACHABLE'));
    } finally {
      await exporter.shutdown();
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  test('without the package pg the error names the install command', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'observatory-no-pg-'));
    try {
      symlinkSync(join(root, 'dist'), join(folder, 'dist'));
      writeFileSync(join(folder, 'package.json'), '{"name":"mcp-observatory","type":"module"}');
      mkdirSync(join(folder, 'node_modules/@opentelemetry'), { recursive: true });
      symlinkSync(
        join(root, 'node_modules/@opentelemetry/api'),
        join(folder, 'node_modules/@opentelemetry/api'),
      );
      const program = `
        import { openDatabase } from './dist/src/postgres/index.js';
        for (const options of [{ url: 'postgresql://host/db' }, { dataDir: 'data' }]) {
          await openDatabase(options).catch((error) => console.log(error.code, error.message));
        }`;
      const flags = ['--preserve-symlinks', '--input-type=module', '-e', program];
      const { stdout } = await run(process.execPath, flags, { cwd: folder });
      assert.match(stdout, /^MISSING_PEER .*npm install pg$/m);
      assert.match(stdout, /^MISSING_PEER .*npm install @electric-sql\/pglite$/m);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a real server', { skip: noPostgres() }, () => {
  let server: Promise<PostgresServer> | undefined;
  const exporters: PostgresSpanExporter[] = [];
  const newDatabase = async () => {
    server ??= startPostgres();
    return (await server).createDatabase();
  };
  const newMigrated = async () => {
    server ??= startPostgres();
    return (await server).createMigrated();
  };
  const exporterTo = (connection: string, migrateFirst = false) => {
    const exporter = new PostgresSpanExporter({ connection, migrate: migrateFirst });
    exporters.push(exporter);
    return exporter;
  };
  const exportOne = (exporter: PostgresSpanExporter): Promise<ExportResult> =>
    exportSpans(exporter, [spanWith({})]);

  afterEach(async () => {
    for (const exporter of exporters.splice(0)) await exporter.shutdown();
  });
  after(async () => (await server)?.stop());

  longTest(
    'without the table the error says how to make it, and once it is made the exporter goes on',
    async () => {
      const url = await newDatabase();
      const exporter = exporterTo(url);
      const { code, error } = await exportOne(exporter);
      assert.equal(code, 1);
      assert.ok(isError(error, 'DATABASE_SCHEMA_MISSING'));
      assert.match(error.message, /npx mcp-observatory db migrate/);
      await run(process.execPath, [join(root, 'dist/test/support/export-process.js'), url, 'shutdown']);
      assert.deepEqual(await exportOne(exporter), { code: 0 });
    },
  );

  test('migrate: true makes the table before the first export, of several at once', async () => {
    const exporter = exporterTo(await newDatabase(), true);
    const results = await Promise.all(Array.from({ length: 5 }, () => exportOne(exporter)));
    assert.deepEqual(
      results,
      Array.from(results, () => ({ code: 0 })),
    );
    assert.equal(exporter.stats.exported, 5);
  });

  test('a table changed by a newer version is reported as such', async () => {
    const url = await newMigrated();
    assert.deepEqual(await exportOne(exporterTo(url, true)), { code: 0 });
    await runSql(url, 'ALTER TABLE mcp_traces RENAME COLUMN model TO model_name');
    await runSql(
      url,
      `INSERT INTO mcp_observatory_migrations (id, name) VALUES (${LATEST_MIGRATION + 1}, 'future')`,
    );
    for (const migrateFirst of [false, true]) {
      const { error } = await exportOne(exporterTo(url, migrateFirst));
      assert.ok(isError(error, 'DATABASE_SCHEMA_TOO_NEW'), String(error));
    }
  });

  test('a newer version that only added to the table does not stop an exporter that runs', async () => {
    const url = await newMigrated();
    const exporter = exporterTo(url, true);
    assert.deepEqual(await exportOne(exporter), { code: 0 });
    await runSql(url, 'ALTER TABLE mcp_traces ADD COLUMN added_later text');
    await runSql(
      url,
      `INSERT INTO mcp_observatory_migrations (id, name) VALUES (${LATEST_MIGRATION + 1}, 'future')`,
    );
    assert.deepEqual(await exportOne(exporter), { code: 0 });
  });

  test('a database that does not exist is reported as unreachable', async () => {
    const url = new URL(await newDatabase());
    url.pathname = '/no_such_database';
    const { error } = await exportOne(exporterTo(url.href));
    assert.ok(isError(error, 'DATABASE_UNREACHABLE'));
    assert.match(error.message, /no_such_database.*3D000/);
  });

  test('losing an idle connection does not end the host, and the next export connects again', async () => {
    const url = await newMigrated();
    const exporter = exporterTo(url, true);
    assert.deepEqual(await exportOne(exporter), { code: 0 });
    // The first export creates partitions behind its result: until then the connection is not idle.
    await exporter.forceFlush();
    await captureDiagOf(async (messages) => {
      await runSql(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'mcp-observatory' AND datname = current_database()`,
      );
      const lost = /idle connection to postgresql:\/\/postgres@.* was lost/;
      await waitUntil(() => messages.some((message) => lost.test(message)));
    });
    assert.deepEqual(await exportOne(exporter), { code: 0 });
  });

  test('shutdown closes the connections that the exporter opened', async () => {
    const url = await newMigrated();
    const exporter = exporterTo(url, true);
    await Promise.all([exportOne(exporter), exportOne(exporter)]);
    assert.ok((await connectionsOf(url)) > 0);
    await exporter.shutdown();
    await waitUntil(async () => (await connectionsOf(url)) === 0);
  });

  test("a pool given to the exporter is still the owner's after shutdown", async () => {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({ connectionString: await newMigrated() });
    try {
      const exporter = new PostgresSpanExporter({ connection: pool });
      assert.deepEqual(await exportOne(exporter), { code: 0 });
      await exporter.shutdown();
      assert.equal((await pool.query('SELECT 1 FROM mcp_traces')).rows.length, 1);
    } finally {
      await pool.end();
    }
  });

  for (const how of ['shutdown', 'leave open']) {
    test(`a program ends by itself after an export (${how})`, { timeout: 20_000 }, async () => {
      const program = join(root, 'dist/test/support/export-process.js');
      const { stdout, stderr } = await run(process.execPath, [program, await newMigrated(), how], {
        timeout: 15_000,
      });
      const { code, exported } = JSON.parse(stdout) as Record<string, unknown>;
      assert.deepEqual({ code, exported }, { code: 0, exported: 1 });
      assert.equal(stderr, '');
    });
  }

  async function connectionsOf(url: string): Promise<number> {
    const rows = await runSql(
      url,
      `SELECT count(*)::integer AS open FROM pg_stat_activity
       WHERE application_name = 'mcp-observatory' AND datname = current_database()`,
    );
    return Number(rows[0]?.open);
  }
});

function isError(error: unknown, code: ObservatoryErrorCode): error is ObservatoryError {
  return ObservatoryError.isInstance(error) && error.code === code;
}

/** A port that nobody listens on, as far as one can know. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}
