/** Budgets over runs, days and callers, sequences, and effects that are done at most once. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import {
  AuditLog,
  type CallLedger,
  type GateCall,
  guardedCall,
  guardedDecision,
  lintPolicy,
  MemoryLedger,
  PolicyDeniedError,
  PolicyGate,
  type PolicyGateOptions,
} from '../src/policy/index.ts';
import { PostgresLedger } from '../src/policy/postgres-ledger.ts';
import type { Queryable } from '../src/postgres/index.ts';
import { auditRecords } from './support/audit-records.ts';
import { testDatabases } from './support/databases.ts';
import { decideOldest } from './support/held-call.ts';
import { LEDGER_POLICY, LEDGER_TOOLS, refundOf } from './support/ledger-policy.ts';
import { random } from './support/random.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { tempDir } from './support/temp-dir.ts';

const OK = { content: [{ type: 'text', text: 'ok' }] };
const ERROR = { ...OK, isError: true };

type Rest = Partial<GateCall> & {
  readonly invoke?: (args: object) => Promise<unknown>;
  readonly read?: unknown;
};

/** Makes a call. @returns the outcome: `made`, the reason of a refusal, or the message of what was thrown. */
async function make(gate: PolicyGate, tool: string, args: object, rest: Rest = {}): Promise<string> {
  const { invoke = async () => OK, read, ...call } = rest;
  const asked = { server: 'pay', tool, args, runId: 'r', caller: 'ada', ...call } as GateCall;
  try {
    await guardedCall(asked, invoke, { gate, read: read as never });
    return 'made';
  } catch (error) {
    return error instanceof PolicyDeniedError ? error.reasonCode : (error as Error).message;
  }
}

const lost = async (): Promise<never> => {
  throw new Error('lost');
};

const gateOf = (policy: object, options: Partial<PolicyGateOptions> = {}) =>
  new PolicyGate({ policy: { ...LEDGER_POLICY, ...policy }, tools: LEDGER_TOOLS, ...options });

const totals = (...list: object[]) => ({ budgets: { totals: list } });
const refunds = (more: object) => ({
  id: 'refunds',
  tools: ['pay.refund'],
  sum: 'amount',
  per: 'run',
  ...more,
});

test('a sum is exact, counts each run, day or caller by itself, and takes no amount it cannot count', async () => {
  using gate = gateOf(totals(refunds({ per: ['run', 'caller'], at_most: 0.3 })));
  assert.equal(await make(gate, 'refund', refundOf('a', 0.1)), 'made');
  assert.equal(await make(gate, 'refund', refundOf('b', '0.20')), 'made');
  assert.equal(await make(gate, 'refund', refundOf('c', '0.000000001')), 'budget_exceeded');
  assert.equal(await make(gate, 'refund', refundOf('c', 0)), 'made');
  assert.equal(await make(gate, 'refund', refundOf('d', 0.3), { runId: 'other' }), 'made');
  assert.equal(await make(gate, 'refund', refundOf('e', 0.3), { caller: 'bob' }), 'made');
  for (const amount of [-1, 1e-10, 0.1 + 0.2, '1e3', ' 1', '0x1', '١', '', null, [1, -1], { value: 1 }])
    assert.equal(
      await make(gate, 'refund', refundOf('d', amount), { runId: 'n' }),
      'args_uncountable',
      String(amount),
    );
  assert.equal(await make(gate, 'refund', { payment_id: 'd' }), 'args_uncountable');
  assert.equal(await make(gate, 'refund', refundOf('f', [0.1, 0.1]), { runId: 'list' }), 'made');
  assert.equal(await make(gate, 'refund', refundOf('g', [0.1, 0.1]), { runId: 'list' }), 'budget_exceeded');
});

test('an amount is given back by an answer that is an error, and held while the outcome is unknown', async () => {
  using gate = gateOf(totals(refunds({ at_most: 10 })));
  assert.equal(await make(gate, 'refund', refundOf('a', 10), { invoke: async () => ERROR }), 'made');
  assert.equal(await make(gate, 'refund', refundOf('a', 6), { invoke: lost }), 'lost');
  assert.equal(await make(gate, 'refund', refundOf('b', 5)), 'budget_exceeded');
  assert.equal(await make(gate, 'refund', refundOf('b', 4)), 'made');
  using counting = gateOf(totals({ id: 'n', tools: ['pay.*'], per: 'run', at_most: 1 }));
  assert.equal(await make(counting, 'refund', refundOf('a', 1), { invoke: async () => ERROR }), 'made');
  assert.equal(
    await make(counting, 'get_refund', { payment_id: 'a' }),
    'budget_exceeded',
    'a count is of calls',
  );
});

test('a call that is refused after it was reserved gives back what it took', async () => {
  using gate = gateOf({
    budgets: { calls_per_run: 1, totals: [refunds({ per: 'caller', at_most: 10 })] },
  });
  assert.equal(await make(gate, 'refund', refundOf('a', 5)), 'made');
  assert.equal(await make(gate, 'refund', refundOf('b', 5)), 'budget_exceeded');
  assert.equal(await make(gate, 'refund', refundOf('b', 5), { runId: 's' }), 'made');
  const broken = async () =>
    await gate.authorize(
      { server: 'pay', tool: 'refund', args: refundOf('c', 0), runId: 't', caller: 'x' },
      () => {
        throw new Error('no record');
      },
    );
  await assert.rejects(broken, /no record/);
});

test('a day is that of UTC, by the clock of the ledger', async () => {
  let now = Date.parse('2026-03-31T23:59:59.999Z');
  using gate = gateOf(totals(refunds({ per: 'day', at_most: 1 })), { ledger: new MemoryLedger(() => now) });
  assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'made');
  assert.equal(await make(gate, 'refund', refundOf('b', 1)), 'budget_exceeded');
  now += 1;
  assert.equal(await make(gate, 'refund', refundOf('b', 1)), 'made');
});

test('after X never Y, and Y only after X was done, in a run and for the same argument', async () => {
  using gate = gateOf({
    sequences: [
      { id: 'web', tools: ['mail.send'], never_after: ['web.fetch'] },
      { id: 'seen', tools: ['pay.refund'], only_after: ['pay.get_payment'], same: ['payment_id'] },
    ],
  });
  const fetch = { server: 'web' };
  const mail = { server: 'mail' };
  assert.equal(await make(gate, 'send', { to: 'x' }, mail), 'made');
  assert.equal(await make(gate, 'fetch', { url: 'u' }, { ...fetch, invoke: lost }), 'lost');
  assert.equal(await make(gate, 'send', { to: 'x' }, mail), 'sequence_refused', 'it may have been fetched');
  assert.equal(await make(gate, 'send', { to: 'x' }, { ...mail, runId: 'other' }), 'made');
  const seen = { payment_id: 'a' };
  assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'sequence_refused');
  assert.equal(await make(gate, 'get_payment', seen, { invoke: async () => ERROR }), 'made');
  assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'sequence_refused', 'an error shows nothing');
  assert.equal(await make(gate, 'get_payment', seen), 'made');
  assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'made');
  assert.equal(await make(gate, 'refund', refundOf('b', 1)), 'sequence_refused', 'another payment');
});

test('words that cannot be meant are refused, and lint says so', () => {
  const rule = LEDGER_POLICY.rules[0];
  const once = (given: unknown) => ({ ...LEDGER_POLICY, rules: [{ ...rule, once: given }] });
  const wrong: readonly object[] = [
    { ...LEDGER_POLICY, ...totals(refunds({ at_most: 1e-12 })) },
    { ...LEDGER_POLICY, ...totals(refunds({ at_most: 1, tools: ['pay.refund.amount'] })) },
    { ...LEDGER_POLICY, ...totals(refunds({ at_most: 1 }), refunds({ at_most: 2 })) },
    { ...LEDGER_POLICY, ...totals(refunds({ at_most: 1, per: 'week' })) },
    { ...LEDGER_POLICY, ...totals(refunds({ at_most: 1, every: 'day' })) },
    { ...LEDGER_POLICY, sequences: [{ id: 's', tools: ['a.b'] }] },
    { ...LEDGER_POLICY, sequences: [{ id: 's', tools: ['a.b'], never_after: ['a.c'], only_after: ['a.d'] }] },
    once('refund:{payment_id'),
    once({ key: 'refund', reconcil: {} }),
    once({ key: 'r:{payment_id}', reconcile: { tool: 'refund', done: true, not_done: true } }),
    { ...LEDGER_POLICY, rules: [{ id: 'no', effect: 'deny', server: 'pay', tool: 'refund', once: 'x' }] },
  ];
  for (const policy of wrong)
    assert.deepEqual(
      lintPolicy(policy)
        .map(({ code }) => code)
        .includes('unusable'),
      true,
      JSON.stringify(policy),
    );
  const dead = lintPolicy(once('refund:{paymentid}'), LEDGER_TOOLS);
  assert.ok(dead.some(({ code }) => code === 'dead'));
});

for (const databases of testDatabases()) {
  describe(`effects, in memory and on ${databases.name}`, { skip: databases.skip }, () => {
    let db: Queryable;
    let ledgers: readonly (() => CallLedger)[];
    before(async () => {
      db = await databases.createMigrated();
      ledgers = [() => new MemoryLedger(), () => new PostgresLedger(db)];
    });
    after(() => databases[Symbol.asyncDispose]());

    test('an effect is done once: what was done, is under way or may have been done is refused and told', async () => {
      await using bench = new TelemetryBench();
      for (const open of ledgers) {
        using gate = gateOf({}, { ledger: open() });
        await db.query('TRUNCATE mcp_ledger_calls');
        assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'made');
        assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'effect_done');
        const again = await gate.authorize({ server: 'pay', tool: 'refund', args: refundOf('a', 2) });
        assert.match(
          again.message,
          /'refund:\{payment_id\}' was done at 20\S+Z .*; its call had other arguments/,
        );
        assert.equal(again.effect?.state, 'done');
        let inner = '';
        const nested = async () => {
          inner = await make(gate, 'refund', refundOf('b', 1));
          return OK;
        };
        assert.equal(await make(gate, 'refund', refundOf('b', 1), { invoke: nested }), 'made');
        assert.equal(inner, 'effect_running');
        assert.equal(await make(gate, 'refund', refundOf('c', 1), { invoke: lost }), 'lost');
        assert.equal(await make(gate, 'refund', refundOf('c', 1)), 'effect_unknown');
        assert.equal(await make(gate, 'refund', refundOf('d', 1), { invoke: async () => ERROR }), 'made');
        assert.equal(await make(gate, 'refund', refundOf('d', 1)), 'made', 'an error had no effect');
        await make(gate, 'refund', refundOf('e', 1), { invoke: async () => 'no result' });
        assert.equal(await make(gate, 'refund', refundOf('e', 1)), 'effect_unknown');
        const elsewhere = { server: 'pay', tool: 'refund', args: refundOf('f', 1) };
        assert.equal(await guardedDecision(elsewhere, { gate }), undefined);
        assert.equal(
          (await guardedDecision(elsewhere, { gate }))?.reasonCode,
          'effect_unknown',
          'nobody saw it',
        );
      }
      const outcomes = bench.spans.map(({ attributes }) => attributes['observatory.effect_outcome']);
      assert.deepEqual(new Set(outcomes), new Set(['done', 'running', 'unknown', 'failed']));
    });

    test('the name of an effect has one form: what readers may take for another one is refused', async () => {
      using gate = gateOf({});
      for (const id of ['', ' a', 'a\n', 'a\u200b', 'e\u0301', {}, null, []])
        assert.equal(await make(gate, 'refund', refundOf(id, 1)), 'args_uncountable', JSON.stringify(id));
      assert.equal(await make(gate, 'refund', refundOf(7, 1)), 'made');
      assert.equal(await make(gate, 'refund', refundOf('7', 1)), 'effect_done');
      assert.equal(await make(gate, 'refund', refundOf(['x', 'y'], 1)), 'made');
      assert.equal(await make(gate, 'refund', refundOf(['y', 'x', 'x'], 1)), 'effect_done');
    });

    test('a rule for many tools lets the effect of each happen once', async () => {
      const rule = { ...LEDGER_POLICY.rules[0], tool: 're*', once: 'refund:{payment_id}' };
      using gate = gateOf({ rules: [rule, ...LEDGER_POLICY.rules.slice(1)] });
      assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'made');
      assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'effect_done');
      for (const _ of [1, 2]) assert.equal(await make(gate, 'get_refund', { payment_id: 'a' }), 'made');
    });

    test('a tool that takes the key of an effect gets it, the same each time, whatever the model sends', async () => {
      using gate = gateOf({});
      const keys: unknown[] = [];
      const invoke = async (args: object) => {
        keys.push((args as { key?: unknown }).key);
        return ERROR;
      };
      await make(gate, 'charge', { order: 'o1' }, { invoke });
      await make(gate, 'charge', { order: 'o1', key: 'mine' }, { invoke });
      await make(gate, 'charge', { order: 'o2' }, { invoke });
      assert.match(String(keys[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(keys[0], keys[1]);
      assert.notEqual(keys[0], keys[2]);
    });

    test('a tool of the policy tells what became of an effect; that nothing happened counts when nothing can come', async () => {
      let now = Date.now();
      const elapse = [
        async () => {
          now += 600_001;
        },
        async () => void (await db.query('UPDATE mcp_ledger_calls SET quiet_until = now()')),
      ];
      const both = [new MemoryLedger(() => now), new PostgresLedger(db)];
      for (const [at, ledger] of both.entries()) {
        using gate = gateOf({}, { ledger });
        let status = 'none';
        const read = async (tool: string, args: object) => {
          assert.deepEqual([tool, args], ['get_refund', { payment_id: 'r1' }]);
          return { content: [], structuredContent: { status } };
        };
        const refund = (rest: Rest = { read }) => make(gate, 'refund', refundOf('r1', 1), rest);
        assert.equal(await refund({ invoke: lost }), 'lost');
        assert.equal(await refund(), 'effect_unknown', 'it may still come');
        await elapse[at]?.();
        status = 'pending';
        assert.equal(await refund(), 'effect_unknown', 'neither done nor not');
        status = 'none';
        assert.equal(await refund({ read, invoke: lost }), 'lost', 'it did not happen, so it is tried again');
        status = 'succeeded';
        assert.equal(await refund(), 'effect_done');
        assert.equal(await refund({}), 'effect_done', 'it stays so');
      }
    });

    test('a person says what became of an effect, and an approval of the call itself says nothing of it', async () => {
      const queue = new PostgresReviewQueue({ connection: db });
      // The ledger is that of the approvals.
      using gate = gateOf(
        { rules: [{ ...LEDGER_POLICY.rules[0], effect: 'require_approval' }] },
        { approvals: { queue } },
      );
      const refund = (id: string, rest: Rest = {}) => make(gate, 'refund', refundOf(id, 1), rest);
      await refund('p1');
      await decideOldest(queue, 'approve');
      assert.equal(await refund('p1', { invoke: lost }), 'lost');
      assert.equal(await refund('p1'), 'effect_unknown');
      assert.equal(await refund('p1'), 'effect_unknown');
      const [about, ...more] = await queue.list({ status: 'pending' });
      assert.equal(more.length, 0);
      const { content } = await queue.get(about?.id ?? '');
      assert.match(JSON.stringify(content), /its outcome is unknown. Approve only if it did not happen/);
      await decideOldest(queue, 'approve');
      assert.equal(
        await refund('p1'),
        'approval_required',
        'it may be done again, if a person approves that',
      );
      await decideOldest(queue, 'approve');
      assert.equal(await refund('p1', { invoke: lost }), 'lost');
      assert.equal(await refund('p1'), 'effect_unknown');
      await decideOldest(queue, 'reject', 'it is in the ledger of the bank');
      assert.equal(await refund('p1'), 'approval_rejected');
      assert.equal(await refund('p1'), 'effect_done');
      const { message } = await gate.authorize({ server: 'pay', tool: 'refund', args: refundOf('p1', 1) });
      assert.match(message, /was done at \S+ according to ada/);
      await queue.close();
    });

    test('a ledger that cannot be asked denies', async () => {
      const down = () => Promise.reject(new Error('down'));
      const ledger = { find: down, reserve: down, settle: down, resolve: down };
      using gate = gateOf(totals({ id: 'n', tools: ['mail.send'], per: 'run', at_most: 9 }), { ledger });
      assert.equal(await make(gate, 'refund', refundOf('a', 1)), 'ledger_unavailable');
      assert.equal(await make(gate, 'send', { to: 'x' }, { server: 'mail' }), 'ledger_unavailable');
      assert.equal(await make(gate, 'get_refund', { payment_id: 'a' }), 'made', 'no word is about it');
      const forgetful = new MemoryLedger();
      using late = gateOf({}, { ledger: Object.assign(forgetful, { settle: down }) });
      assert.equal(
        await make(late, 'refund', refundOf('a', 1)),
        'made',
        'a call that was made has its result',
      );
      assert.equal(await make(late, 'refund', refundOf('a', 1)), 'effect_running');
    });

    test('a call that was reserved too long ago is denied in its error, its record and its span, and may be made again', async () => {
      const slow = new MemoryLedger();
      const reserve = slow.reserve.bind(slow);
      let isSlow = true;
      slow.reserve = async (request) => {
        const answer = await reserve(request);
        if (isSlow) await sleep(request.quiet_ms);
        return answer;
      };
      const once = { key: 'refund:{payment_id}', quiet_seconds: 0.05 };
      using gate = gateOf({ rules: [{ ...LEDGER_POLICY.rules[0], once }] }, { ledger: slow });
      const dir = tempDir();
      using audit = new AuditLog({ dir, key: 'k' });
      const call = { server: 'pay', tool: 'refund', args: refundOf('p', 1) };
      const invoke = () => assert.fail('it was made');
      await assert.rejects(guardedCall(call, invoke, { gate, audit: audit.startRun() }), (error) => {
        assert.ok(error instanceof PolicyDeniedError);
        const { reasonCode, decision } = error;
        assert.deepEqual([reasonCode, decision?.decision], ['effect_running', 'deny']);
        return decision?.reasonCode === reasonCode;
      });
      assert.equal((await guardedDecision(call, { gate }))?.reasonCode, 'effect_running');
      const records = auditRecords(dir).filter(({ event }) => String(event).startsWith('call_'));
      assert.deepEqual(
        records.map(({ event, decision }) => [event, decision]),
        [['call_decided', 'deny']],
      );
      isSlow = false;
      assert.equal(await make(gate, 'refund', refundOf('p', 1)), 'made');
    });

    test('no interleaving of 64 calls passes a sum, a count or a sequence, or does an effect twice', async () => {
      for (const open of ledgers) {
        await db.query('TRUNCATE mcp_ledger_calls, mcp_ledger_accounts');
        const ledger = open();
        using gate = gateOf(
          {
            ...totals(refunds({ per: 'day', at_most: 100 }), {
              id: 'mails',
              tools: ['mail.send'],
              per: 'caller',
              at_most: 5,
            }),
            sequences: [{ id: 'web', tools: ['mail.send'], never_after: ['web.fetch'] }],
          },
          { ledger },
        );
        const chance = random(64);
        let [sum, mails, fetched, broken] = [0, 0, false, 0];
        const done = new Map<string, number>();
        const calls = Array.from({ length: 64 }, (_, at) => async () => {
          await sleep(chance(20));
          if (at % 4 === 0) {
            const isAfter = fetched;
            const invoke = async () => {
              if (isAfter) broken += 1;
              mails += 1;
              return OK;
            };
            return await make(gate, 'send', { to: 'x' }, { server: 'mail', invoke });
          }
          if (at === 33) {
            const invoke = async () => {
              fetched = true;
              return OK;
            };
            return await make(gate, 'fetch', { url: 'u' }, { server: 'web', invoke });
          }
          const id = `p${chance(20)}`;
          const invoke = async () => {
            await new Promise((resolve) => setImmediate(resolve));
            const isError = chance(3) === 0;
            if (!isError) {
              sum += 9;
              done.set(id, (done.get(id) ?? 0) + 1);
            }
            return isError ? ERROR : OK;
          };
          return await make(gate, 'refund', refundOf(id, 9), { invoke });
        });
        await Promise.all(calls.map((call) => call()));
        assert.ok(sum <= 100 && sum > 0, `${sum}`);
        assert.ok(mails <= 5);
        assert.equal(broken, 0);
        assert.deepEqual(
          [...done.values()].filter((times) => times > 1),
          [],
        );
      }
    });

    test('the ledgers agree with a simple model of effects, amounts and outcomes', async () => {
      await db.query('TRUNCATE mcp_ledger_calls, mcp_ledger_accounts');
      const chance = random(2026);
      const both = ledgers.map((open) => open());
      interface Known {
        state: string;
        readonly units: number;
        readonly ids: readonly (readonly [string, string])[];
      }
      const live = new Map<string, Known>();
      const open = new Set<Known>();
      let used = 0;
      for (let step = 0; step < 120; step += 1) {
        const key = String(chance(6)).repeat(64);
        const known = live.get(key);
        if (chance(2) === 0) {
          const units = 1 + chance(39);
          const take = {
            account: 'a',
            daily: true,
            units: String(units),
            at_most: '100',
            on: 'reserve',
            back: 'failed',
          } as const;
          const request = {
            caller: 'c',
            server: 's',
            tool: 't',
            key,
            effect: 'e',
            digest: 'd',
            quiet_ms: 60_000,
            takes: [take],
          };
          const answers = [];
          for (const ledger of both) answers.push(await ledger.reserve(request));
          const expected = known?.state ?? (used + units > 100 ? 'refused' : 'taken');
          assert.deepEqual(
            answers.map(({ state }) => state),
            [expected, expected],
            `step ${step}`,
          );
          if (expected !== 'taken') continue;
          const ids = answers.map((answer) =>
            'token' in answer ? ([answer.id, answer.token] as const) : (['', ''] as const),
          );
          const made = { state: 'running', units, ids };
          live.set(key, made);
          open.add(made);
          used += units;
        } else if (known !== undefined) {
          const outcome =
            (['done', 'failed', 'unknown', 'not_made', 'running'] as const)[chance(5)] ?? 'done';
          const told = [];
          for (const [at, ledger] of both.entries())
            told.push(await ledger.settle(...(known.ids[at] ?? ['', '']), outcome));
          const isOpen = known.state === 'running' || known.state === 'unknown';
          const stands =
            outcome === 'running' ? known.state === 'running' : isOpen || known.state === outcome;
          assert.deepEqual(told, [stands, stands], `step ${step}: ${known.state} then ${outcome}`);
          if (!isOpen || outcome === 'running') continue;
          if (outcome === 'failed' || outcome === 'not_made') {
            used -= known.units;
            live.delete(key);
          } else known.state = outcome;
        }
        for (const ledger of both)
          assert.equal((await ledger.find(key))?.state, live.get(key)?.state, `step ${step}`);
      }
      const { rows } = await db.query('SELECT units::text AS units FROM mcp_ledger_accounts');
      assert.equal(Number(rows[0]?.units), used);
    });
  });
}
