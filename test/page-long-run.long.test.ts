/** A run of 20,000 spans in the embedded store, which works on the event loop: others get their turn all the time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate, openDatabase } from '../src/postgres/index.ts';
import type { RunSpan } from '../src/runs/index.ts';
import { answerApi } from '../src/ui/server/api.ts';
import { jsonParts } from '../src/ui/server/send.ts';
import { insertLongRun, LONG_RUN_ID } from './support/day-of-rows.ts';
import { assertFree } from './support/loop-hold.ts';
import { rollUpAll } from './support/roll-up.ts';
import { tempDir } from './support/temp-dir.ts';

const SPANS = 20_000;

test('a run of 20,000 spans is read and written in slices, in the order of its start; of a longer one, the first', async () => {
  await using db = await openDatabase({ dataDir: tempDir() });
  await migrate(db);
  const answer = async (path: string) => {
    const parts: string[] = [];
    const found = await answerApi({ db, goldens: '' }, path, new URLSearchParams());
    for await (const part of jsonParts(found ?? {})) parts.push(part);
    return parts;
  };
  await db.query(insertLongRun(SPANS));
  await db.query('VACUUM ANALYZE mcp_traces');
  await rollUpAll(db);
  let parts: readonly string[] = [];
  await assertFree('a run of 20,000 spans', async () => {
    parts = await answer(`/api/runs/${LONG_RUN_ID}`);
  });
  const { run, spans } = JSON.parse(parts.join('')) as { run: { spans: number }; spans: RunSpan[] };
  assert.deepEqual([run.spans, spans.length, new Set(spans.map(({ id }) => id)).size], [SPANS, SPANS, SPANS]);
  assert.ok(spans.every(({ startMs }, i) => i === 0 || startMs >= (spans[i - 1]?.startMs ?? 0)));

  await db.query('DELETE FROM mcp_traces');
  await db.query(insertLongRun(SPANS + 100));
  const longer = JSON.parse((await answer(`/api/runs/${LONG_RUN_ID}`)).join('')) as { spans: RunSpan[] };
  assert.equal(longer.spans.length, SPANS);
  assert.equal(longer.spans.at(-1)?.id, SPANS.toString(16).padStart(16, '0'));
});
