/** Redirects are followed within the origin of a request only: whoever answers it gets its headers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpTransportV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { fetchWithinOrigin } from '../src/base/index.ts';
import { connectServers } from '../src/mcp-client/index.ts';
import { createProvider, ProviderError, userText } from '../src/orchestrator/providers/index.ts';
import { gateClient, PolicyGate } from '../src/policy/index.ts';
import { startRedirecting } from './support/redirecting-server.ts';

const HEADERS = { 'x-api-key': 'secret' };

for (const protocol of ['v1', 'v2'] as const) {
  const connect = (url: string, type?: 'sse') =>
    connectServers({ mcpServers: { s: { url, protocol, headers: HEADERS, ...(type && { type }) } } });

  test(`a call that is redirected to another origin fails, names it and does not get there, client ${protocol}`, async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      await using server = await startRedirecting(({ what, elsewhere }) =>
        what === 'tools/call' ? [status, `${elsewhere}/latest/meta-data`] : undefined,
      );
      await using pool = await connect(server.url);
      const outcome = await pool.callTool('s', 't', {});
      assert.equal(outcome.kind, 'transport_error', String(status));
      assert.match(
        'message' in outcome ? outcome.message : '',
        new RegExp(`redirects to ${server.elsewhere}`),
      );
      assert.deepEqual(server.reachedElsewhere, []);
    }
  });

  test(`a server that redirects its first request elsewhere fails with REDIRECT_REFUSED, client ${protocol}`, async () => {
    for (const type of [undefined, 'sse'] as const) {
      await using server = await startRedirecting(({ elsewhere }) => [307, `${elsewhere}/admin`]);
      await using pool = await connect(server.url, type);
      const [{ state, error } = {}] = pool.servers;
      assert.equal(state, 'failed');
      assert.match(error?.message ?? '', new RegExp(`^Server "s": .* redirects to ${server.elsewhere}`));
      assert.equal(error?.code, 'REDIRECT_REFUSED');
      assert.deepEqual(server.reachedElsewhere, []);
    }
  });

  test(`redirects of event streams and of the end of a session stay in the origin, client ${protocol}`, async () => {
    await using server = await startRedirecting(({ what, elsewhere }) =>
      what === 'GET' || what === 'DELETE' ? [307, elsewhere] : undefined,
    );
    const pool = await connect(server.url);
    assert.equal((await pool.callTool('s', 't', {})).kind, 'ok');
    await pool.close();
    const asked = server.asked.map(({ method }) => method);
    assert.ok(asked.includes('GET') && asked.includes('DELETE'), asked.join());
    assert.deepEqual(server.reachedElsewhere, []);
  });

  test(`a redirect within the origin is followed, with method, body and headers, client ${protocol}`, async () => {
    await using server = await startRedirecting(({ path }) =>
      path === '/mcp' ? [308, '/v2/mcp'] : undefined,
    );
    await using pool = await connect(server.url);
    assert.equal((await pool.callTool('s', 't', {})).kind, 'ok');
    const calls = server.asked.filter(({ body }) => body.includes('tools/call'));
    assert.deepEqual(
      calls.map(({ method, path, headers }) => [method, path, headers['x-api-key']]),
      [
        ['POST', '/mcp', 'secret'],
        ['POST', '/v2/mcp', 'secret'],
      ],
    );
  });
}

test('a client that the application made is kept within the origin behind the gate', async () => {
  const clients = [
    [new Client({ name: 'test', version: '1' }), StreamableHTTPClientTransport],
    [new ClientV2({ name: 'test', version: '1' }), HttpTransportV2],
  ] as const;
  for (const [client, Http] of clients) {
    await using server = await startRedirecting(({ what, elsewhere }) =>
      what === 'tools/call' || what === 'GET' ? [307, elsewhere] : undefined,
    );
    using gate = new PolicyGate({ policy: { s: ['t'] } });
    const gated = gateClient(client as Client, gate, { server: 's' });
    const init = { requestInit: { headers: HEADERS }, redirectPolicy: 'follow' as const };
    await gated.connect(new Http(new URL(server.url), init) as unknown as Parameters<Client['connect']>[0]);
    await assert.rejects(gated.callTool({ name: 't', arguments: {} }), /redirects to http/);
    await gated.close();
    assert.deepEqual(server.reachedElsewhere, []);
  }
});

test('the key of a model provider goes to no other origin', async () => {
  for (const provider of ['openai', 'anthropic', 'gemini']) {
    await using server = await startRedirecting(({ elsewhere }) => [307, `${elsewhere}/v1/models`]);
    const { createCompletion } = await createProvider(provider, {
      apiKey: 'sk-test-abcdef0123456789',
      model: 'some-model',
      baseUrl: new URL(server.url).origin,
      retry: { initialDelayMs: 1, maxDelayMs: 2 },
    });
    await assert.rejects(createCompletion([userText('hello')], []), (error) => {
      assert.ok(error instanceof ProviderError, String(error));
      assert.match(error.message, new RegExp(`redirects to ${server.elsewhere}`), provider);
      return true;
    });
    assert.deepEqual(server.reachedElsewhere, []);
  }
});

/** What a request becomes that is redirected once, as method and body. */
async function redirected(method: string, status: number): Promise<readonly (string | undefined)[]> {
  const { signal } = new AbortController();
  const sent: RequestInit[] = [];
  const fetchOnce = fetchWithinOrigin(async (_input, init = {}) => {
    sent.push(init);
    const headers = { location: '/b' };
    return sent.length === 1 ? new Response('moved', { status, headers }) : new Response('done');
  });
  const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } };
  assert.equal(await (await fetchOnce('http://a.test/a', { method, signal, ...body })).text(), 'done');
  const [, after] = sent;
  assert.equal(after?.signal, signal);
  assert.equal(
    new Headers(after?.headers).get('content-type'),
    after?.body === undefined ? null : 'application/json',
  );
  return [after?.method, after?.body as string | undefined];
}

test('method and body after a redirect are those of the Fetch standard', async () => {
  for (const status of [307, 308]) assert.deepEqual(await redirected('POST', status), ['POST', '{}']);
  for (const status of [301, 302, 303])
    assert.deepEqual(await redirected('POST', status), ['GET', undefined]);
  assert.deepEqual(await redirected('DELETE', 302), ['DELETE', '{}']);
  assert.deepEqual(await redirected('DELETE', 303), ['GET', undefined]);
  assert.deepEqual(await redirected('GET', 301), ['GET', undefined]);
});

test('another scheme, port or host, user info, too many redirects and streams are refused', async () => {
  const follow = (location: string, init?: RequestInit) =>
    fetchWithinOrigin(async () => new Response(null, { status: 307, headers: { location } }))(
      'http://a.test/a',
      init,
    );
  const refused = (pattern: RegExp) => ({ code: 'REDIRECT_REFUSED', message: pattern });
  await assert.rejects(follow('https://a.test/a'), refused(/redirects to https:\/\/a\.test,/));
  await assert.rejects(follow('http://a.test:81/a'), refused(/redirects to http:\/\/a\.test:81,/));
  await assert.rejects(follow('//b.test/a'), refused(/redirects to http:\/\/b\.test,/));
  await assert.rejects(follow('file:///etc/passwd'), refused(/redirects to file:,/));
  await assert.rejects(follow('data:application/json,{}'), refused(/redirects to data:,/));
  await assert.rejects(follow('http://user:word@a.test/a'), refused(/another origin/));
  await assert.rejects(follow('/a'), refused(/more than 5 times/));
  const body = new ReadableStream();
  await assert.rejects(follow('/a', { method: 'POST', body }), refused(/cannot be repeated/));
  assert.equal((await follow('http://[')).status, 307);
});
