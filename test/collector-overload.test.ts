/** What the collector does not take, it does not read; what it takes, it finishes; who sends slowly loses the place. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { type Collector, type CollectorOptions, startCollector } from '../src/collector/index.ts';
import { TRACE_EXPORT } from './support/grpc-caller.ts';
import { post } from './support/http-post.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { longTest } from './support/size.ts';
import { spanRequest } from './support/span-requests.ts';
import { waitUntil } from './support/wait-until.ts';

const ANYWHERE = { host: '127.0.0.1', port: 0 };
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

describe('the collector under more than it can take', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  async function open(
    options: Partial<CollectorOptions> = {},
  ): Promise<{ url: string; collector: Collector }> {
    const url = await server.createMigrated();
    return {
      url,
      collector: await startCollector({ databaseUrl: url, http: ANYWHERE, grpc: ANYWHERE, ...options }),
    };
  }

  /** A connection that has sent this head of a POST, with what it was answered so far. */
  async function start(collector: Collector, head: string): Promise<{ socket: Socket; said: () => string }> {
    const port = Number(new URL(collector.httpUrl ?? '').port);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let said = '';
    socket.setEncoding('latin1').on('data', (text) => {
      said += text;
    });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(
      `POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-protobuf\r\n${head}\r\n`,
    );
    return { socket, said: () => said };
  }

  const send = (collector: Collector, body: Buffer) => post(`${collector.httpUrl}/v1/traces`, PROTOBUF, body);

  async function untilAnswered(status: number, ask: () => Promise<{ status: number }>): Promise<void> {
    const endsAt = Date.now() + 20_000;
    while ((await ask()).status !== status) assert.ok(Date.now() < endsAt, `never answered ${status}`);
  }

  const healthy = async (collector: Collector) =>
    assert.equal((await fetch(`${collector.httpUrl}/healthz`)).status, 200);

  test('room is reserved for an announced body before it comes; what does not fit is refused unread and cut off', async () => {
    const { collector } = await open({ maxBodyBytes: 5000, maxPendingBytes: 10_000 });
    await using _ = collector;
    const first = await start(collector, 'Content-Length: 4000\r\n');
    await healthy(collector);
    const second = await start(collector, 'Content-Length: 4000\r\n');
    await once(second.socket, 'end');
    assert.match(second.said(), /^HTTP\/1\.1 429 .*retry-after: 1\r\n.*connection: close\r\n/is);
    const sending = setInterval(() => second.socket.write(Buffer.alloc(100)), 50);
    await new Promise((resolve) => second.socket.once('close', resolve));
    clearInterval(sending);

    const asked = await start(collector, 'Content-Length: 4000\r\nExpect: 100-continue\r\n');
    await once(asked.socket, 'end');
    assert.match(asked.said(), /^HTTP\/1\.1 429 /, 'the body is not asked for');
    asked.socket.destroy();
    // A body of unknown length starts with a small reservation, which does not fit either.
    const chunked = await start(collector, 'Transfer-Encoding: chunked\r\n');
    await once(chunked.socket, 'end');
    assert.match(chunked.said(), /^HTTP\/1\.1 429 /);
    chunked.socket.destroy();
    const tooLarge = await start(collector, 'Content-Length: 5001\r\n');
    await once(tooLarge.socket, 'end');
    assert.match(tooLarge.said(), /^HTTP\/1\.1 413 /);
    tooLarge.socket.destroy();

    first.socket.destroy();
    await untilAnswered(200, () => send(collector, spanRequest(1).body));
    const continued = await start(collector, 'Content-Length: 100\r\nExpect: 100-continue\r\n');
    await waitUntil(() => continued.said() !== '');
    assert.match(continued.said(), /^HTTP\/1\.1 100 Continue/);
    continued.socket.destroy();
  });

  test('over gRPC, room is reserved as soon as the message says its length', async () => {
    const { collector } = await open({ maxBodyBytes: 5000, maxPendingBytes: 10_000 });
    await using _ = collector;
    const session = connectHttp2(`http://${collector.grpcAddress}`);
    session.on('error', () => {});
    const call = () => {
      const headers = {
        ':method': 'POST',
        ':path': TRACE_EXPORT,
        'content-type': 'application/grpc',
        te: 'trailers',
      };
      const stream = session.request(headers);
      stream.on('error', () => {});
      const status = once(stream, 'response').then(([answer]) => Number(answer['grpc-status'] ?? 0));
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(4000, 1);
      stream.write(prefix);
      return { stream, status };
    };
    const first = call();
    await untilAnswered(429, () => send(collector, Buffer.alloc(2000)));
    const second = call();
    assert.equal(await second.status, 14);
    first.stream.close();
    await untilAnswered(200, () => send(collector, spanRequest(1).body));
    session.destroy();
  });

  test('a request whose body was let in is written, although it has to wait for its turn', async () => {
    const { url, collector } = await open({ maxPendingSpans: 10 });
    await using _ = collector;
    const bodies = Array.from({ length: 6 }, () => spanRequest(10).body);
    const entered = await Promise.all(
      bodies.map((body) => start(collector, `Content-Length: ${body.length}\r\n`)),
    );
    await healthy(collector);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE mcp_traces IN ACCESS EXCLUSIVE MODE');
    for (const [i, { socket }] of entered.entries()) socket.write(bodies[i] ?? '');
    await waitUntil(() => collector.stats.waiting === 10);
    assert.equal((await send(collector, spanRequest(1).body)).status, 429, 'no more are let in');
    // A sender that goes away gives its turn to the next.
    entered[3]?.socket.destroy();
    await healthy(collector);
    await client.end();
    await waitUntil(() => entered.every(({ said }, i) => i === 3 || said().startsWith('HTTP/1.1 200')));
    const [row] = await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces');
    assert.equal(row?.rows, 50);
    for (const { socket } of entered) socket.destroy();
  });

  longTest('senders of slow bodies lose their places within seconds, over HTTP and gRPC', async () => {
    const { collector } = await open({ maxRequests: 4, tokens: ['t'] });
    await using _ = collector;
    const slow = await Promise.all(
      ['Content-Length: 1000\r\n', 'Content-Length: 1000\r\n', 'Transfer-Encoding: chunked\r\n'].map((head) =>
        start(collector, `Authorization: Bearer t\r\n${head}`),
      ),
    );
    const session = connectHttp2(`http://${collector.grpcAddress}`);
    session.on('error', () => {});
    const stream = session.request({
      ':method': 'POST',
      ':path': TRACE_EXPORT,
      'content-type': 'application/grpc',
      authorization: 'Bearer t',
    });
    stream.on('error', () => {});
    stream.write(Buffer.alloc(3));
    const trickle = setInterval(() => {
      for (const { socket } of slow.slice(0, 2)) socket.write('x');
    }, 200);
    const honest = () =>
      post(`${collector.httpUrl}/v1/traces`, { ...PROTOBUF, authorization: 'Bearer t' }, spanRequest(1).body);
    await untilAnswered(429, honest);
    const [answer] = (await once(stream, 'response')) as [Record<string, string>];
    assert.equal(answer['grpc-status'], '14');
    await waitUntil(() => slow.every(({ said }) => said().startsWith('HTTP/1.1 503')));
    for (const { said } of slow) assert.match(said(), /retry-after: 1\r\n.*connection: close/is);
    assert.equal((await honest()).status, 200);
    clearInterval(trickle);
    session.destroy();
    for (const { socket } of slow) socket.destroy();
  });
});
