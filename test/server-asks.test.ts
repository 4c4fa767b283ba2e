/** Servers that ask without end: what they make a client hold is bounded, whether they read the answers or not. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { AnswerBacklog } from '../src/mcp-client/answer-backlog.ts';
import { answersInTurn } from '../src/mcp-client/answers-in-turn.ts';
import { connectServers } from '../src/mcp-client/index.ts';
import { RetryField } from '../src/mcp-client/retry-field.ts';
import { askingStdio } from './support/hostile-server.ts';
import { listen } from './support/http-server.ts';
import { assertFree } from './support/loop-hold.ts';
import { waitUntil } from './support/wait-until.ts';

/** Resolves when `count` no longer grows. */
async function stopped(count: () => number): Promise<void> {
  let before = -1;
  await waitUntil(async () => {
    const now = count();
    const isStill = now > 0 && now === before;
    before = now;
    await delay(150);
    return isStill;
  });
}

test('a server over stdio that asks and does not read is read no further, and closed without a long turn', async () => {
  await assertFree('the flood and the close', async () => {
    const pool = await connectServers({ mcpServers: { s: askingStdio('ping') } });
    const [server] = pool.servers;
    await stopped(() => Number(/\d+(?=\n$)/.exec(server?.stderr ?? '')?.[0] ?? 0));
    assert.equal(server?.state, 'ready');
    await pool.close();
  });
});

test('a server over HTTP that takes no answers is read no further, and closed without a long turn', async () => {
  let asked = 0;
  let answers = 0;
  const ask = async (stream: ServerResponse): Promise<void> => {
    stream.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!stream.destroyed) {
      asked += 1;
      const ping = `data: {"jsonrpc":"2.0","id":"${asked}","method":"ping"}\n\n`;
      if (!stream.write(ping)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
    }
  };
  const http = createServer(async (request, response) => {
    if (request.method === 'GET') return ask(response);
    if (request.method === 'DELETE') return response.end();
    const { id, method } = JSON.parse(await text(request)) as { id?: unknown; method?: string };
    // An answer, which is never taken.
    if (method === undefined) {
      answers += 1;
      return undefined;
    }
    if (id === undefined) return response.writeHead(202).end();
    const capabilities = { tools: {} };
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 's', version: '1' } }
        : { tools: [] };
    const headers = { 'content-type': 'application/json' };
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  await using server = await listen(http);
  const url = `${server.origin}/mcp`;
  for (const protocol of ['v1', 'v2']) {
    await assertFree(`the flood and the close, client ${protocol}`, async () => {
      answers = 0;
      const pool = await connectServers({ mcpServers: { s: { url, protocol } } });
      await stopped(() => asked);
      assert.equal(answers, 8);
      assert.equal(pool.server('s').state, 'ready');
      await pool.close();
    });
  }
});

test('of requests that wait for a model or a person, a few dozen are held, and the others refused', async () => {
  let held = 0;
  const onSampling = async () => {
    held += 1;
    return await new Promise<never>(() => undefined);
  };
  await using pool = await connectServers(
    { mcpServers: { s: askingStdio('sampling/createMessage', 200) } },
    { handlers: { onSampling } },
  );
  await waitUntil(() => / 168 refused/.test(pool.server('s').stderr));
  assert.equal(held, 32);
});

test('a backlog is full by number or bytes, and given up when nothing is taken for ten seconds', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const given: string[] = [];
  const backlog = new AnswerBacklog(({ message }) => given.push(message));
  const taken = Array.from({ length: 256 }, () => backlog.add(10));
  assert.equal(backlog.isFull, true);
  let isRoom = false;
  const room = backlog.room().then(() => {
    isRoom = true;
  });
  context.mock.timers.tick(9_999);
  await Promise.resolve();
  assert.deepEqual([given, isRoom], [[], false]);
  context.mock.timers.tick(1);
  assert.match(given.join(), /^the server asks and does not read: 256 answers to its requests wait/);
  taken[0]?.();
  await room;
  for (const take of taken.slice(1)) take();
  const large = backlog.add(8 * 1024 * 1024);
  assert.equal(backlog.isFull, true);
  await backlog.room(AbortSignal.abort());
  large();
  assert.equal(backlog.isFull, false);
});

test('answers that wait when a transport is closed are dropped, and take no turn', async () => {
  const closing = new AbortController();
  let sent = 0;
  const backlog = new AnswerBacklog(() => undefined);
  const send = answersInTurn(async (_input, init) => {
    sent += 1;
    await once(init?.signal as AbortSignal, 'abort');
    throw new Error('closed');
  }, backlog);
  const answer = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"result":{}}', signal: closing.signal };
  const first = Array.from({ length: 200 }, () => send('http://a.test', answer)).slice(0, 8);
  closing.abort();
  await assert.rejects(Promise.all(first), /closed/);
  await delay(1);
  assert.equal(sent, 8);
  const another = new AbortController();
  const next = send('http://a.test', { ...answer, signal: another.signal });
  another.abort();
  await assert.rejects(next, /closed/);
  assert.equal(sent, 9);
});

test('the wait that an event stream asks for is bounded, however its bytes are cut', () => {
  const bounded = (stream: string, step: number): string => {
    const retry = new RetryField();
    const bytes = Buffer.from(stream);
    const given: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += step) {
      const chunk = bytes.subarray(at, at + step);
      const text = new Uint8Array(RetryField.mostBytes(chunk.length));
      let length = 0;
      for (const byte of chunk) {
        if (byte === 0x0a) length = retry.endLine(text, length);
        if (byte !== 0x0a && retry.isHolding) length = retry.take(byte, text, length);
        else text[length++] = byte;
      }
      given.push(Buffer.from(text.subarray(0, length)));
    }
    return Buffer.concat(given).toString('utf8');
  };
  for (const step of [1, 3, 7, 1_000]) {
    const expect = (given: string, expected: string) =>
      assert.equal(bounded(given, step), expected, `${given} in pieces of ${step}`);
    expect('retry: 99999999999\n\n', 'retry:300000\n\n');
    expect('\ufeffretry:99999999999\n', 'retry:300000\n');
    expect(`retry: ${'9'.repeat(400)}\n`, 'retry:300000\n');
    expect('retry:0\nretry: 1\n', 'retry:100\nretry:100\n');
    expect('id: 1\nretry: 1500\ndata: {}\n\n', 'id: 1\nretry:1500\ndata: {}\n\n');
    expect('retry\nretries: 0\nret\ndata: retry: 0\n', 'retry\nretries: 0\nret\ndata: retry: 0\n');
    expect('retry: -1\nretry: soon\n', 'retry:\nretry:\n');
    expect('data: \u00e9\n\n', 'data: \u00e9\n\n');
  }
});
