/**
 * The ClickHouse exporter against ClickHouse's own engine. A million rows with faults:
 * `OBSERVATORY_TEST_SIZE=million node --test dist/test/clickhouse.long.test.js`.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, FIELDS, type TraceRow } from '../src/base/index.ts';
import { dbCommand } from '../src/cli/db.ts';
import { ClickHouseSpanExporter, openClickHouseStore } from '../src/clickhouse/index.ts';
import { DurableSpanWriter } from '../src/durable/index.ts';
import {
  type ClickHouseServer,
  type InsertFault,
  noClickHouse,
  startClickHouse,
} from './support/clickhouse-server.ts';
import { startCollect } from './support/collect-process.ts';
import { exportSpans } from './support/export.ts';
import { post } from './support/http-post.ts';
import { manySpans } from './support/many-spans.ts';
import { seededRandom } from './support/random.ts';
import { randomSpans } from './support/random-spans.ts';
import { runCommand } from './support/run-command.ts';
import { manyRows } from './support/size.ts';
import { spanRequest } from './support/span-requests.ts';
import { spanToRow } from './support/span-row.ts';
import { altered } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const SPANS = manyRows(50_000);
const PER_WRITE = 5000;
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

describe('spans in ClickHouse', { skip: await noClickHouse() }, () => {
  let shared: Promise<ClickHouseServer> | undefined;
  const server = () => {
    shared ??= startClickHouse();
    return shared;
  };
  after(async () => (await shared)?.[Symbol.asyncDispose]());

  async function emptied(): Promise<ClickHouseServer> {
    const running = await server();
    await running.run('DROP TABLE IF EXISTS mcp_traces SYNC');
    return running;
  }

  test('have every value that they have in Postgres', async () => {
    const { url, query } = await emptied();
    const spans = [...randomSpans(400, 7), ...manySpans(400)];
    await using exporter = new ClickHouseSpanExporter({ connection: url, migrate: true });
    assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
    const rows = await query('SELECT * FROM mcp_traces ORDER BY span_id');
    assert.equal(rows.length, 800);
    const found = new Map(rows.map((row) => [row.span_id as string, row]));
    for (const span of spans) {
      const expected = spanToRow(span);
      assert.deepEqual(plainRow(found.get(expected.span_id) ?? {}), plainRow(expected), span.name);
    }
    const [hex] = await query('SELECT trace_id, span_id FROM mcp_traces_hex ORDER BY span_id LIMIT 1');
    const [first] = spans.map((span) => span.spanContext()).sort((a, b) => (a.spanId < b.spanId ? -1 : 1));
    assert.deepEqual(hex, { trace_id: first?.traceId, span_id: first?.spanId });
  });

  test(`are neither lost nor doubled, of ${SPANS}, whatever fails`, async () => {
    const running = await emptied();
    const { url, query } = running;
    const directory = mkdtempSync(join(tmpdir(), 'observatory-clickhouse-spool-'));
    const exporter = new ClickHouseSpanExporter({ connection: url, migrate: true, requestTimeoutMs: 60_000 });
    const writer = new DurableSpanWriter({
      exporter,
      maxConcurrentExports: 2,
      maxExportBatchSize: 10_000,
      maxQueueSize: 4 * PER_WRITE,
      maxRetryDelayMs: 500,
      exportTimeoutMs: 120_000,
      spool: { directory, drainSpansPerSecond: 1_000_000 },
    });
    const expected = { ids: new Set<string>(), tokens: 0, cost: 0 };
    const kept: ReadableSpan[] = [];
    const random = seededRandom(3);
    const faults: readonly InsertFault[] = ['drop-before', 'drop-after', 'half', 'busy', 'bad-gateway'];
    for (let written = 0; written < SPANS; written += PER_WRITE) {
      const spans = manySpans(PER_WRITE);
      kept.push(spans[Math.floor(random() * PER_WRITE)] as ReadableSpan);
      for (const span of spans) {
        expected.ids.add(span.spanContext().spanId);
        expected.tokens += span.attributes['gen_ai.usage.input_tokens'] as number;
        expected.cost += span.attributes['observatory.cost_usd'] as number;
      }
      const step = written / PER_WRITE;
      if (step % 3 === 1) await running.fail(faults[((step - 1) / 3) % faults.length] as InsertFault);
      // A third is sent twice, as a sender does that had no answer.
      const sent = step % 3 === 0 ? [spans, spans] : [spans];
      const outcomes = Promise.all(sent.map((portion) => writer.write(portion)));
      if (step % 50 === 7) {
        await running.kill();
        assert.equal((await writer.write(manySpans(0))).kind, 'safe');
        for (const { kind } of await outcomes) assert.equal(kind, 'safe');
        await running.restart();
      }
      for (const outcome of await outcomes) assert.deepEqual(outcome, SAFE);
    }
    await waitUntil(() => writer.stats.spoolBytes === 0, 900_000);
    await writer.shutdown();
    const { failedExports, spooled } = writer.stats;
    assert.ok(failedExports > 0 && spooled > 0, `${failedExports} failed exports, ${spooled} spooled`);
    const totals = `SELECT count()::Int32 AS spans, uniqExact(span_id)::Int32 AS ids, sum(prompt_tokens) AS tokens,
      sum(cost_usd) AS cost, max(c) AS parts FROM mcp_traces FINAL, (SELECT count()::Int32 AS c FROM mcp_traces) AS unmerged`;
    const assertTotals = (row: Record<string, unknown> | undefined) => {
      assert.deepEqual(
        { spans: row?.spans, ids: row?.ids, tokens: row?.tokens },
        { spans: SPANS, ids: SPANS, tokens: expected.tokens },
      );
      assert.ok(Math.abs(Number(row?.cost) / expected.cost - 1) < 1e-9, `${row?.cost} of ${expected.cost}`);
    };
    const [unmerged] = await query(totals);
    assertTotals(unmerged);
    await running.run('OPTIMIZE TABLE mcp_traces FINAL');
    const [merged] = await query(totals.replace('mcp_traces FINAL', 'mcp_traces'));
    assertTotals(merged);
    const found = await query('SELECT span_id FROM mcp_traces_hex');
    for (const { span_id } of found) expected.ids.delete(span_id as string);
    assert.equal(expected.ids.size, 0);
    const sample = new Map(kept.slice(0, 500).map((span) => [spanToRow(span).span_id, spanToRow(span)]));
    const rows = await query(
      `SELECT * FROM mcp_traces WHERE span_id IN (${[...sample.keys()].map((id) => `'${id}'`).join(', ')})`,
    );
    assert.equal(rows.length, sample.size);
    for (const row of rows) {
      assert.deepEqual(plainRow(row), plainRow(sample.get(row.span_id as string) ?? {}));
    }
    const [size] = await query(
      "SELECT sum(data_compressed_bytes)::Int32 AS bytes FROM system.parts WHERE active AND table = 'mcp_traces'",
    );
    console.log(
      `${SPANS} spans: ${failedExports} failed exports, ${spooled} spooled, ${Number(unmerged?.parts) - SPANS} written twice, ` +
        `${(Number(size?.bytes) / SPANS).toFixed(1)} bytes a span after merge`,
    );
    rmSync(directory, { recursive: true });
  });

  test('from the service: what it acknowledged is there, though it and the server are killed', async () => {
    const running = await emptied();
    const spool = mkdtempSync(join(tmpdir(), 'observatory-clickhouse-collect-'));
    const acknowledged = new Set<string>();
    let isUp = true;
    const send = async (http: string, requests: number) => {
      for (let i = 0; i < requests; i += 1) {
        const next = spanRequest(20);
        const answer = await post(`${http}/v1/traces`, PROTOBUF, next.body).catch(() => undefined);
        if (answer?.status === 200) for (const id of next.ids) acknowledged.add(id);
        else if (isUp) assert.fail(`answered ${answer?.status}`);
      }
    };
    for (let round = 0; round < 2; round += 1) {
      const collect = await startCollect(running.url, ['--spool', spool]);
      await Promise.all([send(collect.http, 10), send(collect.http, 10), send(collect.http, 10)]);
      await running.kill();
      await send(collect.http, 10);
      isUp = false;
      const sending = send(collect.http, 5);
      await collect.end('SIGKILL');
      await sending;
      isUp = true;
      await running.restart();
    }
    const collect = await startCollect(running.url, ['--spool', spool]);
    await send(collect.http, 1);
    await waitUntil(async () => {
      const [row] = await running.query('SELECT count()::Int32 AS n FROM mcp_traces FINAL');
      return Number(row?.n) >= acknowledged.size;
    }, 60_000);
    assert.equal(await collect.end('SIGTERM'), 0);
    const found = await running.query('SELECT span_id FROM mcp_traces_hex');
    const ids = new Set(found.map(({ span_id }) => span_id as string));
    assert.equal(ids.size, found.length, 'no span is there twice');
    assert.deepEqual(
      [...acknowledged].filter((id) => !ids.has(id)),
      [],
    );
    rmSync(spool, { recursive: true });
  });

  test('the tables are made by the command line too', async () => {
    const { url, query } = await emptied();
    const run = (...args: string[]) => runCommand(dbCommand, ['migrate', '--clickhouse-url', url, ...args]);
    const { code, stdout } = await run('--keep', '90d', '--json');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), {
      database: `clickhouse ${url}`,
      kind: 'clickhouse',
      keep_days: 90,
    });
    const [table] = await query(
      "SELECT count()::Int32 AS n FROM system.tables WHERE name LIKE 'mcp_traces%'",
    );
    assert.deepEqual(table, { n: 2 });
    await assert.rejects(run('--keep', '36h'), /whole days, for instance 90d, got '36h'/);
    const absent = ['migrate', '--clickhouse-url', 'http://me:secret@127.0.0.1:1/absent'];
    await assert.rejects(runCommand(dbCommand, absent), (error: Error) => {
      assert.match(
        error.message,
        /Cannot reach clickhouse http:\/\/me@127\.0\.0\.1:1\/absent: connect ECONNREFUSED/,
      );
      assert.doesNotMatch(inspect(error, { depth: 9 }), /secret/);
      return true;
    });
  });

  test('are written once when the same batch is sent again, before any merge', async () => {
    const { url, query, fail } = await emptied();
    await using exporter = new ClickHouseSpanExporter({ connection: url, migrate: true });
    const spans = manySpans(100);
    await fail('drop-after');
    const [first, second] = [await exportSpans(exporter, spans), await exportSpans(exporter, spans)];
    assert.deepEqual([first.code, second.code], [1, 0]);
    assert.deepEqual(await query('SELECT count()::Int32 AS n FROM mcp_traces'), [{ n: 100 }]);
    // Other batches of the same spans become one row each when they are merged.
    assert.deepEqual(await exportSpans(exporter, spans.slice(50)), { code: 0 });
    assert.deepEqual(await query('SELECT count()::Int32 AS n FROM mcp_traces FINAL'), [{ n: 100 }]);
  });

  test('are all stored but those that the table refuses, whose values the error does not show', async () => {
    const { url, query, run } = await emptied();
    await using exporter = new ClickHouseSpanExporter({ connection: url, migrate: true });
    await exportSpans(exporter, []);
    await exportSpans(exporter, manySpans(1));
    await run("ALTER TABLE mcp_traces ADD CONSTRAINT no_refused CHECK span_name != 'a secret name'");
    const refused = [...manySpans(1, 'a secret name'), ...manySpans(1, 'a secret name')];
    const result = await exportSpans(exporter, [...manySpans(50), ...refused, ...manySpans(50)]);
    assert.ok(result.error && 'refusedSpans' in result.error);
    assert.deepEqual(result.error.refusedSpans, refused);
    assert.match(result.error.message, /2 of 102 spans were refused.*VIOLATED_CONSTRAINT/);
    assert.doesNotMatch(JSON.stringify([result.error.message, String(result.error.cause)]), /secret/);
    assert.deepEqual(await query('SELECT count()::Int32 AS n FROM mcp_traces'), [{ n: 101 }]);
    assert.equal(exporter.stats.refused, 2);
  });

  test('of times that ClickHouse cannot partition have the time 1970 and say so', async () => {
    const { url, query } = await emptied();
    await using exporter = new ClickHouseSpanExporter({ connection: url, migrate: true });
    const [early, late] = manySpans(2).map((span, i) =>
      altered(span, { startTime: [i === 0 ? -1 : 5e9, 0] }),
    );
    assert.deepEqual(await exportSpans(exporter, [early, late] as ReadableSpan[]), { code: 0 });
    assert.deepEqual(
      await query(
        "SELECT toUnixTimestamp(start_time) AS start, JSONExtractRaw(attributes, 'observatory.sanitised') AS marks FROM mcp_traces",
      ),
      [
        { start: 0, marks: '["start_time"]' },
        { start: 0, marks: '["start_time"]' },
      ],
    );
  });

  test('of more days than an insert usually may have are stored', async () => {
    const { url, query } = await emptied();
    await using exporter = new ClickHouseSpanExporter({ connection: url, migrate: true });
    const spans = manySpans(150).map((span, i) =>
      altered(span, { startTime: [1_700_000_000 + i * 86_400, 0] }),
    );
    assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
    assert.deepEqual(
      await query('SELECT count()::Int32 AS n, uniqExact(toDate(start_time))::Int32 AS days FROM mcp_traces'),
      [{ n: 150, days: 150 }],
    );
  });

  test('the tables are made any number of times, get what they lack, and expire', async () => {
    const { url, query, run } = await emptied();
    await using store = await openClickHouseStore(url);
    await assert.rejects(store.check(), {
      code: 'DATABASE_SCHEMA_MISSING',
      message: /db migrate --clickhouse-url/,
    });
    await store.migrate();
    const columns = () =>
      query(
        "SELECT name, type FROM system.columns WHERE table = 'mcp_traces' AND database = 'default' ORDER BY position",
      );
    const made = await columns();
    assert.deepEqual(
      made.map(({ name }) => name),
      COLUMNS,
    );
    await run('DROP VIEW mcp_traces_hex');
    await run('ALTER TABLE mcp_traces DROP COLUMN offered_tools, DROP COLUMN scope');
    await store.migrate(30);
    assert.deepEqual(await columns(), made);
    const [table] = await query(
      "SELECT create_table_query AS sql FROM system.tables WHERE name = 'mcp_traces'",
    );
    assert.match(String(table?.sql), /TTL toDateTime\(start_time\) \+ toIntervalDay\(30\)/);
    await store.check();
    await using exporter = new ClickHouseSpanExporter({ connection: url });
    await exportSpans(
      exporter,
      manySpans(10).map((span) => altered(span, { startTime: [1_600_000_000, 0] })),
    );
    await exportSpans(exporter, manySpans(10));
    await run('OPTIMIZE TABLE mcp_traces FINAL');
    assert.deepEqual(await query('SELECT count()::Int32 AS n FROM mcp_traces'), [{ n: 10 }]);
  });
});

const SAFE = { kind: 'safe', refused: 0, error: undefined };

/** JSON texts as values, and times as microseconds. */
function plainRow(row: Partial<TraceRow> | Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    FIELDS.map(({ column, sqlType }) => {
      const value = (row as Record<string, unknown>)[column];
      if (sqlType === 'jsonb' && typeof value === 'string') return [column, JSON.parse(value)];
      if (sqlType === 'timestamptz') return [column, String(value).replace('T', ' ').replace('Z', '')];
      return [column, value];
    }),
  );
}
