/** What servers send is read in the form of the SDKs, whatever they leave null, and whatever HTTP says around it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { boundTransport } from '../src/mcp-client/bounded-transport.ts';
import { messagesIn } from '../src/mcp-client/envelope.ts';
import { readPostResponse } from '../src/mcp-client/http-answer.ts';
import { SessionExpired } from '../src/mcp-client/http-refusal.ts';
import { boundMessages } from '../src/mcp-client/response-body.ts';

const RESULT = {
  content: [{ type: 'text', text: 'fine', annotations: null }],
  structuredContent: { a: null },
};
const answer = (more: object) => JSON.stringify({ jsonrpc: '2.0', id: 7, ...more });

test('an optional member of the envelope that is null counts as absent, and the result stays as it is', () => {
  const whole = [{ jsonrpc: '2.0', id: 7, result: RESULT }];
  for (const text of [
    answer({ result: RESULT }),
    answer({ result: RESULT, error: null }),
    answer({ result: { ...RESULT, _meta: null } }),
    `\ufeff${answer({ result: RESULT })}`,
    `\u001b[32m${answer({ result: RESULT })}\u001b[0m`,
    JSON.stringify([{ id: 7, result: RESULT }]),
  ])
    assert.deepEqual(messagesIn(text), whole, text);
  const meta = { progressToken: null, own: { x: null } };
  const [{ result } = { result: undefined }] = messagesIn(answer({ result: { content: [], _meta: meta } }));
  assert.deepEqual(result, { content: [], _meta: { own: { x: null } } });
  const error = { code: -32000, message: 'no such row' };
  assert.deepEqual(messagesIn(answer({ result: null, error: { ...error, data: null } })), [
    { jsonrpc: '2.0', id: 7, error },
  ]);
  assert.deepEqual(
    messagesIn('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"total":null}}'),
    [{ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }],
  );
  for (const log of ['{"level":30,"id":7}', '{"method":"GET","id":7}', '[1,"x",null]', 'null', 'ready', '[['])
    assert.deepEqual(messagesIn(log), [], log);
  assert.equal(messagesIn(answer({ result: 'text' }))[0]?.error?.code, -32603);
});

test('an error is read in each form in which servers write one, and one that says nothing is none', () => {
  const internal = -32603;
  for (const [error, code, message] of [
    ['no such row', internal, 'no such row'],
    [{ code: 'ENOENT', message: 'no such row' }, internal, 'no such row'],
    [{ code: -32000.5, message: 'no such row' }, internal, 'no such row'],
    [{ code: -32050 }, -32050, '{"code":-32050}'],
    [{ code: -32050, message: { detail: 'no' } }, -32050, '{"detail":"no"}'],
  ] as const)
    assert.deepEqual(messagesIn(answer({ error })), [{ jsonrpc: '2.0', id: 7, error: { code, message } }]);
  for (const error of [{}, [], '', false, { code: 0, message: '' }])
    assert.deepEqual(messagesIn(answer({ result: RESULT, error })), [
      { jsonrpc: '2.0', id: 7, result: RESULT },
    ]);
  assert.equal(messagesIn(answer({ result: RESULT, error: 'no' }))[0]?.error?.message, 'no');
  const unsupported = { code: -32022, message: 'Unsupported', data: { supported: ['2026-07-28', 'x'] } };
  const [told] = messagesIn(answer({ error: unsupported }));
  assert.deepEqual(told?.error, { ...unsupported, message: 'Unsupported (supported: 2026-07-28, x)' });
});

test('what a server says of itself in a handshake is read as far as it can be', () => {
  const handshake = (more: object) => {
    const [message] = messagesIn(answer({ result: { protocolVersion: '2025-06-18', ...more } }));
    return message?.result;
  };
  assert.deepEqual(
    handshake({
      capabilities: {
        tools: { listChanged: null },
        prompts: null,
        resources: true,
        experimental: { a: null, b: {} },
        logging: [],
      },
      serverInfo: { name: 's', title: null, version: 2, icons: null },
      instructions: null,
    }),
    {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {}, resources: {}, experimental: { b: {} }, logging: {} },
      serverInfo: { name: 's', version: '2' },
    },
  );
  assert.deepEqual(handshake({}), {
    protocolVersion: '2025-06-18',
    capabilities: {},
    serverInfo: { name: '', version: '' },
  });
});

/** How a response to a call of a session is read: the message that is passed on, or the error. */
async function read(status: number, body: string, method = 'tools/call', session = 's') {
  const posted = JSON.stringify({ method, params: {}, jsonrpc: '2.0', id: 7 });
  const headers = session === '' ? {} : { 'mcp-session-id': session };
  const response = new Response(status === 204 ? null : body, { status });
  const found = await readPostResponse(response, { method: 'POST', body: posted, headers });
  return found.error ?? ((await found.response.json()) as { result?: unknown; error?: { message: string } });
}

test('a message for the request is its answer under any status; anything else is an error that says what came', async () => {
  const refusal = { code: -32602, message: 'argument session is required' };
  for (const status of [200, 400, 401, 403, 404, 410, 422, 500, 503])
    assert.deepEqual(await read(status, answer({ error: refusal })), JSON.parse(answer({ error: refusal })));
  assert.deepEqual(await read(500, answer({ result: {}, error: null })), JSON.parse(answer({ result: {} })));
  // Some servers send the id back as a text, which the SDKs take.
  assert.deepEqual(
    await read(200, answer({ id: '7', result: {} })),
    JSON.parse(answer({ id: '7', result: {} })),
  );
  for (const [status, body, says] of [
    [502, `<html><title>502 Bad Gateway</title>${'<p>x</p>'.repeat(1_000)}`, /HTTP 502: 502 Bad Gateway$/],
    [429, 'slow down', /refused the request, HTTP 429: slow down$/],
    [200, answer({ id: 8, result: {} }), /no answer to this request, HTTP 200/],
    [204, '', /no answer to this request, HTTP 204$/],
    [401, '', /wants other credentials, HTTP 401; /],
    [403, 'not enabled for this key', /does not allow this .*, HTTP 403 \(not enabled for this key\); /],
  ] as const) {
    const error = await read(status, body);
    assert.ok(error instanceof Error && !(error instanceof SessionExpired), body);
    assert.match(error.message, says);
  }
});

test('a session is over in each form in which servers say so, and in no other', async () => {
  const said = (id: unknown, code: number, message: string) =>
    JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
  for (const [status, body] of [
    [404, 'Not Found'],
    [410, '{"error":"session gone"}'],
    [400, said(null, -32000, 'Bad Request: No valid session ID provided')],
    [400, said('server-error', -32600, 'Bad Request: Missing session ID')],
    [404, said(7, -32001, 'Session not found')],
    [404, said(7, -32603, 'Session not found: a992387e')],
    [200, said(7, -32001, 'Session not found')],
    [200, '{"error":"Session not found"}'],
    [400, said(null, -32000, 'Bad Request: Server not initialized')],
    [400, 'Invalid session ID'],
    [401, '{"error":"Session expired"}'],
    [500, '{"error":"Session not found"}'],
    [400, 'No transport found for sessionId'],
  ] as const)
    assert.ok((await read(status, body)) instanceof SessionExpired, `${status} ${body}`);
  for (const [status, body] of [
    [200, said(7, -32602, 'Session not found')],
    [200, said(7, -32000, 'browser session closed')],
    [400, said(7, -32602, 'argument session_name is required')],
    [400, 'session_name is required'],
    [500, 'Traceback: sqlalchemy.orm.session.Session.commit failed'],
  ] as const)
    assert.ok(!((await read(status, body)) instanceof SessionExpired), `${status} ${body}`);
  assert.ok(!((await read(404, 'Not Found', 'tools/call', '')) instanceof SessionExpired));
  assert.match(String(await read(404, 'Not Found', 'initialize', '')), /no MCP server at this address/);
});

test('the messages of an event stream are read in the same form, in whatever pieces they come', async () => {
  const event = `id: 1\nevent: message\ndata: ${answer({ result: { ...RESULT, _meta: null } })}\n\n`;
  const text = `: hi\n\ndata:\n\n${event}event: message\r\ndata: ${answer({ result: RESULT, error: null })}`;
  const plain = answer({ result: RESULT });
  const wanted = `: hi\n\ndata:\n\nid: 1\nevent: message\ndata: ${plain}\n\nevent: message\ndata: ${plain}\n\n`;
  for (const size of [1, 7, 64, text.length]) {
    const bytes = Buffer.from(text);
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
        controller.close();
      },
    });
    const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const bounded = boundMessages(response, 'POST', { limits: {}, onExceeded: assert.fail }).response;
    assert.equal(await bounded.text(), wanted, `pieces of ${size}`);
  }
});

test('an error without an id answers the request whose stream it comes on, and says when the session is over', async () => {
  const read = async (data: object, requestId?: number) => {
    const response = new Response(`event: message\ndata: ${JSON.stringify(data)}\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    });
    const bounds = { limits: {}, onExceeded: assert.fail, requestId };
    const text = await boundMessages(response, 'POST', bounds).response.text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? 'null');
  };
  const crashed = { code: -32603, message: 'the tool crashed' };
  const lost = { code: -32600, message: 'Session not found' };
  for (const [data, error] of [
    [{ jsonrpc: '2.0', id: null, error: crashed }, crashed],
    [
      { jsonrpc: '2.0', id: 'server-error', error: lost },
      { ...lost, code: -32001 },
    ],
    [{ error: 'Session not found' }, { ...lost, code: -32001 }],
    [{ error: { message: 'no' } }, { code: -32603, message: 'no' }],
  ] as const) {
    assert.deepEqual(await read(data, 7), { jsonrpc: '2.0', id: 7, error });
    assert.deepEqual(await read(data), data, 'on a stream of its own it answers nothing');
  }
  const ofAnother = { jsonrpc: '2.0', id: 8, error: crashed };
  assert.deepEqual(await read(ofAnother, 7), ofAnother);
  const stray = `data: ${JSON.stringify({ jsonrpc: '2.0', id: null, error: crashed })}\n\n`;
  const headers = { 'content-type': 'text/event-stream' };
  const theirs = { _fetch: async () => new Response(stray, { headers }), close: async () => {} };
  boundTransport(theirs, {});
  const post = { method: 'POST', body: '{"jsonrpc":"2.0","id":7,"method":"tools/call"}' };
  const fetched = await (theirs._fetch as typeof fetch)('http://localhost/mcp', post);
  assert.match(await fetched.text(), /"id":7/, 'on a transport of the application too');
});

test('an answer that an event stream begins with is handed on as JSON, and nothing before or behind it is lost', async () => {
  const event = (data: string, more = '') => `${more}event: message\ndata: ${data}\n\n`;
  const note = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const read = async (text: string, size: number) => {
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += size)
          controller.enqueue(Buffer.from(text.slice(at, at + size)));
        controller.close();
      },
    });
    const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const behind: object[] = [];
    const bounds = {
      limits: {},
      onExceeded: assert.fail,
      requestId: 7,
      onMessage: (message: object) => behind.push(message),
    };
    const found = await boundMessages(response, 'POST', bounds).atOnce();
    const isJson = found.headers.get('content-type') === 'application/json';
    const told = isJson ? await found.json() : await found.text();
    assert.deepEqual(behind, [], 'the answer is read first');
    return { isJson, told, behind };
  };
  const result = answer({ result: RESULT });
  for (const size of [1, 7, 10_000]) {
    const { isJson, told, behind } = await read(event(result, 'id: 1\n') + event(JSON.stringify(note)), size);
    assert.ok(isJson);
    assert.deepEqual(told, JSON.parse(result));
    for (let turn = 0; behind.length === 0 && turn < 10; turn += 1) await setImmediate();
    assert.deepEqual(behind, [note]);
    for (const text of [
      event(JSON.stringify(note)) + event(result),
      event(result, 'retry:500\n'),
      event(answer({ id: 8, result: RESULT })),
      ': hi\n\n',
    ])
      assert.deepEqual(await read(text, size), { isJson: false, told: text, behind: [] });
  }
});
