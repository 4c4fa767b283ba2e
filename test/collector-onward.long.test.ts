import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startCollect } from './support/collect-process.ts';
import { post } from './support/http-post.ts';
import { OtlpCollector } from './support/otlp-collector.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { spanRequest } from './support/span-requests.ts';

const PROTOBUF = { 'content-type': 'application/x-protobuf' };

describe('what the collector sends on', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  test('spans go on enriched and without content, once they are stored', async () => {
    await using apm = await OtlpCollector.start();
    const url = await server.createDatabase();
    await using collect = await startCollect(url, ['--forward', `${apm.url}/v1/traces`]);
    const attributes = [
      ['gen_ai.operation.name', 'chat'],
      ['gen_ai.prompt.0.content', 'a planted secret'],
    ].map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const { body, ids } = spanRequest(2, { attributes });
    assert.equal((await post(`${collect.http}/v1/traces`, PROTOBUF, body)).status, 200);
    await apm.until((spans) => spans.length === 2, 30_000);
    assert.deepEqual(apm.spans.map(({ spanId }) => spanId).sort(), [...ids].sort());
    assert.match(String(apm.spans[0]?.attributes['observatory.prompt_hash']), /^[0-9a-f]{64}$/);
    assert.doesNotMatch(apm.bodies.join(''), /planted/);
  });

  test('a back end that is away holds up no answer, and gets its spans from the disk', async (t) => {
    const spool = mkdtempSync(join(tmpdir(), 'observatory-forward-'));
    t.after(() => rmSync(spool, { recursive: true, force: true }));
    const url = await server.createDatabase();
    const first = await startCollect(url, ['--spool', spool, '--forward', 'http://127.0.0.1:1/v1/traces']);
    const { body, ids } = spanRequest(3);
    assert.equal((await post(`${first.http}/v1/traces`, PROTOBUF, body)).status, 200);
    assert.equal(await first.end('SIGTERM'), 0);
    await using apm = await OtlpCollector.start();
    await using _ = await startCollect(url, ['--spool', spool, '--forward', `${apm.url}/v1/traces`]);
    await apm.until((spans) => spans.length === 3, 30_000);
    assert.deepEqual(apm.spans.map(({ spanId }) => spanId).sort(), [...ids].sort());
  });

  test('its own metrics count answers to requests and outcomes of spans', async () => {
    await using metrics = await OtlpCollector.start();
    const url = await server.createDatabase();
    await using collect = await startCollect(url, ['--metrics-url', `${metrics.url}/v1/metrics`]);
    assert.equal((await post(`${collect.http}/v1/traces`, PROTOBUF, spanRequest(3).body)).status, 200);
    assert.equal((await post(`${collect.http}/v1/traces`, PROTOBUF, Buffer.from('no protobuf'))).status, 400);
    assert.equal(await collect.end('SIGTERM'), 0);
    const sumOf = (metric: string, key: string, value: string) =>
      metrics.points.findLast((point) => point.metric === metric && point.attributes[key] === value)?.sum;
    const requests = 'observatory.collector.requests';
    assert.equal(sumOf(requests, 'observatory.outcome', 'ok'), 1);
    assert.equal(sumOf(requests, 'observatory.outcome', 'malformed'), 1);
    assert.equal(sumOf('observatory.spans', 'observatory.outcome', 'exported'), 3);
    const duration = metrics.points.find(({ metric }) => metric === 'observatory.collector.request.duration');
    assert.equal(duration?.unit, 's');
  });
});
