// Runs alone: it registers a tracer provider and a context manager, for good.
/** `observeWorker`, with what Cloudflare's runtime gives a handler. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { diag, trace } from '@opentelemetry/api';
import { decodeProtobuf, type ReceivedSpan } from '../src/otlp/index.ts';
import { observeWorker } from '../src/setup/worker.ts';

const spans: ReceivedSpan[] = [];
let token: string | undefined;
const collector = createServer((request, response) => {
  token = request.headers['x-token'] as string;
  void buffer(request).then((body) => {
    spans.push(...decodeProtobuf(body, 100).spans);
    response.end();
  });
});
before(async () => {
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
});
after(() => collector.close());

const work: Promise<unknown>[] = [];
const life = { waitUntil: (one: Promise<unknown>) => work.push(one) };

const handler = Object.freeze({
  greeting: 'Hi',
  async fetch(this: { greeting: string }, request: Request, _env?: object, _life?: object) {
    const { pathname } = new URL(request.url);
    const span = trace.getTracer('app').startSpan(pathname);
    await sleep(20);
    if (pathname === '/late') setTimeout(() => span.end(), 50);
    else if (pathname !== '/abandoned') span.end();
    if (pathname === '/bug') throw new Error('bug');
    return new Response(`${this.greeting} ${pathname}`);
  },
});
const worker = observeWorker(handler);
const ask = (path: string, of?: object) => worker.fetch(new Request(`http://app${path}`), {}, of);

test('each event is a trace of its own, sent when its last span has ended, and answered as without us', async () => {
  const [, failed, answer] = await Promise.allSettled([
    ask('/late', life),
    ask('/bug', life),
    ask('/ok', life),
  ]);
  assert.equal((failed as PromiseRejectedResult).reason.message, 'bug');
  assert.equal(await (answer as PromiseFulfilledResult<Response>).value.text(), 'Hi /ok');
  assert.equal(work.length, 3);
  await sleep(100);
  await Promise.all(work);
  assert.equal(work.length, 4);
  const roots = spans.filter(({ name }) => name === 'GET');
  const children = spans.filter(({ name }) => name !== 'GET');
  assert.deepEqual(children.map(({ name }) => name).sort(), ['/bug', '/late', '/ok']);
  for (const child of children)
    assert.ok(
      roots.some((root) => root.traceId === child.traceId && root.spanId === child.parentSpanContext?.spanId),
    );
  assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, 3);
});

test('a span that never ends keeps none of its event, and the caller is the parent', async () => {
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const request = new Request('http://app/abandoned', {
    headers: { traceparent: `00-${traceId}-${spanId}-01` },
  });
  await worker.fetch(request, {}, life);
  await Promise.all(work);
  const [root, ...others] = spans.filter((span) => span.traceId === traceId);
  assert.deepEqual([root?.name, root?.parentSpanContext?.spanId, others], ['GET', spanId, []]);
});

test('a header that no percent sign escapes is sent as it is', async () => {
  process.env.OTEL_EXPORTER_OTLP_HEADERS = 'x-token=50%25%, y=%41';
  await ask('/ok', life);
  await Promise.all(work);
  assert.equal(token, '50%25%');
  delete process.env.OTEL_EXPORTER_OTLP_HEADERS;
});

test('a frozen handler, a class and a life that takes nothing stay what they are', async () => {
  class Entrypoint {}
  assert.equal(observeWorker(Entrypoint), Entrypoint);
  assert.deepEqual(Object.keys(worker), Object.keys(handler));
  const over = {
    waitUntil() {
      throw new Error('over');
    },
  };
  assert.equal(await (await ask('/ok', over)).text(), 'Hi /ok');
  await assert.rejects(ask('/bug', over), /^Error: bug$/);
});

test('a warning quotes neither address nor headers, and that there is no address is said once', async (t) => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: before } = process.env;
  const warn = t.mock.method(diag, 'warn', () => {});
  const said = () =>
    warn.mock.calls.splice(0).map(({ arguments: [text] }) => String(text).split(': ').at(-1));
  for (const endpoint of ['http://user:S3CRET@127.0.0.1:1', 'S3CRET', '', ''] as const) {
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint;
    await ask('/ok', life);
    await Promise.all(work);
  }
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = before;
  process.env.OTEL_EXPORTER_OTLP_HEADERS = 'authorization=Bearer%20S3CRET%0Ax';
  await ask('/ok', life);
  await Promise.all(work);
  delete process.env.OTEL_EXPORTER_OTLP_HEADERS;
  assert.deepEqual(said(), ['TypeError', 'TypeError', 'it is not set', 'TypeError']);
});

test('an event without a life, and a collector that is gone, change nothing', async () => {
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:1';
  assert.equal(await (await ask('/ok')).text(), 'Hi /ok');
  assert.equal(await (await ask('/ok', life)).text(), 'Hi /ok');
  await Promise.all(work);
  assert.equal(worker.greeting, 'Hi');
});
