/** What the page says of changed definitions and of costs by tool, and a run kept as a golden, over its API. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { exportSpans } from './support/export.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { rollUpAll } from './support/roll-up.ts';
import { CHANGED, PAYMENT, STORY } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

describe('figures of the page', { skip: noPostgres() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-figures-'));
  let server: PostgresServer;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let page: Awaited<ReturnType<typeof startPage>>;
  before(async () => {
    server = await startPostgres();
    const url = await server.createDatabase();
    db = await openDatabase({ url });
    await migrate(db);
    const exporter = new PostgresSpanExporter({ connection: url });
    for (const spans of [PAYMENT, CHANGED, STORY]) await exportSpans(exporter, spans);
    await exporter.shutdown();
    page = await startPage({ db, port: 0, token: PAGE_TOKEN, goldens: folder });
    // Another test of this server may hold a transaction open, which delays what is added up.
    await waitUntil(async () => {
      await rollUpAll(db);
      return (await db.query('SELECT FROM mcp_tool_sets LIMIT 1')).rows.length > 0;
    });
  });
  after(async () => {
    await page?.close();
    await db?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const get = async (path: string) => {
    const answer = await post(`${page.address}${path}`, BEARER, undefined, 'GET');
    return JSON.parse(answer.body.toString());
  };

  test('a changed definition is reported from the gate and from models, with its texts, and only if it changed', async () => {
    const { changed } = await get('api/tools');
    const shown = changed.map(({ server: of, tool, seenBy, versions }: never) => [
      of,
      tool,
      seenBy,
      (versions as { calls: number }[]).map(({ calls }) => calls),
    ]);
    assert.deepEqual(shown, [
      ['bank', 'send_payment', 'gate', [1, 1]],
      ['bank', 'send_payment', 'models', [2, 1]],
    ]);
    const [before, now] = changed[1].versions;
    assert.match(before.text, /^Sends money\.\n/);
    assert.match(now.text, /id_rsa.*\n(?:.*\n)*?.*"note"/u);
    assert.ok(before.firstMs < now.firstMs);
    assert.equal(changed[0].versions[0].hash, 'a'.repeat(64));
    const { changed: lately } = await get(`api/tools?since=${Date.now() - 3_600_000}`);
    assert.deepEqual(lately, []);
  });

  test('costs by tool add up to the costs by model, and unpriced calls stay unpriced', async () => {
    const sum = async (by: string, field: string) =>
      (await get(`api/cost?by=${by}`)).rows.reduce(
        (total: number, row: Record<string, number>) => total + (row[field] ?? 0),
        0,
      );
    for (const field of ['costUsd', 'promptTokens', 'completionTokens']) {
      assert.ok(Math.abs((await sum('tool', field)) - (await sum('model', field))) < 1e-6, field);
    }
    const { rows } = await get('api/cost?by=tool');
    const of = (name: string) => rows.filter((row: { name: string }) => row.name === name);
    assert.ok(of('send_payment').every((row: { costUsd: number }) => row.costUsd > 0));
    assert.ok(of('').length > 0, 'what is no definition');
  });

  test('figures of runs, and costs by model, user and service, are those of plain SQL over the spans', async () => {
    const { rows: figures } =
      await db.query(`SELECT count(*)::int AS runs, (count(*) FILTER (WHERE held))::int AS held,
        (count(*) FILTER (WHERE contradicted))::int AS contradicted, sum(unpriced)::int AS unpriced,
        sum(cost) AS "costUsd", percentile_disc(0.5) WITHIN GROUP (ORDER BY ms) AS "durationP50Ms",
        percentile_disc(0.95) WITHIN GROUP (ORDER BY ms) AS "durationP95Ms"
      FROM (SELECT date_part('epoch', max(end_time) - min(start_time)) * 1000 AS ms, sum(cost_usd) AS cost,
          bool_or(policy_decision = 'require_approval') AS held,
          count(*) FILTER (WHERE cost_source = 'unknown') AS unpriced,
          bool_or(evidence_findings ~ '"kind":"(?!unsupported)' OR tool_claim_mismatch) AS contradicted
        FROM mcp_traces GROUP BY trace_id) AS runs`);
    const metrics = await get('api/metrics?fresh');
    for (const [name, value] of Object.entries(figures[0] ?? {}))
      assert.ok(Math.abs(metrics[name] - Number(value)) < 1e-6, `${name}: ${metrics[name]} and ${value}`);
    for (const [by, column] of Object.entries({ model: 'model', user: 'user_id', service: 'service' })) {
      const { rows } = await db.query(`SELECT coalesce(${column}, '') AS name, count(*)::int AS calls,
          coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(prompt_tokens), 0)::int AS tokens
        FROM mcp_traces WHERE cost_source IS NOT NULL OR prompt_tokens IS NOT NULL GROUP BY 1 ORDER BY 1`);
      const sums = new Map<string, { calls: number; usd: number; tokens: number }>();
      for (const { name, calls, costUsd, promptTokens } of (await get(`api/cost?by=${by}`)).rows) {
        const { calls: n, usd, tokens } = sums.get(name ?? '') ?? { calls: 0, usd: 0, tokens: 0 };
        const sum = { calls: n + calls, usd: usd + (costUsd ?? 0), tokens: tokens + promptTokens };
        sums.set(name ?? '', sum);
      }
      const rounded = ({ calls, usd, tokens }: Record<string, unknown>) =>
        `${calls} ${Number(usd).toFixed(9)} ${tokens}`;
      assert.deepEqual(
        [...sums].map(([name, sum]) => `${name} ${rounded(sum)}`).sort(),
        rows.map((row) => `${row.name} ${rounded(row)}`).sort(),
        by,
      );
    }
  });

  test('a run without what a golden needs says what to do, and nothing is written', async () => {
    const keep = (id: string, type = 'application/json') =>
      post(`${page.address}api/runs/${id}/golden`, { ...BEARER, 'content-type': type }, Buffer.from('{}'));
    const refused = await keep('1'.padStart(32, '0'));
    assert.equal(refused.status, 409);
    assert.match(refused.body.toString(), /TRACE_UNUSABLE/);
    assert.equal((await keep('1'.padStart(32, '0'), 'text/plain')).status, 400);
    assert.equal(existsSync(join(folder, 'runs', 'trace_0000000000000000.json')), false);
  });
});
