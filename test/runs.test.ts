// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { runsCommand } from '../src/cli/runs.ts';
import { PostgresSpanExporter, type Queryable, refreshRuns } from '../src/postgres/index.ts';
import {
  explainRun,
  findRun,
  listHighlights,
  listRuns,
  parseFilter,
  readRunSpans,
  runMetrics,
  sentenceText,
  toolHealth,
} from '../src/runs/index.ts';
import { testDatabases } from './support/databases.ts';
import { exportSpans } from './support/export.ts';
import { noPostgres, type PostgresServer, startQuietPostgres } from './support/postgres-server.ts';
import { random } from './support/random.ts';
import { runCommand } from './support/run-command.ts';
import { chat, OLD, PAYMENT, RETRIED, runOf, SHADOW, tool } from './support/seeded-runs.ts';
import { sized } from './support/size.ts';

let own: Promise<PostgresServer> | undefined;
const startOnce = () => {
  own ??= startQuietPostgres();
  return own;
};
const all = testDatabases(startOnce);
after(async () => {
  for (const databases of all) await databases[Symbol.asyncDispose]();
});

for (const databases of all) {
  describe(`runs on ${databases.name}`, { skip: databases.skip }, () => {
    let opened: Promise<Queryable> | undefined;
    const seeded = () => {
      opened ??= (async () => {
        const db = await databases.createMigrated();
        const exporter = new PostgresSpanExporter({ connection: db });
        // The root of the payment arrives last, and all of it twice.
        await exportSpans(exporter, PAYMENT.slice(1));
        await refreshRuns(db);
        for (const spans of [PAYMENT.slice(0, 1), PAYMENT, RETRIED, SHADOW, OLD])
          await exportSpans(exporter, spans);
        await refreshRuns(db);
        return db;
      })();
      return opened;
    };
    const idsOf = async (filter: string, sinceMs = Date.now() - 7 * 86_400_000) => {
      const { runs, problems } = await listRuns(await seeded(), { filter, sinceMs });
      assert.deepEqual(problems, [], filter);
      return runs.map(({ id }) => Number.parseInt(id, 16));
    };

    test('a run counts each call and each span once, however its spans arrive', async () => {
      const run = await findRun(await seeded(), '1'.padStart(32, '0'));
      assert.ok(run);
      const { id: _, startMs, endMs, ...rest } = run;
      assert.equal(Math.round(endMs - startMs), 2000);
      assert.deepEqual(rest, {
        name: 'invoke_agent payments',
        status: 'failed',
        service: 'payments',
        client: 'cursor',
        user: '42',
        session: null,
        conversation: null,
        models: ['gpt-4o'],
        tools: ['delete_all', 'get_balance', 'send_payment'],
        servers: ['bank'],
        failedTools: ['send_payment'],
        failure: { what: 'send_payment', why: 'card_declined' },
        spans: 7,
        errors: 1,
        modelCalls: 2,
        toolCalls: 3,
        failedCalls: 1,
        denied: 1,
        withheld: 0,
        held: 0,
        waits: false,
        promptTokens: 200,
        completionTokens: 40,
        cachedTokens: 0,
        costUsd: 0.02,
        unpriced: 0,
        risk: 'high',
        contradicted: true,
        unsupported: false,
        labels: [],
        note: null,
        notedBy: null,
        isShadow: false,
        hasRoot: true,
      });
    });

    test('each field of a filter selects', async () => {
      const expected: Readonly<Record<string, readonly number[]>> = {
        '': [3, 2, 1, 4],
        'tool:payment': [1],
        'tool:pay*t': [1],
        'tool:fetch,get_balance': [2, 1],
        'failed:fetch': [2],
        'status:error': [1],
        'status:denied': [1],
        'status:ok': [3, 4],
        'status:recovered': [2],
        'risk>=medium': [1],
        'risk:none': [3, 2, 4],
        'server:bank -tool:fetch': [1],
        'client:Cursor': [1],
        'service:pay': [3, 2, 1, 4],
        'model:gpt': [3, 2, 1],
        'user:42': [1],
        'user:4': [],
        'cost>0.015': [1],
        'cost<=0.01': [3, 2, 4],
        'duration>1800ms': [1],
        'duration>1s duration<2': [2],
        'tokens>=240': [1],
        'calls:2': [2],
        'finding:contradicted': [1],
        'is:shadow': [3],
        '-is:shadow is:unpriced': [2],
        'since:25m': [3, 2],
        'until:25m since:1d': [1],
        'text:card_declined': [1],
        report: [2],
        '"nightly report"': [2],
        '-"nightly report" since:1d': [3, 1],
        'run:00000000': [3, 2, 1, 4],
        'run:zz': [],
        '"<b>100%_\\"': [4],
        '"100__"': [],
      };
      for (const [filter, ids] of Object.entries(expected)) {
        assert.deepEqual(await idsOf(filter), ids, filter);
      }
    });

    test('pages follow each other without a gap, and the figures are those of the list', async () => {
      const db = await seeded();
      const seen: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await listRuns(db, { limit: 1, after, sinceMs: Date.now() - 7 * 86_400_000 });
        seen.push(...page.runs.map(({ id }) => id));
        if (page.next === null) break;
        after = page.next;
      }
      assert.equal(new Set(seen).size, 4);
      const metrics = await runMetrics(db, {});
      const { runs, failed, contradicted, unpriced, held, buckets } = metrics;
      assert.deepEqual(
        { runs, failed, contradicted, unpriced, held },
        { runs: 3, failed: 1, contradicted: 1, unpriced: 1, held: 0 },
      );
      assert.equal(
        buckets.reduce((sum, bucket) => sum + bucket.runs, 0),
        3,
      );
      assert.equal(Math.round(metrics.costUsd * 1000), 30);
      await assert.rejects(listRuns(db, { limit: 0 }), { code: 'INVALID_OPTION' });
      await assert.rejects(listRuns(db, { after: "1'-x" }), { code: 'INVALID_OPTION' });
    });

    test('a text is looked for as far as the time allows, and the list says how far that was', async (t) => {
      const db = await seeded();
      const sinceMs = Date.now() - 7 * 86_400_000;
      const all = await listRuns(db, { filter: 'text:card_declined', sinceMs });
      assert.deepEqual([all.runs.length > 0, all.lookedMs], [true, undefined]);
      const now = performance.now.bind(performance);
      let late = 0;
      t.mock.method(performance, 'now', () => now() + late);
      const slow: Queryable = {
        ...db,
        query: (text, values) => {
          if (text.includes('AS matches')) late += 1100;
          return db.query(text, values);
        },
      };
      const filter = 'text:card_declined';
      const first = await listRuns(slow, { filter, sinceMs: 0 });
      const older = await listRuns(db, { filter, sinceMs: 0, untilMs: first.lookedMs });
      assert.ok(first.lookedMs !== undefined);
      assert.deepEqual(
        new Set([...first.runs, ...older.runs].map(({ id }) => id)),
        new Set((await listRuns(db, { filter, sinceMs: 0 })).runs.map(({ id }) => id)),
      );
      await assert.rejects(toolHealth(slow, { sinceMs: 0, untilMs: Date.now() }, filter), {
        message: /shorter range/,
      });
    });

    test('a run is explained by its spans', async () => {
      const db = await seeded();
      const spansOf = async (n: number) => {
        const run = await findRun(db, n.toString(16).padStart(32, '0'));
        return run === undefined ? [] : await readRunSpans(db, run);
      };
      const explained = async (n: number) => sentenceText(explainRun(await spansOf(n)));
      assert.equal(
        await explained(1),
        '3 tool calls, 1 failed (send_payment: card_declined), 1 denied (delete_all: not_allowed); the answer says what the trace contradicts: risk high; $0.0200; 2.00 s in all.',
      );
      const low = (await spansOf(1)).map((span) => ({ ...span, risk: span.risk && 'low' }) as const);
      assert.match(sentenceText(explainRun(low)), /the answer says what the trace contradicts; \$/);
      assert.equal(
        await explained(2),
        '2 tool calls, 1 failed and was retried; unpriced: no price is known for gpt-4o; 1.50 s in all.',
      );
      const uncounted = (await spansOf(2)).map(
        (span) => ({ ...span, costSource: span.costSource && 'unpriced: cache_untold' }) as const,
      );
      assert.match(sentenceText(explainRun(uncounted)), /; unpriced: not known for gpt-4o: cache untold;/);
      assert.equal(await explained(4), '5.0 ms in all.');
      const [call] = await spansOf(4);
      const ended = {
        ...call,
        name: 'invoke_agent',
        status: 'failed',
        parentId: null,
        method: null,
      } as never;
      const why = { ...(ended as object), message: 'The budget was used up' } as never;
      assert.match(sentenceText(explainRun([why])), /^invoke_agent failed: The budget was used up;/);
      const below = { ...(ended as object), name: 'chat', parentId: '1', message: '429 slow down' } as never;
      assert.match(sentenceText(explainRun([ended, below])), /^chat failed: 429 slow down;/);
      assert.match(sentenceText(explainRun([why, below])), /^chat failed, as did 1 more: 429 slow down;/);
      assert.equal(await explained(99), 'No spans.');
    });

    test('any text is a filter that the database takes', async () => {
      const db = await seeded();
      const below = random(7);
      const pieces = [
        'tool',
        'cost',
        'risk',
        'is',
        ':',
        '>',
        '<=',
        '"',
        '-',
        ',',
        ' ',
        '%',
        '_',
        '\\',
        "'",
        ';--',
        '*',
        '$1',
        '0.1',
        '5m',
        'high',
        'shadow',
        '\u0000',
        '\ud800',
        '日本',
        '\n',
      ];
      for (let i = 0; i < sized(60, 1000); i += 1) {
        const length = 1 + below(12);
        const filter = Array.from({ length }, () => pieces[below(pieces.length)]).join('');
        const { problems } = parseFilter(filter);
        for (const { start, end, suggestion } of problems) {
          assert.ok(start <= end && end <= filter.length);
          if (suggestion !== undefined)
            assert.ok(parseFilter(suggestion).problems.every((next) => next.suggestion !== suggestion));
        }
        await listRuns(db, { filter });
      }
    });

    // Last: some databases are one, emptied.
    test('a run has the name of what its user said, else of what it called, and the session of its application', async () => {
      const db = await databases.createMigrated();
      const agent = { 'gen_ai.operation.name': 'invoke_agent', 'session.id': 'web-7' };
      const said = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
      const messages = [
        said('user', 'Hello'),
        said('assistant', 'Yes?'),
        said('user', 'Refund\n order 4711'),
      ];
      const mcp = { 'mcp.session.id': 'transport-1' };
      const upkeep = (method: string) => ({
        name: method,
        at: 0,
        ms: 9,
        attributes: { 'mcp.method.name': method, ...mcp },
      });
      const exporter = new PostgresSpanExporter({ connection: db });
      const runs = [
        runOf(81, 9, [
          { name: 'invoke_agent desk', at: 0, ms: 90, attributes: agent },
          chat({ attributes: { 'gen_ai.input.messages': JSON.stringify(messages) } }),
          tool('refund', { attributes: mcp, error: 'card_declined' }),
          chat({ at: 300 }),
        ]),
        runOf(82, 8, [
          { name: 'invoke_agent desk', at: 0, ms: 90, attributes: agent },
          tool('refund'),
          tool('find'),
        ]),
        runOf(83, 7, [{ name: 'nightly sums', at: 0, ms: 90 }, tool('refund')]),
        runOf(84, 6, [upkeep('initialize')]),
        runOf(85, 5, [
          { name: 'POST', kind: 2, at: 0, ms: 9, attributes: { 'http.request.method': 'POST' } },
          upkeep('tools/list'),
        ]),
        runOf(86, 4, [{ ...upkeep('initialize'), error: 'refused' }]),
      ];
      // What a run waits for comes last, as its root does.
      for (const spans of runs) await exportSpans(exporter, spans.slice(1));
      await refreshRuns(db);
      for (const spans of runs) await exportSpans(exporter, spans.slice(0, 1));
      await refreshRuns(db);
      const { runs: listed } = await listRuns(db);
      assert.deepEqual(
        listed.map(({ name, session }) => [name, session]),
        [
          ['initialize', 'transport-1'],
          ['nightly sums', null],
          ['payments: find, refund', 'web-7'],
          ['Refund order 4711', 'web-7'],
        ],
      );
      assert.deepEqual(listHighlights(listed[3] ?? assert.fail()), [
        { kind: 'recovered', text: 'recovered: refund: card_declined' },
      ]);
      assert.equal((await runMetrics(db)).runs, 4);
      const { rows } = await db.query('SELECT sum(runs)::int AS runs FROM mcp_runs_hourly');
      assert.equal(rows[0]?.runs, 4);
      const count = async (filter: string) => (await listRuns(db, { filter })).runs.length;
      assert.deepEqual(
        [
          await count('order'),
          await count('find'),
          await count('is:handshake'),
          await count('session:web-7'),
        ],
        [1, 1, 2, 2],
      );
      const sorted = await listRuns(db, { sort: 'calls', limit: 1 });
      assert.deepEqual([sorted.runs[0]?.toolCalls, sorted.next], [2, null]);
    });

    test('a span that ends long before it starts is one of its run', async () => {
      const db = await databases.createMigrated();
      const exporter = new PostgresSpanExporter({ connection: db });
      await exportSpans(exporter, runOf(9, 0, [{ name: 'back', at: 0, ms: -8 * 86_400_000 }]));
      await refreshRuns(db);
      const run = await findRun(db, '9'.padStart(32, '0'));
      assert.equal(run && (await readRunSpans(db, run)).length, 1);
    });
  });
}

describe('the command runs', { skip: noPostgres() }, () => {
  const run = async (...args: string[]) => {
    const url = await (await startOnce()).createMigrated();
    const exporter = new PostgresSpanExporter({ connection: url });
    for (const spans of [PAYMENT, RETRIED]) await exportSpans(exporter, spans);
    await exporter.shutdown();
    const flags = ['--database-url', url];
    return {
      first: await runCommand(runsCommand, [...args, ...flags]),
      again: (...more: string[]) => runCommand(runsCommand, [...more, ...flags]),
    };
  };

  test('lists by a filter, shows one and compares two', async () => {
    const { first, again } = await run('list', 'tool:pay', 'status:failed');
    assert.equal(first.code, 0);
    assert.match(
      first.stdout,
      /failed +invoke_agent payments +cursor 42 +3 +1 +2\.00 s +\$0\.0200 +answer contradicted, failed send_payment/,
    );
    const json = await again('list', '--json', '--limit', '1');
    assert.equal(
      (json.rows[0]?.runs as { trace_id: string }[] | undefined)?.[0]?.trace_id,
      '2'.padStart(32, '0'),
    );
    assert.match(String(json.rows[0]?.next), /^\d+-0{31}2$/);
    const shown = await again('show', '1'.padStart(32, '0'));
    assert.match(shown.stdout, /1 denied \(delete_all: not_allowed\).*\n\ninvoke_agent payments/);
    const whole = await again('show', '1'.padStart(32, '0'), '--json');
    assert.equal((whole.rows[0]?.items as object[] | undefined)?.length, 7);
    const diff = await again('diff', '1'.padStart(32, '0'), '2'.padStart(32, '0'));
    assert.match(diff.stdout, /^- bank\.send_payment {2}failed$/m);
    assert.match(diff.stdout, /^\+ bank\.fetch {2}ok$/m);
    assert.match(diff.stdout, /cost_usd +\$0\.0200 +unpriced/);
    assert.equal((await again('show', '9')).code, 1);
    await assert.rejects(again('show'), { code: 'INVALID_OPTION' });
    await assert.rejects(again('list', 'toll:pay'), {
      code: 'INVALID_OPTION',
      message: /Did you mean 'tool:pay'/,
    });
  });
});

describe('the filter language', () => {
  test('says what it does not understand, and what would be', () => {
    const problem = (text: string) => {
      const [first] = parseFilter(text).problems;
      return first === undefined ? undefined : [first.message, first.suggestion];
    };
    assert.deepEqual(problem('toll:pay'), ["No field is called 'toll'", 'tool:pay']);
    assert.deepEqual(problem('-duratoin>2s'), ["No field is called 'duratoin'", '-duration>2s']);
    assert.deepEqual(problem('qqqqqq:1'), ["No field is called 'qqqqqq'", undefined]);
    assert.deepEqual(problem('tool>pay'), ["'tool' takes ':' only", 'tool:pay']);
    assert.deepEqual(problem('risk>=hihg'), [
      "'risk' is one of none, low, medium, high, got 'hihg'",
      undefined,
    ]);
    assert.deepEqual(problem('cost>abc'), ["'cost' is a number: US dollars, got 'abc'", undefined]);
    assert.deepEqual(problem('status:'), ["'status' needs a value: how the run ended", undefined]);
    assert.deepEqual(
      problem('since:yesterday')?.[0],
      "'since' is started after: 24h, 7d, 2026-11-22, got 'yesterday'",
    );
    assert.equal(parseFilter('x'.repeat(2001)).problems.length, 1);
    assert.equal(parseFilter('a '.repeat(50)).terms.length, 40);
  });

  test('reads quotes, alternatives, synonyms and negation', () => {
    const [term] = parseFilter('-tool:"a b",c').terms;
    assert.deepEqual([term?.isNegated, term?.field.name, term?.values], [true, 'tool', ['a b', 'c']]);
    assert.deepEqual(parseFilter('status:error').terms[0]?.values, ['failed']);
    assert.deepEqual(parseFilter('constructor:1').problems.length, 1);
    assert.deepEqual(parseFilter('status:constructor').problems.length, 1);
  });
});
