import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Collector, startCollector } from '../src/collector/index.ts';
import type { Database } from '../src/postgres/index.ts';
import { post } from './support/http-post.ts';
import { spanRequest } from './support/span-requests.ts';

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const LOOPBACK = { host: '127.0.0.1', port: 0 };

/** A database that takes everything. */
const database = {
  kind: 'postgres',
  name: 'nothing',
  query: async () => ({ rows: [{ is_there: true }] }),
  close: async () => {},
} as unknown as Database;

describe('pages of other sites', () => {
  let open: Collector;
  let closed: Collector;
  let wide: Collector;
  let allowing: Collector;
  before(async () => {
    const common = { database, migrate: false, http: LOOPBACK, grpc: LOOPBACK } as const;
    open = await startCollector(common);
    closed = await startCollector({ ...common, grpc: false, tokens: ['t'.repeat(24)] });
    allowing = await startCollector({ ...common, grpc: false, corsOrigins: ['https://app.example.com'] });
    wide = await startCollector({
      ...common,
      http: { host: '0.0.0.0', port: 0 },
      grpc: false,
      insecure: true,
    });
  });
  after(async () => {
    await Promise.all([open, closed, wide, allowing].map((collector) => collector.close()));
  });

  const send = (collector: Collector, headers: Readonly<Record<string, string>>) =>
    post(`${collector.httpUrl}/v1/traces`, { ...PROTOBUF, ...headers }, spanRequest(1).body).then(
      ({ status }) => status,
    );

  for (const host of ['evil.com', 'evil.com:4318', '127.0.0.1.nip.io', 'localhost.evil.com', 'a b']) {
    test(`a port of this machine refuses the name ${host}, with which a page may have come here`, async () => {
      assert.equal(await send(open, { host }), 403);
    });
  }

  for (const host of [
    'localhost:4318',
    '127.0.0.1:4318',
    '[::1]:4318',
    'otel-collector:4318',
    'host.docker.internal:4318',
    'collector.observability.svc.cluster.local',
  ]) {
    test(`it serves ${host}`, async () => {
      assert.equal(await send(open, { host }), 200);
    });
  }

  test('a port that others reach serves every name, since it may be that of a service', async () => {
    const url = wide.httpUrl?.replace('0.0.0.0', '127.0.0.1');
    const { status } = await post(
      `${url}/v1/traces`,
      { ...PROTOBUF, host: 'otel.example.com' },
      spanRequest(1).body,
    );
    assert.equal(status, 200);
  });

  test('a page of another site is refused whatever the port is bound to, one of the same address is not', async () => {
    for (const collector of [open, wide]) {
      const url = collector.httpUrl?.replace('0.0.0.0', '127.0.0.1') ?? '';
      for (const [origin, expected] of [
        ['http://evil.com', 403],
        ['null', 403],
        [url, 200],
      ] as const) {
        const { status } = await post(`${url}/v1/traces`, { ...PROTOBUF, origin }, spanRequest(1).body);
        assert.equal(status, expected, origin);
      }
    }
  });

  test('a page whose origin is allowed may send, and its browser is told so', async () => {
    const origin = 'https://app.example.com';
    const url = `${allowing.httpUrl}/v1/traces`;
    const asks = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    };
    const preflight = await fetch(url, { method: 'OPTIONS', headers: asks });
    const sent = await post(url, { ...PROTOBUF, origin }, spanRequest(1).body);
    const foreign = await post(url, { ...PROTOBUF, origin: 'https://evil.com' }, spanRequest(1).body);
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, origin]);
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'content-type');
    assert.deepEqual([sent.status, sent.headers['access-control-allow-origin']], [200, origin]);
    assert.deepEqual([foreign.status, foreign.headers['access-control-allow-origin']], [403, undefined]);
    assert.notEqual(
      (await fetch(`${open.httpUrl}/v1/traces`, { method: 'OPTIONS', headers: asks })).status,
      204,
    );
  });

  test('where senders show a token, names and origins do not matter', async () => {
    const authorization = `Bearer ${'t'.repeat(24)}`;
    assert.equal(
      await send(closed, { host: 'otel.example.com', origin: 'https://app.example.com', authorization }),
      200,
    );
    assert.equal(await send(closed, { host: 'otel.example.com' }), 401);
  });
});
