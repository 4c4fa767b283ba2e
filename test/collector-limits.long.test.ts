import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { type Collector, type CollectorOptions, startCollector } from '../src/collector/index.ts';
import { makeCertificates, noOpenssl } from './support/certificates.ts';
import { GrpcCaller } from './support/grpc-caller.ts';
import { post } from './support/http-post.ts';
import { decodeMessage } from './support/otlp-encode.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { spanRequest } from './support/span-requests.ts';
import { startProxy } from './support/tcp-proxy.ts';
import { waitUntil } from './support/wait-until.ts';

const ANYWHERE = { host: '127.0.0.1', port: 0 };
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

describe('bounds and doors of the collector', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let folder: string;
  before(async () => {
    server = await startPostgres();
    folder = mkdtempSync(join(tmpdir(), 'observatory-collector-'));
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(
    options: Partial<CollectorOptions> = {},
  ): Promise<{ url: string; collector: Collector }> {
    const url = options.databaseUrl ?? (await server.createMigrated());
    return {
      url,
      collector: await startCollector({ databaseUrl: url, http: ANYWHERE, grpc: ANYWHERE, ...options }),
    };
  }

  const send = (collector: Collector, body = spanRequest(1).body, headers: Record<string, string> = {}) =>
    post(`${collector.httpUrl}/v1/traces`, { ...PROTOBUF, ...headers }, body);

  const countRows = async (url: string) => {
    const [row] = await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces');
    return row?.rows;
  };

  /** Keeps everybody from writing until it is disposed of. */
  async function lockTable(url: string): Promise<AsyncDisposable> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE mcp_traces IN ACCESS EXCLUSIVE MODE');
    return { [Symbol.asyncDispose]: () => client.end() };
  }

  test('lets in who shows one of the tokens, and nobody else', async () => {
    const { collector } = await open({ tokens: ['first', 'second'] });
    await using _ = collector;
    const statusOf = async (authorization?: string) =>
      (await send(collector, undefined, authorization === undefined ? {} : { authorization })).status;
    assert.deepEqual(
      [
        await statusOf('Bearer first'),
        await statusOf('bearer second'),
        await statusOf(),
        await statusOf('Bearer third'),
      ],
      [200, 200, 401, 401],
    );
    assert.deepEqual([await statusOf('Basic first'), await statusOf('Bearer first second')], [401, 401]);
    const refused = await send(collector);
    assert.equal(refused.headers['www-authenticate'], 'Bearer');
    assert.equal(decodeMessage('RpcStatus', refused.body).code, 16);
    const caller = new GrpcCaller(collector.grpcAddress ?? '');
    assert.equal((await caller.call(spanRequest(1).body)).code, 16);
    assert.equal((await caller.call(spanRequest(1).body, { authorization: 'Bearer first' })).code, 0);
    caller.close();
    assert.equal((await fetch(`${collector.httpUrl}/readyz`)).status, 200);
  });

  test('lets in who has a certificate of the authority, over HTTP and gRPC', {
    skip: noOpenssl(),
  }, async () => {
    using files = makeCertificates();
    const { certFile: cert, keyFile: key } = files.server;
    const tls = { cert, key, clientCa: files.authorityFile };
    const { collector } = await open({ tls, health: ANYWHERE });
    await using _ = collector;
    const statusOf = (identity?: { cert: Buffer; key: Buffer }) =>
      new Promise<number | string | undefined>((resolve) => {
        const { cert: clientCert, key: clientKey } = identity ?? {};
        const own = { ...(clientCert ? { cert: clientCert } : {}), ...(clientKey ? { key: clientKey } : {}) };
        const options = { method: 'POST', headers: PROTOBUF, ca: files.authority, agent: false, ...own };
        const sent = secureRequest(`${collector.httpUrl}/v1/traces`, options, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        sent.on('error', () => resolve('refused'));
        sent.end(spanRequest(1).body);
      });
    assert.deepEqual(
      [await statusOf(files.client), await statusOf(files.stranger), await statusOf()],
      [200, 'refused', 'refused'],
    );
    const known = new GrpcCaller(collector.grpcAddress ?? '', { ca: files.authority, ...files.client });
    assert.equal((await known.call(spanRequest(3).body)).code, 0);
    known.close();
    const stranger = new GrpcCaller(collector.grpcAddress ?? '', { ca: files.authority, ...files.stranger });
    await assert.rejects(stranger.call(spanRequest(3).body));
    stranger.close();
    assert.equal((await fetch(`${collector.healthUrl}/readyz`)).status, 200);
    assert.equal((await fetch(`${collector.healthUrl}/v1/traces`)).status, 404);
  });

  for (const [name, limits] of [
    ['requests', { maxRequests: 1 }],
    ['spans', { maxPendingSpans: 10 }],
    ['bytes', { maxBodyBytes: 700, maxPendingBytes: 700 }],
  ] as const) {
    test(`tells senders to come again when too many ${name} are under way, and takes them then`, async () => {
      const { url, collector } = await open(limits);
      await using _ = collector;
      const caller = new GrpcCaller(collector.grpcAddress ?? '');
      const lock = await lockTable(url);
      const first = send(collector, spanRequest(10).body);
      await waitUntil(() => collector.stats.waiting === 10);
      const second = spanRequest(10);
      const refused = await send(collector, second.body);
      assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1']);
      assert.equal(decodeMessage('RpcStatus', refused.body).code, 14);
      const call = await caller.call(second.body);
      assert.deepEqual([call.code, call.retryAfter], [14, 1]);
      await lock[Symbol.asyncDispose]();
      assert.equal((await first).status, 200);
      assert.equal((await send(collector, second.body)).status, 200);
      assert.equal(await countRows(url), 20);
      caller.close();
    });
  }

  test('takes requests together that come while others are being written', async () => {
    const { url, collector } = await open({ connections: 1 });
    await using _ = collector;
    const lock = await lockTable(url);
    const requests = Array.from({ length: 30 }, () => send(collector, spanRequest(5).body));
    await waitUntil(() => collector.stats.waiting === 150);
    await lock[Symbol.asyncDispose]();
    const answers = await Promise.all(requests);
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal(await countRows(url), 150);
  });

  test('writes a request that is larger than a batch, and one alone that is larger than what may wait', async () => {
    const { url, collector } = await open({ maxPendingSpans: 100 });
    await using _ = collector;
    assert.equal((await send(collector, spanRequest(2500).body)).status, 200);
    assert.equal(await countRows(url), 2500);
  });

  test('gives the place of a sender back that goes away in the middle', async () => {
    const { collector } = await open({ maxRequests: 1 });
    await using _ = collector;
    const headers = { ...PROTOBUF, 'content-length': '1000' };
    const leaving = request(`${collector.httpUrl}/v1/traces`, { method: 'POST', headers, agent: false });
    leaving.on('error', () => {});
    leaving.write(Buffer.alloc(10));
    await waitForStatus(collector, 429);
    leaving.destroy();
    await waitForStatus(collector, 200);
  });

  async function waitForStatus(collector: Collector, status: number): Promise<void> {
    let last: number | undefined;
    const ask = async (): Promise<void> => {
      while (last !== status) last = (await send(collector)).status;
    };
    void ask();
    await waitUntil(() => last === status, 20_000);
  }

  test('says which spans the database refused, and stores the others', async () => {
    const { url, collector } = await open();
    await using _ = collector;
    await runSql(url, "ALTER TABLE mcp_traces ADD CONSTRAINT no_bad CHECK (span_name <> 'bad')");
    const good = spanRequest(3);
    assert.equal((await send(collector, good.body)).body.length, 0);
    const bad = spanRequest(2, { name: 'bad' });
    const answer = await send(collector, Buffer.concat([bad.body, spanRequest(1).body]));
    assert.equal(answer.status, 200);
    const { partialSuccess } = decodeMessage('ExportTraceServiceResponse', answer.body);
    assert.deepEqual(partialSuccess, {
      rejectedSpans: 2,
      errorMessage: 'Spans not stored: 2 refused by the database for what is in them',
    });
    assert.equal(await countRows(url), 4);
  });

  test('without a spool, tells senders to come again while the database is away', async () => {
    const url = new URL(await server.createDatabase());
    const proxy = await startProxy(Number(url.port));
    const through = new URL(url);
    through.port = String(proxy.port);
    const { collector } = await open({ databaseUrl: through.href });
    await using _ = collector;
    assert.equal((await send(collector)).status, 200);
    await proxy.close();
    const answer = await send(collector);
    assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5']);
    const ready = await fetch(`${collector.httpUrl}/readyz`);
    const { database } = (await ready.json()) as { database: string };
    assert.deepEqual([ready.status, database], [503, 'down']);
    assert.equal(await countRows(url.href), 1);
  });

  test('with a spool, takes spans while the database is away, until the spool is full', async () => {
    const url = new URL(await server.createDatabase());
    const proxy = await startProxy(Number(url.port));
    const through = new URL(url);
    through.port = String(proxy.port);
    const spool = join(folder, 'full');
    const { collector } = await open({ databaseUrl: through.href, spool, spoolMaxBytes: 3000 });
    assert.equal((await send(collector)).status, 200);
    await proxy.close();
    const taken: string[] = [];
    for (;;) {
      const next = spanRequest(5);
      const { status } = await send(collector, next.body);
      if (status === 503) break;
      assert.equal(status, 200);
      taken.push(...next.ids);
    }
    assert.ok(taken.length >= 5);
    assert.equal((await fetch(`${collector.httpUrl}/healthz`)).status, 200);
    await collector.close();
    const next = await open({ databaseUrl: url.href, spool });
    await waitUntil(() => next.collector.stats.drained === taken.length, 30_000);
    await next.collector.close();
    assert.equal(await countRows(url.href), taken.length + 1);
  });

  test('answers what is under way when it is closed, and takes nothing new', async () => {
    const { url, collector } = await open();
    const lock = await lockTable(url);
    const underWay = send(collector, spanRequest(5).body);
    await waitUntil(() => collector.stats.waiting === 5);
    const late = connect(Number(new URL(collector.httpUrl ?? '').port), '127.0.0.1');
    await once(late, 'connect');
    late.write('POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n');
    // The server has read that much when it answers another connection.
    assert.equal((await fetch(`${collector.httpUrl}/healthz`)).status, 200);
    const closed = collector.close();
    late.write('Content-Type: application/json\r\n\r\n');
    const [refusal] = (await once(late, 'data')) as [Buffer];
    assert.match(refusal.toString(), /^HTTP\/1.1 503 .*retry-after: 1\r\n.*connection: close/is);
    await lock[Symbol.asyncDispose]();
    const answer = await underWay;
    assert.deepEqual([answer.status, answer.headers.connection], [200, 'close']);
    await closed;
    await assert.rejects(send(collector));
    assert.equal(await countRows(url), 5);
  });
});
