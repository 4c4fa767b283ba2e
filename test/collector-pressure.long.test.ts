import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startCollect } from './support/collect-process.ts';
import { post } from './support/http-post.ts';
import { noPostgres, runSql, startPostgres } from './support/postgres-server.ts';
import { spanRequest } from './support/span-requests.ts';

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const SENDERS = 48;
const SPANS = 200;
/** Of one request and all that wait: two requests of 200 spans of 2 kB are half a megabyte. */
const BOUNDS = ['--max-memory', '6m', '--max-body', '1m', '--connections', '2'];
const RUN_MS = 20_000;

test('senders faster than Postgres are asked to retry, and memory stays within bounds', {
  skip: noPostgres() || (process.platform !== 'linux' && 'reads /proc'),
}, async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await using collect = await startCollect(url, BOUNDS, ['--max-old-space-size=192']);
  const memory = (name: 'VmRSS' | 'VmHWM') => {
    const text = readFileSync(`/proc/${collect.child.pid}/status`, 'latin1');
    return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]) / 1024;
  };
  const attributes = [{ key: 'note', value: { stringValue: 'x'.repeat(2000) } }];
  const endsAt = Date.now() + RUN_MS;
  let acknowledged = 0;
  let comeAgain = 0;
  const senders = Array.from({ length: SENDERS }, async () => {
    while (Date.now() < endsAt) {
      const { body } = spanRequest(SPANS, { attributes });
      for (let status = 0; status !== 200; ) {
        status = (await post(`${collect.http}/v1/traces`, PROTOBUF, body)).status;
        if (status === 200) acknowledged += SPANS;
        else {
          assert.ok(status === 429 || status === 503, `status ${status}`);
          comeAgain += 1;
          await sleep(20);
        }
      }
    }
  });
  // A database that stands still for a second again and again.
  const slow = async (): Promise<void> => {
    while (Date.now() < endsAt) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query('BEGIN; LOCK TABLE mcp_traces IN EXCLUSIVE MODE');
      await sleep(1000);
      await client.end();
      await sleep(200);
    }
  };
  await Promise.all([...senders, slow()]);
  const [row] = await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces');
  assert.equal(row?.rows, acknowledged);
  assert.ok(comeAgain > 0, 'no sender was asked to retry');
  // The process itself takes some 120 MiB, and its heap may not grow beyond 192.
  assert.ok(memory('VmHWM') < 400, `${memory('VmHWM')} MiB at most, ${memory('VmRSS')} now`);
  assert.equal(await collect.end('SIGTERM'), 0);
});
