/** Calls that a policy holds for a person, over the queue of reviews: one call for each approval. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { decideNow, PostgresReviewQueue } from '../src/approvals/index.ts';
import { gateClient, guardedCall, PolicyGate, type PolicyGateOptions } from '../src/policy/index.ts';
import type { Queryable } from '../src/postgres/index.ts';
import { testDatabases } from './support/databases.ts';
import { decideOldest, HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { waitUntil } from './support/wait-until.ts';

for (const databases of testDatabases()) {
  describe(`approvals on ${databases.name}`, { skip: databases.skip }, () => {
    let db: Queryable;
    let queue: PostgresReviewQueue;
    before(async () => {
      db = await databases.createMigrated();
      queue = new PostgresReviewQueue({ connection: db });
    });
    beforeEach(() => db.query('TRUNCATE mcp_reviews CASCADE'));
    after(() => databases[Symbol.asyncDispose]());
    const gateOf = (options: Partial<PolicyGateOptions> = {}) =>
      new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue }, ...options });
    const reason = async (gate: PolicyGate, call = HELD_CALL) => (await gate.authorize(call)).reasonCode;
    const open = async () => (await queue.list({ status: 'pending' })).length;

    test('a held call is one request however often it is made, with whole arguments and who asks', async () => {
      using gate = gateOf();
      const first = await gate.authorize(HELD_CALL);
      assert.deepEqual([first.decision, first.reasonCode], ['require_approval', 'approval_required']);
      assert.equal(await reason(gate), 'approval_required');
      const [review, ...others] = await queue.list();
      assert.equal(others.length, 0);
      assert.match(first.message, new RegExp(`the request ${review?.id} waits for a person`));
      const { content, fallbackReason, toolName } = await queue.get(review?.id ?? '');
      const { approval } = content as { approval: Record<string, unknown> };
      assert.deepEqual([fallbackReason, toolName], ['approval_required', 'send_payment']);
      assert.deepEqual(
        [approval.args, approval.caller, approval.server, approval.ruleIds, approval.policyHash],
        [HELD_CALL.args, 'alice', 'bank', ['pay'], gate.policyHash],
      );
    });

    test('an approval is for exactly this call, once', async () => {
      using gate = gateOf();
      await reason(gate);
      await decideOldest(queue, 'approve');
      assert.equal(
        await reason(gate, { ...HELD_CALL, args: { to: 'Ada', amount: 251 } }),
        'approval_required',
      );
      assert.equal(await reason(gate, { ...HELD_CALL, caller: 'bob' }), 'approval_required');
      using other = gateOf({ policy: { ...HELD_POLICY, approval: { expires_seconds: 61 } } });
      assert.equal(await reason(other), 'approval_required', 'another policy');
      assert.equal(await reason(gate), 'approved');
      assert.equal(await reason(gate), 'approval_required', 'used');
      assert.equal(await open(), 4);
    });

    test('a rejection stands, with its note, and other calls are not touched by it', async () => {
      using gate = gateOf();
      await reason(gate);
      await decideOldest(queue, 'reject', 'ask Bob first');
      for (let i = 0; i < 2; i += 1) {
        const { decision, reasonCode, message } = await gate.authorize(HELD_CALL);
        assert.deepEqual([decision, reasonCode], ['deny', 'approval_rejected']);
        assert.equal(message, 'Rejected by ada: ask Bob first');
      }
      assert.equal(await reason(gate, { ...HELD_CALL, caller: 'bob' }), 'approval_required');
    });

    test('a gate that waits goes on when a person decides, and stays closed when nobody does', async () => {
      await using bench = new TelemetryBench();
      using gate = gateOf({ approvals: { queue, waitMs: 60_000 } });
      let made = 0;
      const call = guardedCall(HELD_CALL, async () => ({ content: [{ type: 'text', text: `${++made}` }] }), {
        gate,
      });
      await waitUntil(async () => (await open()) === 1);
      assert.equal(made, 0);
      await decideOldest(queue, 'approve');
      assert.equal((await call).decision.reasonCode, 'approved');
      assert.equal(made, 1);
      const [wait, held] = ['approval_wait', 'policy_gate'].map((name) =>
        bench.spans.find((span) => span.name.startsWith(name)),
      );
      assert.equal(wait?.attributes['observatory.review_status'], 'approved');
      assert.equal(wait?.parentSpanContext?.spanId, held?.spanContext().spanId);
      using hasty = gateOf({ approvals: { queue, waitMs: 1 } });
      assert.equal(await reason(hasty), 'approval_required');
    });

    test('an approval that is not used in time is none', async () => {
      using gate = gateOf();
      await reason(gate);
      await decideOldest(queue, 'approve');
      await db.query('UPDATE mcp_approvals SET usable_ms = 0');
      assert.equal(await reason(gate), 'approval_required');
    });

    test('the policy in force when the decision comes decides', async () => {
      using gate = gateOf({ approvals: { queue, waitMs: 60_000 } });
      const held = reason(gate);
      await waitUntil(async () => (await open()) === 1);
      // The server changes the definition while the person looks at the arguments.
      gate.setTools('bank', [{ ...HELD_TOOLS.bank.tools[0], description: 'Sends money elsewhere' } as never]);
      await decideOldest(queue, 'approve');
      assert.equal(await held, 'tool_changed');
    });

    test('a queue that fails leaves the call held', async () => {
      const broken = {
        takeApproval: () => Promise.reject(new Error('gone')),
        waitFor: () => Promise.reject(new Error('gone')),
      };
      using gate = gateOf({ approvals: { queue: broken, waitMs: 50 } });
      const { decision, message } = await gate.authorize(HELD_CALL);
      assert.equal(decision, 'require_approval');
      assert.match(message, /it cannot be asked for now/);
    });

    const inSession = (sessionId: string) => ({ ...HELD_CALL, sessionId });
    const other = { ...HELD_TOOLS.bank.tools[0], description: 'Sends money elsewhere' };
    const changed = { bank: { tools: [other] } } as typeof HELD_TOOLS;

    test('an approval for the session is for this call in this session, as often as it is made', async () => {
      using gate = gateOf();
      await reason(gate, inSession('s-1'));
      await decideOldest(queue, 'approve', undefined, 'session');
      for (let i = 0; i < 3; i += 1) assert.equal(await reason(gate, inSession('s-1')), 'approved');
      assert.match(
        (await gate.authorize(inSession('s-1'))).message,
        /for this session \(request [0-9a-f-]{36}\)/,
      );
      assert.equal(
        await reason(gate, { ...inSession('s-1'), args: { to: 'Eve', amount: 250 } }),
        'approval_required',
      );
      assert.equal(await reason(gate, { ...inSession('s-1'), caller: 'bob' }), 'approval_required');
      assert.equal(await reason(gate, inSession('s-2')), 'approval_required', 'another session');
      assert.equal(await reason(gate), 'approval_required', 'no session');
      await db.query('UPDATE mcp_approvals SET session_ms = 0');
      assert.equal(await reason(gate, inSession('s-1')), 'approval_required', 'over');
    });

    test('sessions that make the same call ask each for itself, and an approval for one call is for the one that asked', async () => {
      using gate = gateOf();
      for (const session of ['s-1', 's-2', 's-1', 's-2'])
        assert.equal(await reason(gate, inSession(session)), 'approval_required');
      const asked = await queue.list({ status: 'pending' });
      assert.deepEqual(asked.map(({ sessionId }) => sessionId).sort(), ['s-1', 's-2']);
      const approve = async (session: string, scope?: 'session') => {
        const id = (await queue.list({ status: 'pending' })).find(
          ({ sessionId }) => sessionId === session,
        )?.id;
        await decideNow(queue, id ?? '', { how: 'approve', by: 'ada', scope });
      };
      await approve('s-1');
      assert.equal(await reason(gate, inSession('s-2')), 'approval_required', 'it waits for its own');
      assert.equal(await reason(gate, inSession('s-1')), 'approved');
      await approve('s-2', 'session');
      assert.equal(await reason(gate, inSession('s-1')), 'approval_required');
      for (let i = 0; i < 2; i += 1) assert.equal(await reason(gate, inSession('s-2')), 'approved');
      // A program that was started again has another session, and no request yet.
      await approve('s-1');
      assert.equal(await reason(gate, inSession('s-3')), 'approved');
      assert.equal(await reason(gate, inSession('s-1')), 'approval_required', 'used');
    });

    test('a session is known by its whole name, however long, and takes little room', async () => {
      using gate = gateOf();
      const [one, another] = ['a', 'b'].map((end) => 'x'.repeat(1_000_000) + end) as [string, string];
      await reason(gate, inSession(one));
      await decideOldest(queue, 'approve', undefined, 'session');
      assert.equal(await reason(gate, inSession(one)), 'approved');
      assert.equal(await reason(gate, inSession(another)), 'approval_required');
      const { rows } = await db.query('SELECT max(length(session_id)) AS most FROM mcp_reviews');
      assert.equal(rows[0]?.most, 165);
    });

    test('an approval until the definition changes is for any session, and does not come back with the definition', async () => {
      using gate = gateOf();
      await reason(gate, inSession('s-1'));
      const id = await decideOldest(queue, 'approve', undefined, 'definition');
      for (const session of ['s-1', 's-2', 's-1'])
        assert.equal(await reason(gate, inSession(session)), 'approved');
      using after = gateOf({ tools: changed });
      assert.equal(await reason(after, inSession('s-1')), 'approval_required', 'another definition');
      assert.equal(await reason(gate, inSession('s-1')), 'approval_required', 'the old one again');
      const { rows } = await db.query(
        'SELECT uses, ended_by, ended_note FROM mcp_approvals WHERE review_id = $1::text::uuid',
        [id],
      );
      assert.deepEqual(rows, [{ uses: 3, ended_by: null, ended_note: 'the definition changed' }]);
    });

    test('a policy says how far an approval may go; a call without a session has none for one', async () => {
      const policy = { ...HELD_POLICY, approval: { scopes: ['once', 'session'], session_seconds: 1 } };
      using gate = gateOf({ policy: policy as never });
      await reason(gate, inSession('s-1'));
      const refused = /scope of this approval.*once or session.*definition/;
      await assert.rejects(decideOldest(queue, 'approve', undefined, 'definition'), refused);
      const { rows } = await db.query('SELECT session_ms, definition_ms FROM mcp_approvals');
      assert.deepEqual(rows, [{ session_ms: 1000, definition_ms: null }]);
      await db.query('TRUNCATE mcp_reviews CASCADE');
      await reason(gate);
      await assert.rejects(decideOldest(queue, 'approve', undefined, 'session'), /to be once, got session/);
    });

    test('what is revoked approves nothing, and stays revoked', async () => {
      using gate = gateOf();
      for (const scope of ['session', undefined] as const) {
        await reason(gate, inSession('s-1'));
        const id = await decideOldest(queue, 'approve', undefined, scope);
        if (scope !== undefined) assert.equal(await reason(gate, inSession('s-1')), 'approved');
        await queue.revoke(id, { by: 'bob', note: 'card stolen' });
        assert.equal(await reason(gate, inSession('s-1')), 'approval_required');
        await assert.rejects(queue.revoke(id, { by: 'bob' }), /nothing to revoke/);
        await assert.rejects(
          async () => db.query('UPDATE mcp_approvals SET ended_at = NULL WHERE ended_at IS NOT NULL'),
          /was ended/,
        );
        await db.query('TRUNCATE mcp_reviews CASCADE');
      }
    });

    test('each connection of a gated client is a session, unless the host names one', async () => {
      using gate = gateOf();
      const client = () => {
        const tools = HELD_TOOLS.bank.tools;
        const raw = {
          listTools: async () => ({ tools }),
          callTool: async (_: { name: string; arguments?: Record<string, unknown> }) => ({
            content: [{ type: 'text', text: 'paid' }],
          }),
        };
        return gateClient(raw, gate, { server: 'bank', context: () => ({ caller: 'alice' }) });
      };
      const [one, another] = [client(), client()];
      const pay = (by: ReturnType<typeof client>) =>
        by.callTool({ name: 'send_payment', arguments: HELD_CALL.args });
      await assert.rejects(pay(one), { reasonCode: 'approval_required' });
      await decideOldest(queue, 'approve', undefined, 'session');
      await pay(one);
      await assert.rejects(pay(another), { reasonCode: 'approval_required' });
      await pay(one);
    });

    test('what was used cannot be made unused', async () => {
      using gate = gateOf();
      await reason(gate);
      await decideOldest(queue, 'approve');
      assert.equal(await reason(gate), 'approved');
      await assert.rejects(async () => db.query('UPDATE mcp_approvals SET used_at = NULL'), /was used/);
    });
  });
}
