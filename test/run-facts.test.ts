/** What a list of runs says of a run, added up in SQL, beside what the run itself says, read from its spans. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { openDatabase, PostgresSpanExporter, refreshRuns } from '../src/postgres/index.ts';
import { toFacts } from '../src/runs/explain/facts.ts';
import { costs, listRuns, type RunRow, readRunSpans } from '../src/runs/index.ts';
import { exportSpans } from './support/export.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { rollUpAll } from './support/roll-up.ts';
import { chat, PAYMENT, runOf, STORY, tool } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

/** One call that its client, its server and a framework around the client recorded, and one that failed and was repeated. */
const BOTH_SIDES = runOf(901, 5, [
  { name: 'invoke_agent', at: 0, ms: 900 },
  chat(),
  {
    name: 'execute_tool pay',
    at: 100,
    ms: 90,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'bank/pay' },
  },
  tool('pay', { parent: 2, at: 110 }),
  tool('pay', { parent: 3, at: 115, ms: 20, kind: SpanKind.SERVER }),
  tool('refund', { at: 300, error: 'timeout' }),
  tool('refund', { at: 500 }),
]);
/** A call that the gate refused: its span has an error, which makes it no failure. */
const REFUSED = runOf(902, 6, [
  { name: 'invoke_agent', at: 0, ms: 900 },
  tool('wipe', {
    error: 'refused',
    attributes: { 'observatory.policy_decision': 'deny', 'observatory.gate_blocked': true },
  }),
]);

/** A model call; those without usage, or without a model, are calls as well. */
const call = (at: number, attributes: Attributes, error?: string) => ({
  name: 'chat',
  at,
  ms: 20,
  kind: SpanKind.CLIENT,
  attributes: { 'gen_ai.operation.name': 'chat', ...attributes },
  ...(error === undefined ? {} : { error }),
});
const TOLD = {
  'observatory.prompt_tokens': 10,
  'observatory.completion_tokens': 2,
  'observatory.cost_source': 'unknown',
};
const NAMED = { 'gen_ai.request.model': 'some-model' };
/** Eight calls: four with tokens, and of all two without a model. The agent names a model, and is no call. */
const EIGHT_CALLS = runOf(903, 4, [
  { name: 'invoke_agent', at: 0, ms: 900, attributes: { 'gen_ai.operation.name': 'invoke_agent', ...NAMED } },
  ...[100, 130, 160].map((at) => call(at, { ...NAMED, ...TOLD })),
  call(190, TOLD),
  ...[220, 250].map((at) => call(at, NAMED)),
  call(280, NAMED, 'overloaded'),
  call(310, {}),
]);

describe('facts of a run', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let runs: readonly RunRow[] = [];
  let seeded: readonly (readonly ReadableSpan[])[] = [];
  before(async () => {
    server = await startPostgres();
    const url = await server.createMigrated();
    db = await openDatabase({ url });
    const exporter = new PostgresSpanExporter({ connection: url });
    seeded = [PAYMENT, STORY, BOTH_SIDES, REFUSED, EIGHT_CALLS];
    for (const spans of seeded) await exportSpans(exporter, spans);
    await exporter.shutdown();
    // Another test of this server may hold a transaction open, which delays what is added up.
    const count = new Set(seeded.flat().map((span) => span.spanContext().traceId)).size;
    await waitUntil(async () => {
      await refreshRuns(db);
      runs = (await listRuns(db)).runs;
      return runs.length === count;
    });
  });
  after(async () => {
    await db?.close();
    await server?.stop();
  });

  test('every call to a model counts, without tokens and without a model too, in costs as in runs', async () => {
    const id = EIGHT_CALLS[0]?.spanContext().traceId;
    assert.equal(runs.find((run) => run.id === id)?.modelCalls, 8);
    await rollUpAll(db);
    const { rows } = await db.query('SELECT sum(spans)::int AS spans FROM mcp_traces_hourly');
    assert.equal(rows[0]?.spans, seeded.flat().length);
    const range = { sinceMs: 0, untilMs: Date.now() + 3_600_000 };
    const all = runs.reduce((sum, { modelCalls }) => sum + modelCalls, 0);
    for (const by of ['model', 'user', 'service'] as const) {
      for (const filter of ['', 'is:rooted']) {
        const rows = await costs(db, by, range, filter);
        assert.equal(
          rows.reduce((sum, { calls }) => sum + calls, 0),
          all,
          `${by} ${filter}`,
        );
        const unnamed = rows.filter(({ name }) => name === '').reduce((sum, { calls }) => sum + calls, 0);
        if (by === 'model') assert.equal(unnamed, 2, filter);
      }
    }
  });

  test('the row of a run and the facts of its spans agree', async () => {
    for (const run of runs) {
      const facts = toFacts(await readRunSpans(db, run));
      const cost = facts.modelCalls.some(({ costUsd }) => costUsd !== null) ? facts.costUsd : null;
      const ofSpans = {
        toolCalls: facts.calls.length,
        failedCalls: facts.failed.length + facts.mended.length,
        denied: facts.denied.length,
        modelCalls: facts.modelCalls.length,
        promptTokens: facts.modelCalls.reduce((sum, { promptTokens }) => sum + (promptTokens ?? 0), 0),
        costUsd: cost === null ? null : Math.round(cost * 1e9),
        unpriced: facts.unpriced.length,
        contradicted: facts.contradicted.length > 0,
        unsupported: facts.unsupported.length > 0,
        durationMs: Math.round(facts.durationMs),
      };
      const ofRow = {
        toolCalls: run.toolCalls,
        failedCalls: run.failedCalls,
        denied: run.denied,
        modelCalls: run.modelCalls,
        promptTokens: run.promptTokens,
        costUsd: run.costUsd === null ? null : Math.round(run.costUsd * 1e9),
        unpriced: run.unpriced,
        contradicted: run.contradicted,
        unsupported: run.unsupported,
        durationMs: Math.round(run.endMs - run.startMs),
      };
      assert.deepEqual(ofSpans, ofRow, run.id);
    }
    const counts = [BOTH_SIDES, REFUSED].map(([span]) => {
      const run = runs.find(({ id }) => id === span?.spanContext().traceId);
      return [run?.toolCalls, run?.failedCalls, run?.denied];
    });
    assert.deepEqual(counts, [
      [3, 1, 0],
      [1, 0, 1],
    ]);
  });
});
