/** Servers over HTTP that no hook can see, for their SDK is bundled: their spans come from what passes their route. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  call,
  LAST,
  OPENING,
  post,
  rpc,
  run,
  SESSION,
  seenBy,
  type Talks,
  TRACE,
  TRACEPARENT,
} from './support/http-requests.ts';
import { OtlpCollector } from './support/otlp-collector.ts';
import { tempDir } from './support/temp-dir.ts';

/** Without the SDK: what a bundled one does at the wire. Its answers tell what it has read. */
const SERVER = `
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
const WAYS = {
  events: (req) => new Promise((done) => { const all = []; req.on('data', (d) => all.push(d)).on('end', () => done(all)); }),
  iteration: async (req) => { const all = []; for await (const d of req) all.push(d); return all; },
  readable: (req) => new Promise((done) => {
    const all = [];
    req.on('readable', () => { for (let d; (d = req.read()) !== null; ) all.push(d); }).on('end', () => done(all));
  }),
  text: async (req) => { const all = []; req.setEncoding('utf8'); for await (const d of req) all.push(Buffer.from(d)); return all; },
  pauses: (req) => new Promise((done) => {
    const all = [];
    req.on('data', (d) => { all.push(d); req.pause(); setTimeout(() => req.resume(), 1); }).on('end', () => done(all));
  }),
  late: (req) => new Promise((done) => setTimeout(() => done(WAYS.iteration(req)), 50)),
  pipe: (req) => WAYS.iteration(req.pipe(new PassThrough())),
  nothing: async () => [],
};
const read = WAYS[process.argv[2]];
const server = createServer(async (req, res) => {
  if (req.url === '/end') return res.end(() => setImmediate(() => process.exit()));
  const body = Buffer.concat(await read(req).catch(() => []));
  const isOwn = Object.hasOwn(req, 'push') || Object.hasOwn(req, 'read');
  const text = createHash('sha256').update(body).digest('hex') + (isOwn && process.argv[2] !== 'nothing');
  let message;
  try { message = JSON.parse(body); } catch {}
  const answer = (result) => JSON.stringify({ jsonrpc: '2.0', id: message.id, result });
  if (message?.jsonrpc === undefined) res.end(text);
  else if (message.id === undefined) res.writeHead(202).end();
  else if (message.method === 'initialize') {
    res.writeHead(200, { 'content-type': 'application/json', 'Mcp-Session-Id': 'one' });
    res.end(answer({ protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'bundled', version: '2' }, text }));
  } else if (req.url === '/events') {
    const event = 'event: message\\ndata: ' + answer({ content: [{ type: 'text', text: text + 'é'.repeat(900000) }], isError: true });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let at = 0; at < event.length; at += 99999) res.write(event.slice(at, at + 99999));
    res.end('\\n\\n');
  } else if (req.url === '/refused') res.writeHead(401).end('{}');
  else if (req.url === '/silent') res.write(': wait\\n\\n');
  else res.end(Buffer.from(answer({ content: [], text })));
}).listen(0, '127.0.0.1', () => process.stderr.write('port ' + server.address().port));
`;

const cut = (bytes: Buffer, length: number) =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
    bytes.subarray(at * length, (at + 1) * length),
  );

/** One talk each: what is MCP, what is not, and what is cut, compressed, pipelined, too long, refused or given up. */
const TALKS: Talks = [
  [[post('/', OPENING, LAST)]],
  [[post('/', rpc('notifications/initialized'), { ...SESSION, ...LAST })]],
  [cut(post('/', call(1), { ...SESSION, ...LAST, traceparent: TRACEPARENT }), 11)],
  [[post('/events', call(2), SESSION), post('/', call(3), { ...SESSION, ...LAST })]],
  [[post('/refused', call(4), { ...SESSION, ...LAST })]],
  [[post('/silent', call(5), SESSION)], 1],
  [[post('/', rpc('eth_call', 6), LAST)]],
  [[post('/', call(7), { ...LAST, accept: 'application/json' })]],
  [[post('/', '{"model":"x"}', { ...SESSION, ...LAST })]],
  [[post('/', gzipSync(call(8)), { ...SESSION, ...LAST, 'content-encoding': 'gzip' })]],
  [cut(post('/', call(9, 'ü'.repeat(1_500_000)), { ...SESSION, ...LAST }), 60_000)],
  [[post('/', call(10), SESSION).subarray(0, -9)], 0],
];
const SEEN = [
  'undefined notifications/initialized UNSET',
  '0 initialize UNSET',
  '1 tools/call echo UNSET',
  '2 tools/call echo ERROR tool_error',
  '3 tools/call echo UNSET',
  '4 tools/call echo ERROR 401',
  '5 tools/call echo ERROR connection_closed',
  '9 tools/call echo UNSET',
];

for (const way of ['events', 'iteration', 'readable', 'text', 'pauses', 'late', 'pipe', 'nothing']) {
  test(`requests read by ${way}: each message has its span, and not a byte is changed`, async () => {
    await using collector = await OtlpCollector.start();
    const program = join(tempDir(), 'server.mjs');
    writeFileSync(program, SERVER);
    const bare = await run(program, [way], undefined, TALKS);
    const watched = await run(program, [way], collector.url, TALKS);
    assert.deepEqual(watched, bare);
    if (way === 'nothing') {
      assert.deepEqual(collector.spans, []);
      return;
    }
    assert.deepEqual(
      seenBy(collector).map((line) => line.replace(/^(?=notif)/, 'undefined ')),
      SEEN.toSorted(),
    );
    const [child] = collector.spans.filter(({ traceId }) => traceId === TRACE);
    assert.equal(child?.parentSpanId, TRACEPARENT.split('-')[2]);
    for (const { kind, attributes } of collector.spans)
      assert.deepEqual(
        [kind, attributes['mcp.session.id'], attributes['observatory.mcp.client.name']],
        ['SERVER', 'one', 'tester'],
      );
  });
}
