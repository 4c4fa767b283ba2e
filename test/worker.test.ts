// Runs alone: it registers a tracer provider and a context manager, for good.
/** `observeWorker`, with what Cloudflare's runtime gives a handler. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import { decodeProtobuf, type ReceivedSpan } from '../src/otlp/index.ts';
import { observeWorker } from '../src/setup/worker.ts';

const spans: ReceivedSpan[] = [];
const collector = createServer((request, response) => {
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

const worker = observeWorker({
  greeting: 'Hi',
  async fetch(this: { greeting: string }, request: Request, _env?: object, _life?: object) {
    const { pathname } = new URL(request.url);
    const span = trace.getTracer('app').startSpan(pathname);
    await sleep(20);
    if (pathname === '/late') setTimeout(() => span.end(), 50);
    else span.end();
    if (pathname === '/bug') throw new Error('bug');
    return new Response(`${this.greeting} ${pathname}`);
  },
});
const ask = (path: string, of?: object) => worker.fetch(new Request(`http://app${path}`), {}, of);

test('each event is a trace of its own, sent when its last span has ended, and answered as without us', async () => {
  const [, failed, answer] = await Promise.allSettled([
    ask('/late', life),
    ask('/bug', life),
    ask('/ok', life),
  ]);
  assert.equal((failed as PromiseRejectedResult).reason.message, 'bug');
  assert.equal(await (answer as PromiseFulfilledResult<Response>).value.text(), 'Hi /ok');
  assert.equal(work.length, 2);
  await sleep(100);
  await Promise.all(work);
  assert.equal(work.length, 3);
  const roots = spans.filter(({ name }) => name === 'GET');
  const children = spans.filter(({ name }) => name !== 'GET');
  assert.deepEqual(children.map(({ name }) => name).sort(), ['/bug', '/late', '/ok']);
  for (const child of children)
    assert.ok(
      roots.some((root) => root.traceId === child.traceId && root.spanId === child.parentSpanContext?.spanId),
    );
  assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, 3);
});

test('an event without a life, and a collector that is gone, change nothing', async () => {
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:1';
  assert.equal(await (await ask('/ok')).text(), 'Hi /ok');
  assert.equal(await (await ask('/ok', life)).text(), 'Hi /ok');
  await Promise.all(work);
  assert.equal(worker.greeting, 'Hi');
});
