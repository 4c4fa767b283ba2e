/** Thresholds of saved views are compared with what has arrived though nobody looks, and the page says what could not be told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { exportSpans } from './support/export.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, startPostgres } from './support/postgres-server.ts';
import { chat, runOf } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';
import { startWebhook } from './support/webhook.ts';

const PATIENCE_MS = 60_000;

test('no page is open: spans arrive, and the webhook hears of the sum above its threshold', {
  skip: noPostgres(),
}, async () => {
  await using hook = await startWebhook(500);
  const { posted } = hook;
  await using server = await startPostgres();
  const url = await server.createMigrated();
  await using db = await openDatabase({ url });
  const exporter = new PostgresSpanExporter({ connection: url });
  const cost = (usd: number) => chat({ attributes: { 'observatory.cost_usd': usd } });
  await exportSpans(
    exporter,
    runOf(1, 2, [{ name: 'invoke_agent a', at: 0, ms: 90 }, cost(0.1), cost(0.15)]),
  );
  await exporter.shutdown();
  const webhook = { url: `${hook.origin}/` };
  await using page = await startPage({ db, port: 0, token: PAGE_TOKEN, webhook });
  const headers = { ...BEARER, 'content-type': 'application/json' };
  const ask = async (method: string, body?: object) => {
    const sent = body && Buffer.from(JSON.stringify(body));
    const answer = await post(`${page.address}api/views`, headers, sent, method);
    assert.equal(answer.status, 200);
    return JSON.parse(answer.body.toString());
  };
  const view = { address: '', measure: 'cost' };
  await ask('POST', { ...view, name: 'Above what was spent', threshold: 0.3 });
  await ask('POST', { ...view, name: 'Spent', threshold: 0.2 });
  await waitUntil(() => posted.length > 0, PATIENCE_MS);
  assert.deepEqual(
    posted.map(({ view: name, threshold, value }) => [name, threshold, value]),
    [['Spent', 0.2, 0.25]],
  );

  let told:
    | {
        views: { isOver: boolean; id: string }[];
        webhook: { problem: { message: string } | null };
      }
    | undefined;
  await waitUntil(async () => {
    told = await ask('GET');
    return told?.webhook.problem != null;
  }, PATIENCE_MS);
  assert.equal(told?.webhook.problem?.message, 'it answered 500');
  assert.deepEqual(
    told?.views.map(({ isOver }) => isOver),
    [false, false],
  );
  // It selects nothing: without its filter it would select all.
  await ask('POST', { ...view, name: 'Not understood', address: 'q=is%3Afailed', threshold: 0.1 });
  await waitUntil(async () => {
    told = await ask('GET');
    return told?.webhook.problem?.message.includes('Not understood') === true;
  }, PATIENCE_MS);
  // Nothing is told any more: what could not be told or compared is gone, and its problem with it.
  for (const { id } of told?.views ?? [])
    await post(`${page.address}api/views/${id}/remove`, headers, Buffer.from('{}'));
  await waitUntil(async () => (await ask('GET')).webhook.problem === null, PATIENCE_MS);
  assert.equal(
    posted.every(({ view: name }) => name === 'Spent'),
    true,
  );
  await using silent = await startPage({ db, port: 0, token: PAGE_TOKEN });
  const answer = await post(`${silent.address}api/views`, headers, undefined, 'GET');
  assert.equal(JSON.parse(answer.body.toString()).webhook, null);
});
