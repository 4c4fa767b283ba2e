import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLoopback } from '../src/golden/index.ts';

test('a loopback server answers with what the handler makes of method, path and body', async () => {
  await using loopback = await openLoopback((request, response) => {
    response.end(JSON.stringify(request));
  });
  const answer = await fetch(`${loopback.url}/a/b?c=1`, { method: 'POST', body: 'ä' });
  assert.deepEqual(await answer.json(), { method: 'POST', path: '/a/b?c=1', body: 'ä' });
  assert.equal(new URL(loopback.url).hostname, '127.0.0.1');
});

test('a handler that throws is answered for, and an answer that has begun is cut', async () => {
  await using plain = await openLoopback(() => {
    throw new Error('of the handler');
  });
  const fault = await fetch(plain.url);
  assert.deepEqual([fault.status, await fault.text()], [500, 'Error: of the handler']);
  await using own = await openLoopback(
    async (request, response) => {
      if (request.path === '/late') response.write('begun');
      throw new Error('of the handler');
    },
    (response, error) => void response.writeHead(409).end((error as Error).message),
  );
  const refused = await fetch(own.url);
  assert.deepEqual([refused.status, await refused.text()], [409, 'of the handler']);
  await assert.rejects(async () => (await fetch(`${own.url}/late`)).text());
});

test('closing ends connections that wait for an answer, and may be done again', async () => {
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const loopback = await openLoopback(() => asked());
  const cut = assert.rejects(fetch(loopback.url));
  await isAsked;
  await Promise.all([loopback.close(), loopback.close()]);
  await cut;
  await loopback.close();
  await assert.rejects(fetch(loopback.url));
});
