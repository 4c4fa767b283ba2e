// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
/** What cannot be right in a store, and costs computed again, through the command. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import { dbCommand } from '../src/cli/db.ts';
import { taxCommand } from '../src/cli/tax.ts';
import { type Database, migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { Enricher, type ObservatorySpanProcessorOptions } from '../src/processor/index.ts';
import { costs } from '../src/runs/index.ts';
import { startPage } from '../src/ui/index.ts';
import { agent, chat, model, OURS, own, type Part, plain, spansOf, usage } from './support/call-parts.ts';
import { exportSpans } from './support/export.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, runSql, startQuietPostgres } from './support/postgres-server.ts';
import { rollUpAll } from './support/roll-up.ts';
import { runCommand } from './support/run-command.ts';
import { waitUntil } from './support/wait-until.ts';

const folder = mkdtempSync(join(tmpdir(), 'observatory-check-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Place = { readonly url: string } | { readonly dataDir: string };

const db = (place: Place, ...args: string[]) =>
  runCommand(dbCommand, [
    ...args,
    ...('url' in place ? ['--database-url', place.url] : ['--data-dir', place.dataDir]),
  ]);

async function edit<T>(place: Place, work: (db: Database) => Promise<T>): Promise<T> {
  await using database = await openDatabase(place);
  return await work(database);
}

/** Stores runs as services do that see one span each. */
async function store(
  connection: Database,
  runs: readonly Part[],
  options: ObservatorySpanProcessorOptions = {},
): Promise<void> {
  await using exporter = new PostgresSpanExporter({ connection });
  const spans = runs.flatMap((run) => spansOf(run, false));
  for (const span of spans) new Enricher({ meterProvider: false, ...options }).enrichReceived(span);
  assert.deepEqual(await exportSpans(exporter, spans), { code: 0 });
}

const call = (attributes: Attributes, scope = OURS, parts: readonly Part[] = []): Part => ({
  scope,
  kind: SpanKind.CLIENT,
  attributes: { ...model, 'gen_ai.operation.name': 'chat', ...attributes },
  parts,
});

/** An agent, and a call by two instrumentations, of which one gives the usage. */
const RIGHT: readonly Part[] = [
  plain([agent(300, [chat(OURS, 100, 'a'), chat('other', 200, 'b')])]),
  plain([chat(OURS, 50, 'c', [call({}, 'other')])]),
];

const WRAPPER = JSON.stringify({ generations: [{ message: { role: 'ai', content: 'Paris' } }] });

/**
 * A conversation sent again, by an instrumentation that tells of cached tokens. A span starts on a whole millisecond, so
 * calls of one trace are told apart by their size alone.
 */
const TOLD: Part = call({ ...usage(3000), 'gen_ai.usage.cache_read.input_tokens': 1024 }, 'told');

const ofClaude = (tokens: number): Attributes => ({
  ...usage(tokens),
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.model': 'claude-sonnet-4-5',
});

const WRONG: readonly Part[] = [
  own({ ...model, ...usage(300) }, [chat(OURS, 100, 'd'), chat('other', 200, 'e')]),
  chat('framework', 70, 'f', [chat(OURS, 70, 'f')]),
  chat(OURS, 80, 'g'),
  chat('other', 80, 'g'),
  call({ 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5, 'gen_ai.usage.total_tokens': 99 }),
  call({}),
  call({ 'gen_ai.request.model': 'nobody-knows', ...usage(10) }),
  call({ ...usage(20), 'gen_ai.completion': WRAPPER }),
  plain([chat('untold', 2000), chat('untold', 2300), chat('told', 2000), TOLD, TOLD]),
  plain([chat('untold', 5000), chat('untold', 100)]),
  plain([call(ofClaude(2000), 'untold Claude'), call(ofClaude(2300), 'untold Claude')]),
];

/** Stores what is wrong, and checks that it is found. @returns the findings. */
async function assertFindings(place: Place): Promise<readonly Readonly<Record<string, unknown>>[]> {
  await edit(place, async (database) => {
    await store(database, WRONG);
    // Calls of an older time are of no interest, and a trace whose root may still come is no shard.
    await database.exec(`
      UPDATE mcp_traces SET answer_hash = encode(sha256(convert_to(attributes ->> 'gen_ai.completion', 'UTF8')), 'hex')
      WHERE attributes ? 'gen_ai.completion';
      INSERT INTO mcp_traces (trace_id, span_id, parent_span_id, start_time, end_time, span_name, span_kind, status_code,
        attributes, resource, events, links, cost_source, prompt_tokens, model)
      SELECT md5('t' || n)::uuid, md5('s' || n)::uuid, md5('p' || n)::uuid, at, at, 'x', 'client', 'unset', '{}', '{}', '[]', '[]',
        'unknown', 1000, 'old'
      FROM (VALUES (1, now() - interval '8 days'), (2, now() - interval '1 minute'), (3, now() - interval '1 hour')) AS v (n, at);
      INSERT INTO mcp_traces (trace_id, span_id, start_time, end_time, span_name, span_kind, status_code, attributes, resource,
        events, links, prompt_tokens)
      SELECT md5('large')::uuid, md5('l' || n)::uuid, now(), now(), 'x', 'client', 'unset', '{}', '{}', '[]', '[]', 1
      FROM generate_series(1, 10001) AS n;`);
  });
  const { code, stdout, rows } = await db(place, 'check', '--json');
  const { findings, unanswered } = rows[0] as { findings: Record<string, unknown>[]; unanswered: string[] };
  assert.deepEqual([code, unanswered], [1, []], stdout);
  assert.deepEqual(
    findings.map(({ name, rows: count, tokens, detail }) => [name, count, tokens, detail]),
    [
      ['aggregates_counted', 1, 330, null],
      ['calls_counted_twice', 1, 77, null],
      ['responses_counted_twice', 1, 88, null],
      ['traces_too_large', 10_001, 10_001, null],
      ['tokens_disagree', 1, 15, null],
      ['calls_without_usage', 1, 0, null],
      ['unpriced', 3, 2011, 'no price for nobody-knows, old'],
      ['unpriced', 1, 15, 'unpriced: tokens_disagree'],
      ['cache_untold', 1, 2530, 'untold'],
      ['cache_untold', 1, 2530, 'untold Claude'],
      ['runs_without_root', 1, 1000, null],
      ['hashes_of_wrappers', 1, 22, OURS],
    ],
  );
  return findings;
}

test('what cannot be right in an embedded store is found', async () => {
  const place = { dataDir: join(folder, 'pgdata') };
  await edit(place, migrate);
  await assertFindings(place);
});

describe('on Postgres', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startQuietPostgres();
  });
  after(() => server.stop());

  test('what cannot be right in a store is found', async () => {
    const place = { url: await server.createMigrated() };
    await edit(place, async (database) => {
      await store(database, RIGHT);
      await rollUpAll(database);
    });
    const clean = await db(place, 'check', '--json');
    assert.deepEqual([clean.rows[0]?.findings, clean.rows[0]?.clean, clean.code], [[], true, 0]);
    assert.match((await db(place, 'check')).stdout, /nothing found that cannot be right/);

    const findings = await assertFindings(place);
    const text = await db(place, 'check');
    assert.match(
      text.stdout,
      /aggregates_counted \(1\): spans repeat .*; 330 tokens, <?\$0.*\n {4}run: npx .* db rollup/,
    );
    for (const age of ['30d', '500000w'])
      assert.match((await db(place, 'check', '--since', age)).stdout, /unpriced \(4\): calls have no cost/);
    await using pageDb = await openDatabase(place);
    await using page = await startPage({ db: pageDb, port: 0, token: PAGE_TOKEN });
    const shown = async () => {
      const answer = await post(`${page.address}api/check`, BEARER, undefined, 'GET');
      return (JSON.parse(answer.body.toString()) as { findings: { name: string }[] }).findings;
    };
    // The page settles what it can before it answers; nobody waits for the check.
    await waitUntil(async () => (await shown()).some(({ name }) => name === 'tokens_disagree'));
    await edit(place, async (database) => {
      for (const { sql, rows: count } of findings.slice(2, 5)) {
        const { rows } = await database.query(String(sql));
        assert.equal(rows[0]?.rows, count, 'the SQL of a finding can be run as it is');
      }
      await rollUpAll(database);
    });
    const { findings: rest } = (await db(place, 'check', '--json')).rows[0] as {
      findings: { name: string }[];
    };
    assert.equal(rest[0]?.name, 'responses_counted_twice', 'what can be settled is');

    // Others may write to the table as well, and have functions that are called alike.
    await runSql(
      place.url,
      `UPDATE mcp_traces SET attributes = '[]', answer_hash = 'x', cost_usd = CASE WHEN model IS NULL THEN 1e308 ELSE 'NaN' END;
      CREATE SCHEMA other; CREATE FUNCTION other.mcp_traces_reprice(jsonb) RETURNS bigint RETURN 1`,
    );
    const odd = [await db(place, 'check', '--json'), await db(place, 'reprice', '--dry-run')];
    for (const { stdout, stderr } of odd) assert.doesNotMatch(stdout, /^$|NaN|Infinity|_usd":null/, stderr);
    const alike = { url: `${place.url}?options=-csearch_path%3Dother,public` };
    await assert.rejects(db(alike, 'reprice'), { message: /mcp_traces_reprice\(\) in schema other/ });
  });

  const priceFile = (name: string, models: Readonly<Record<string, number>>): string => {
    const file = join(folder, name);
    const prices = Object.entries(models).map(([named, usd]) => ({
      model: named,
      input_usd_per_million: usd,
      output_usd_per_million: usd,
    }));
    writeFileSync(file, JSON.stringify(prices));
    return file;
  };

  test('costs are computed again where they were computed here, and all figures follow', async () => {
    const place = { url: await server.createMigrated() };
    const ours = { 'gen_ai.usage.input_tokens': 1_000_000, 'gen_ai.usage.output_tokens': 0 };
    await edit(place, (database) =>
      store(
        database,
        [
          call({ ...ours, 'gen_ai.request.model': 'in-house' }),
          call({ ...ours, 'gen_ai.request.model': 'given-up' }),
          call({ ...ours, 'gen_ai.request.model': 'gpt-4o-mini' }),
          call({ ...ours, 'gen_ai.request.model': 'gpt-4o-mini', 'gen_ai.usage.cost': 7 }),
          call({
            ...ours,
            'gen_ai.request.model': 'gpt-4o-mini',
            'observatory.usage_units': '{"modes":["tier flex"]}',
          }),
        ],
        { prices: [{ model: 'given-up', inputUsdPerMillion: 3, outputUsdPerMillion: 3 }] },
      ),
    );
    await edit(place, (database) =>
      database.exec(`UPDATE mcp_traces SET offered_tools_hash = 'h', offered_tools_tokens = 250000, offered_tools_cost_usd = 0.0375
        WHERE model = 'gpt-4o-mini' AND cost_source = 'genai-prices' AND usage_units IS NULL`),
    );
    await edit(place, rollUpAll);
    const figures = () =>
      edit(place, async (database) => {
        const { rows } = await database.query(
          `SELECT (SELECT sum(cost_usd) FROM mcp_traces) AS spans, (SELECT sum(cost_usd) FROM mcp_runs) AS runs,
            (SELECT sum(cost_usd) FROM mcp_traces_hourly) AS hourly, (SELECT sum(unpriced)::int FROM mcp_models_hourly) AS unpriced`,
        );
        const now = Date.now();
        const byModel = await costs(database, 'model', { sinceMs: now - 3_600_000, untilMs: now + 1000 });
        const page = byModel.reduce((sum, row) => sum + row.costUsd, 0);
        const { rows: tax } = await runCommand(taxCommand, ['--json', '--database-url', place.url]);
        const found: Record<string, unknown> = { ...rows[0], page, tax: tax[0]?.cost_usd };
        return found;
      });
    const near = async (spans: number, unpriced: number, tax: number) => {
      const found = await figures();
      for (const of of ['spans', 'runs', 'hourly', 'page'] as const)
        assert.equal(Number(found[of]).toFixed(6), spans.toFixed(6), of);
      assert.deepEqual([found.unpriced, Number(found.tax).toFixed(6)], [unpriced, tax.toFixed(6)]);
    };
    await near(3 + 0.15 + 7 + 0.075, 1, 0.0375);

    // Without prices of one's own, the table gives what it gave.
    const same = (await db(place, 'reprice', '--json')).rows[0];
    assert.deepEqual([same?.checked, same?.changed, same?.kept], [3, 0, { instrumentation: 1, override: 1 }]);

    const prices = priceFile('prices.json', { 'in-house': 2, 'gpt-4o-mini': 1 });
    const args = ['reprice', '--json', '--since', '1d', '--prices', prices];
    const planned = (await db(place, ...args, '--dry-run')).rows[0];
    await near(3 + 0.15 + 7 + 0.075, 1, 0.0375);
    const { database: _, since: __, dry_run: isDryRun, ...done } = (await db(place, ...args)).rows[0] ?? {};
    assert.deepEqual(done, {
      checked: 4,
      changed: 4,
      before_usd: 3.225,
      after_usd: 4,
      newly_priced: 1,
      days_gone: [],
      newly_unpriced: { unknown: 1 },
      kept: { instrumentation: 1 },
    });
    assert.deepEqual([planned?.changed, planned?.after_usd, isDryRun], [4, 4, false]);
    await near(2 + 1 + 7 + 1, 1, 0.25);
    const again = await db(place, 'reprice', '--prices', prices);
    assert.match(
      again.stdout,
      /: 0 of 4 calls changed; \$4.00 before, \$4.00 after\n {2}cost kept: 1 call, instrumentation/,
    );
    await near(2 + 1 + 7 + 1, 1, 0.25);

    // Of a day whose rows are gone, the sums stay, and that is said.
    await edit(place, (database) => database.exec('DELETE FROM mcp_traces'));
    const gone = await db(place, 'reprice', '--prices', prices);
    assert.match(
      gone.stdout,
      /0 of 0 calls .*\n {2}the rows of these days are pruned or archived, and their sums stay: 20/,
    );
  });

  test('a call that was settled while costs were computed keeps none', async () => {
    const place = { url: await server.createMigrated() };
    await edit(place, async (database) => {
      await store(database, [call({ ...usage(100), 'gen_ai.request.model': 'in-house' })]);
      const { rows } = await database.query('SELECT trace_id::text, span_id::text FROM mcp_traces');
      await database.exec(
        `UPDATE mcp_traces SET counted_on = 'children', cost_source = NULL, prompt_tokens = NULL`,
      );
      const change = { ...rows[0], was: 'unknown', cost_usd: 5, cost_source: 'override' };
      const { rows: answer } = await database.query(
        'SELECT mcp_traces_reprice($1::text::jsonb)::int AS changed',
        [JSON.stringify([change])],
      );
      assert.equal(answer[0]?.changed, 0);
    });
  });

  test('prices that cannot be read are bad usage', async () => {
    const place = { url: await server.createMigrated() };
    await assert.rejects(db(place, 'reprice', '--prices', join(folder, 'absent.json')), {
      code: 'INVALID_OPTION',
      message: /--prices: cannot read/,
    });
  });
});
