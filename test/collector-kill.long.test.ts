import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCollect } from './support/collect-process.ts';
import { post } from './support/http-post.ts';
import { noPostgres, runSql, startOwnPostgres } from './support/postgres-server.ts';
import { type SpanRequest, spanRequest } from './support/span-requests.ts';
import { waitUntil } from './support/wait-until.ts';

const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const SENDERS = 4;
const ROUNDS = 4;
/** Spans to be acknowledged between one stroke and the next. */
const STRETCH = 200;

test('kill -9 in mid-stream loses no span that was acknowledged, and doubles none', {
  skip: noPostgres(),
}, async (t) => {
  await using server = await startOwnPostgres();
  const url = await server.createDatabase();
  const spool = mkdtempSync(join(tmpdir(), 'observatory-kill-'));
  t.after(() => rmSync(spool, { recursive: true, force: true }));
  const acknowledged = new Set<string>();
  /** What a sender has not got an answer to, it sends again to the next process. */
  let unanswered: SpanRequest[] = [];

  for (let round = 0; round < ROUNDS; round += 1) {
    const collect = await startCollect(url, ['--spool', spool]);
    const before = acknowledged.size;
    const again = unanswered;
    unanswered = [];
    const senders = Array.from({ length: SENDERS }, async () => {
      for (;;) {
        const next = again.pop() ?? spanRequest(20);
        const answer = await post(`${collect.http}/v1/traces`, PROTOBUF, next.body).catch(() => undefined);
        if (answer?.status === 200) for (const id of next.ids) acknowledged.add(id);
        else unanswered.push(next);
        if (answer === undefined) return;
      }
    });
    await waitUntil(() => acknowledged.size > before + STRETCH, 60_000);
    // In every second round the database goes first, so that spans are on the disk when the collector is killed.
    if (round % 2 === 1) {
      await server.crash?.();
      const onDisk = acknowledged.size;
      await waitUntil(() => acknowledged.size > onDisk + STRETCH, 60_000);
    }
    await collect.end('SIGKILL');
    await Promise.all(senders);
    if (round % 2 === 1) await server.restart?.();
  }

  const collect = await startCollect(url, ['--spool', spool]);
  for (const request of unanswered) {
    const answer = await post(`${collect.http}/v1/traces`, PROTOBUF, request.body);
    assert.equal(answer.status, 200);
    for (const id of request.ids) acknowledged.add(id);
  }
  let stored = new Map<string, number>();
  const look = async (): Promise<void> => {
    const rows = await runSql(url, "SELECT right(replace(span_id::text, '-', ''), 16) AS id FROM mcp_traces");
    stored = new Map();
    for (const { id } of rows) stored.set(String(id), (stored.get(String(id)) ?? 0) + 1);
  };
  const isAllThere = () => [...acknowledged].every((id) => stored.has(id));
  let isDone = false;
  void (async () => {
    while (!isDone && !isAllThere()) await look();
    isDone = true;
  })();
  await waitUntil(() => isDone, 60_000).finally(() => (isDone = true));
  assert.equal(await collect.end('SIGTERM'), 0);
  await look();
  assert.deepEqual(
    [...acknowledged].filter((id) => !stored.has(id)),
    [],
  );
  assert.deepEqual(
    [...stored].filter(([, times]) => times > 1),
    [],
  );
  assert.ok(acknowledged.size > ROUNDS * STRETCH);
});
