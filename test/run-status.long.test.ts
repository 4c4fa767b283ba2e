// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
// Runs with the others that hook require() too: the instrumentation of MCP leaves its hook in the process.
/** A run of each status, made by a real gate, is the same to whoever reads it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decideNow, PostgresReviewQueue } from '../src/approvals/index.ts';
import { runsCommand } from '../src/cli/runs.ts';
import { openDatabase, refreshRuns } from '../src/postgres/index.ts';
import { MIGRATIONS, migrationScript } from '../src/postgres/migrations.ts';
import {
  explainRun,
  findRun,
  listApprovals,
  listRuns,
  listWaiting,
  type RunStatus,
  readRunSpans,
  readSaid,
  runMetrics,
  sentenceText,
} from '../src/runs/index.ts';
import { answerTool, STORE_TOOLS } from '../src/ui/mcp/tools.ts';
import { answerApi } from '../src/ui/server/api.ts';
import { type GatedRuns, makeGatedRuns } from './support/gated-runs.ts';
import { noPostgres, type PostgresServer, startQuietPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { waitUntil } from './support/wait-until.ts';

/** The steps of each run, and what is said of it: its status, others that it meets, those of its spans if they differ. */
const CASES: Readonly<
  Record<
    string,
    { tools: string[]; status: RunStatus; also?: RunStatus[]; spans?: RunStatus[]; sentence: RegExp }
  >
> = {
  ok: { tools: ['balance'], status: 'ok', sentence: /^1 tool call, none failed;/ },
  failed: { tools: ['transfer'], status: 'failed', sentence: /^1 tool call, 1 failed \(transfer/ },
  'failed, and read by a model': {
    tools: ['chat', 'transfer', 'chat'],
    status: 'recovered',
    spans: ['failed'],
    sentence: /^1 tool call, 1 failed \(transfer.*; the run recovered;/,
  },
  'failed, and read in vain': {
    tools: ['chat', 'transfer', 'chat fails'],
    status: 'failed',
    sentence: /^1 tool call, 1 failed \(transfer.*; chat failed: no answer/,
  },
  'failed, and said to be done': {
    tools: ['transfer', 'chat lies'],
    status: 'failed',
    sentence: /^1 tool call, 1 failed \(transfer.*; the answer says what the trace contradicts/,
  },
  'failed, and said to be done by a root that is well': {
    tools: ['transfer', 'chat lies', 'root is ok'],
    status: 'failed',
    sentence: /^1 tool call, 1 failed \(transfer.*; the answer says what the trace contradicts/,
  },
  'failed, said to be done, and corrected': {
    tools: ['transfer', 'chat lies', 'chat'],
    status: 'recovered',
    spans: ['failed'],
    sentence: /^1 tool call, 1 failed \(transfer.*; the run recovered;/,
  },
  'failed after the last answer': {
    tools: ['chat', 'transfer', 'embeddings'],
    status: 'failed',
    sentence: /^1 tool call, 1 failed \(transfer/,
  },
  'a model asked again': {
    tools: ['chat fails', 'chat'],
    status: 'recovered',
    spans: ['failed'],
    sentence: /^chat failed: no answer; the run recovered;/,
  },
  'given up after an answer': {
    tools: ['transfer', 'chat', 'root fails'],
    status: 'failed',
    sentence: /^1 tool call, 1 failed/,
  },
  'said to be well': {
    tools: ['transfer', 'root is ok'],
    status: 'recovered',
    spans: ['failed'],
    sentence: /^1 tool call, 1 failed.*; the run recovered;/,
  },
  'failed, read, denied': {
    tools: ['transfer', 'wipe', 'chat'],
    status: 'denied',
    also: ['recovered'],
    spans: ['failed', 'denied'],
    sentence: /^2 tool calls, 1 failed .*, 1 denied/,
  },
  denied: {
    tools: ['wipe'],
    status: 'denied',
    sentence: /^1 tool call, 1 denied \(wipe: no rule allows it\);/,
  },
  held: { tools: ['pay'], status: 'held', sentence: /^pay waits for you: decide; 1 tool call\.$/ },
  withheld: {
    tools: ['report'],
    status: 'withheld',
    sentence: /^1 tool call, 1 withheld \(report: structuredContent does not fit the output type\);/,
  },
  'running now': {
    tools: ['balance'],
    status: 'running',
    sentence: /^1 tool call, none failed; it still runs;/,
  },
  'running long ago': {
    tools: ['balance'],
    status: 'incomplete',
    sentence: /^1 tool call, none failed; incomplete, since its root span never came;/,
  },
  'all of them': {
    tools: ['balance', 'transfer', 'wipe', 'pay', 'report'],
    status: 'failed',
    also: ['denied', 'withheld', 'held'],
    sentence: /^pay waits for you: decide; 5 tool calls, 1 failed .*, 1 denied .*, 1 withheld/,
  },
};
const WORDS: readonly RunStatus[] = [
  'ok',
  'failed',
  'recovered',
  'denied',
  'withheld',
  'held',
  'running',
  'incomplete',
];

/** Words for runs that no span has. */
const RUNS_ALONE: ReadonlySet<RunStatus> = new Set(['ok', 'running', 'incomplete', 'recovered']);

describe('the status of a run', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let url = '';
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let ids: GatedRuns;
  before(async () => {
    server = await startQuietPostgres();
    url = await server.createMigrated();
    db = await openDatabase({ url });
    ids = await makeGatedRuns(
      db,
      Object.fromEntries(Object.entries(CASES).map(([name, { tools }]) => [name, tools])),
    );
    await refreshRuns(db);
    await db.query(`UPDATE mcp_runs SET ended_at = ended_at - interval '1 hour' WHERE trace_id = $1::uuid`, [
      ids['running long ago'],
    ]);
  });
  after(async () => {
    await db?.close();
    await server?.stop();
  });
  const runs = async (...args: string[]) => {
    const { stdout } = await runCommand(runsCommand, [...args, '--database-url', url]);
    return stdout;
  };
  const ask = (name: string, args: Record<string, unknown>) => {
    const tool = STORE_TOOLS.find((one) => one.name === name) ?? assert.fail();
    return answerTool(tool, db, args);
  };
  const api = async (path: string) =>
    (await answerApi({ db, goldens: '' }, path, new URLSearchParams())) as Record<string, never>;

  for (const [name, { status, also = [], spans = [status, ...also], sentence }] of Object.entries(CASES)) {
    test(`${name}: list, filter, page, sentence, /mcp and command line agree`, async () => {
      const id = ids[name] ?? assert.fail();
      const row = (await findRun(db, id)) ?? assert.fail();
      const page = (await api(`/api/runs/${id}`)) as { run?: { status?: string } };
      const listed = (await api('/api/runs')) as { runs?: { id: string; status: string }[] };
      const shown = JSON.parse(await runs('show', id, '--json')) as { status: string; explanation: string };
      const line = (await ask('list_runs', {})).split('\n').find((one) => one.startsWith(id));
      assert.deepEqual(
        {
          list: row.status,
          page: page.run?.status,
          pageList: listed.runs?.find((one) => one.id === id)?.status,
          command: shown.status,
          table: (await runs('list'))
            .split('\n')
            .find((one) => one.startsWith(id.slice(0, 12)))
            ?.split(/ {2,}/)[2],
          mcp: /^\S+ \S+ (\w+)/.exec(line ?? '')?.[1],
          mcpRun: /, (\w+)$/m.exec(await ask('show_run', { run: id }))?.[1],
        },
        {
          list: status,
          page: status,
          pageList: status,
          command: status,
          table: status,
          mcp: status,
          mcpRun: status,
        },
      );
      const tree = await runs('show', id);
      const marks = tree.split('\n').flatMap((text) => / ms {2}(\w+)$/.exec(text)?.[1] ?? []);
      const ended = spans.filter((word) => !RUNS_ALONE.has(word));
      assert.deepEqual([...new Set(marks)].sort(), ended.sort());
      const said = sentenceText(
        explainRun(await readRunSpans(db, row), await listApprovals(db, row), row.status),
      );
      assert.match(said, sentence);
      assert.equal(shown.explanation, said);
      assert.ok((await ask('show_run', { run: id })).includes(said));
      const met = new Set([status, ...also]);
      for (const word of WORDS) {
        const { runs: found } = await listRuns(db, { filter: `status:${word}` });
        assert.equal(
          found.some((run) => run.id === id),
          met.has(word),
          `status:${word}`,
        );
        const told = await ask('list_runs', { filter: `status:${word}` });
        assert.equal(told.includes(id), met.has(word), `/mcp status:${word}`);
      }
    });
  }

  test('the figures above a list count as its rows do', async () => {
    const { runs: all } = await listRuns(db);
    const { failed, held } = await runMetrics(db);
    assert.deepEqual(
      [failed, held],
      [all.filter((run) => run.status === 'failed').length, all.filter((run) => run.held > 0).length],
    );
  });

  test('runs counted before this definition are counted by it once the schema is updated', async () => {
    const older = await openDatabase({ url: await server.createDatabase() });
    try {
      const [before, since] = [MIGRATIONS.slice(0, 10), MIGRATIONS.slice(10)];
      await older.query(migrationScript(before));
      const steps = {
        read: ['transfer', 'chat'],
        unread: ['chat', 'transfer'],
        denied: ['transfer', 'chat lies'],
      };
      const made = await makeGatedRuns(older, steps);
      await refreshRuns(older);
      const failed = async () =>
        (await older.query('SELECT trace_id FROM mcp_runs WHERE is_failed ORDER BY started_at')).rows.map(
          (row) => String(row.trace_id).replaceAll('-', ''),
        );
      assert.deepEqual(await failed(), [made.read, made.unread, made.denied]);
      await older.query(migrationScript(since));
      assert.deepEqual(await failed(), [made.unread, made.denied]);
      const { rows } = await older.query('SELECT sum(failed)::int AS failed FROM mcp_runs_hourly');
      assert.equal(rows[0]?.failed, 2);
    } finally {
      await older.close();
    }
  });

  test('a run says who decided about its calls, how long it waited, and with what arguments a call was refused', async () => {
    const told = async (of: GatedRuns, name: string) => {
      await refreshRuns(db);
      const row = (await findRun(db, of[name] ?? '')) ?? assert.fail();
      const [spans, approvals] = [await readRunSpans(db, row), await listApprovals(db, row)];
      const said = await readSaid(db, row.id, spans);
      return { row, sentence: sentenceText(explainRun(spans, approvals)), approvals, said };
    };
    const held = await told(ids, 'held');
    assert.deepEqual([held.row.waits, held.approvals.map(({ isAwaited }) => isAwaited)], [true, [false]]);
    assert.match(held.approvals[0]?.args ?? '', /"account":"DE89"/);
    const queue = new PostgresReviewQueue({ connection: db });
    const [request] = held.approvals;
    await decideNow(queue, request?.id ?? '', {
      how: 'reject',
      by: 'page:Ada',
      note: 'not now',
      scope: 'once',
    });
    const rejected = await told(ids, 'held');
    assert.equal(rejected.row.waits, false);
    assert.match(rejected.sentence, /^pay was held: rejected by Ada \(not now\); 1 tool call\.$/);
    const denied = await told(ids, 'denied');
    assert.match(denied.said[0]?.arguments ?? '', /"account":"DE89"/);
    const waited = await makeGatedRuns(db, { waited: ['pay'], turned: ['pay'] }, async () => {
      const open = async () =>
        (await listWaiting(db)).open.find(({ args }) => /"(?:waited|turned)"/u.test(args ?? ''));
      await waitUntil(async () => (await open()) !== undefined);
      const asked = (await open()) ?? assert.fail();
      await sleep(1100);
      const how = asked.args?.includes('waited') === true ? 'approve' : 'reject';
      await decideNow(queue, asked.id, { how, by: 'page:Ada', scope: 'once' });
    });
    const one = await told(waited, 'waited');
    assert.match(
      one.sentence,
      /^1 tool call, none failed; \d\.\d+ s waited, approved once by Ada; \d\.\d+ s in all\.$/,
    );
    assert.equal(one.row.status, 'ok');
    const other = await told(waited, 'turned');
    assert.match(other.sentence, /^1 tool call, 1 denied \(pay: rejected by Ada\);/);
    assert.equal(other.row.status, 'denied');
  });
});
