import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCollector } from '../src/collector/index.ts';
import { GrpcCaller } from './support/grpc-caller.ts';
import { post } from './support/http-post.ts';
import { encodeProtobuf } from './support/otlp-encode.ts';
import { noPostgres, runSql, startOwnPostgres } from './support/postgres-server.ts';
import { startProxy } from './support/tcp-proxy.ts';
import { waitUntil } from './support/wait-until.ts';

/** Text that ends a string, a statement, a name and a COPY of its own, if it were ever part of SQL. */
const HOSTILE = `MARK'"\`);DROP TABLE mcp_traces;--\\.\n$$$1%s\${x}\\'`;

const ANYWHERE = { host: '127.0.0.1', port: 0 };

/** A request in which every text there is, is hostile. */
function hostileRequest(spanId: string): { resourceSpans: readonly unknown[] } {
  const text = { stringValue: HOSTILE };
  const nested = { kvlistValue: { values: [{ key: HOSTILE, value: { arrayValue: { values: [text] } } }] } };
  const known = [
    'service.name',
    'gen_ai.request.model',
    'observatory.prompt_hash',
    'session.id',
    'error.type',
  ];
  const attributes = [HOSTILE, ...known].map((key) => ({ key, value: text }));
  const all = [...attributes, { key: `${HOSTILE}2`, value: nested }];
  const span = {
    traceId: 'c'.repeat(32),
    spanId,
    traceState: `a=${HOSTILE}`,
    name: HOSTILE,
    startTimeUnixNano: '1763700000000000000',
    attributes: all,
    events: [{ name: HOSTILE, attributes: all }],
    links: [{ traceId: 'd'.repeat(32), spanId, traceState: HOSTILE, attributes: all }],
    status: { code: 2, message: HOSTILE },
  };
  const scope = { name: HOSTILE, version: HOSTILE, attributes: all };
  const scopeSpans = [{ scope, schemaUrl: HOSTILE, spans: [span] }];
  return { resourceSpans: [{ resource: { attributes: all }, schemaUrl: HOSTILE, scopeSpans }] };
}

test('no text of a request becomes part of a statement, whatever way it comes in', {
  skip: noPostgres(),
}, async (t) => {
  await using server = await startOwnPostgres({
    log_statement: 'all',
    log_parameter_max_length: '0',
    logging_collector: 'on',
  });
  const url = await server.createDatabase();
  const [setting] = await runSql(url, 'SHOW log_statement');
  if (setting?.log_statement !== 'all')
    return t.skip('the server of DATABASE_URL does not log its statements');
  const spool = mkdtempSync(join(tmpdir(), 'observatory-sql-'));
  t.after(() => rmSync(spool, { recursive: true, force: true }));
  const proxy = await startProxy(Number(new URL(url).port));
  const through = new URL(url);
  through.port = String(proxy.port);
  const first = await startCollector({
    databaseUrl: through.href,
    http: ANYWHERE,
    grpc: ANYWHERE,
    spool,
    captureContent: true,
  });
  const target = `${first.httpUrl}/v1/traces`;
  const protobuf = { 'content-type': 'application/x-protobuf' };
  const json = Buffer.from(JSON.stringify(hostileRequest('000000000000000b')));
  const caller = new GrpcCaller(first.grpcAddress ?? '');
  assert.equal(
    (await post(target, protobuf, encodeProtobuf(hostileRequest('000000000000000a')))).status,
    200,
  );
  assert.equal((await post(target, { 'content-type': 'application/json' }, json)).status, 200);
  assert.equal((await caller.call(encodeProtobuf(hostileRequest('000000000000000c')))).code, 0);
  // Sent again: rows that are there already take another way into the table.
  assert.equal((await caller.call(encodeProtobuf(hostileRequest('000000000000000c')))).code, 0);
  await proxy.close();
  assert.equal((await caller.call(encodeProtobuf(hostileRequest('000000000000000d')))).code, 0);
  caller.close();
  await first.close();
  const second = await startCollector({
    databaseUrl: url,
    http: ANYWHERE,
    grpc: false,
    spool,
    captureContent: true,
  });
  await waitUntil(() => second.stats.drained === 1, 30_000);
  await second.close();

  const names = await runSql(url, 'SELECT span_name, service FROM mcp_traces');
  assert.deepEqual(
    names,
    Array.from({ length: 4 }, () => ({ span_name: HOSTILE, service: HOSTILE })),
  );
  const [log] = await runSql(url, 'SELECT pg_read_file(pg_current_logfile()) AS text');
  const text = String(log?.text);
  assert.match(text, /statement: .*COPY/);
  const guilty = text
    .split('\n')
    .filter((line) => line.includes('MARK') || line.includes('DROP TABLE mcp_traces;--'));
  assert.deepEqual(guilty, []);
});
