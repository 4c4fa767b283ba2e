/** What each database role can do about approvals: nobody but the reviewer makes a call go through. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { decideNow, PostgresReviewQueue } from '../src/approvals/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { openDatabase } from '../src/postgres/index.ts';
import { readWaiting } from '../src/runs/index.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import {
  applyRoles,
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';

const DENIED = { code: '42501' };
const REFUSED = { code: '22023' };

describe('approvals by database role', {
  skip: noPostgres() || (findPsql() === undefined && 'no psql'),
}, () => {
  let server: PostgresServer;
  let url: string;
  const logins: Awaited<ReturnType<typeof createRole>>[] = [];
  let writer: string;
  let reader: string;
  let reviewer: string;
  let app: PostgresReviewQueue;
  let person: PostgresReviewQueue;
  let gate: PolicyGate;
  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    applyRoles(url);
    for (const role of ['writer', 'reader', 'reviewer'])
      logins.push(await createRole(url, `IN ROLE mcp_observatory_${role}`));
    [writer = '', reader = '', reviewer = ''] = logins.map((login) => login.url);
    app = new PostgresReviewQueue({ connection: writer });
    person = new PostgresReviewQueue({ connection: reviewer });
    gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue: app } });
  });
  after(async () => {
    gate?.close();
    await app?.close();
    await person?.close();
    for (const login of logins) await login[Symbol.asyncDispose]();
    await server?.stop();
  });
  beforeEach(() => runSql(url, 'TRUNCATE mcp_reviews CASCADE'));

  const call = (to: string, sessionId?: string) => ({ ...HELD_CALL, args: { to, amount: 1 }, sessionId });
  const reason = async (to: string, sessionId?: string) =>
    (await gate.authorize(call(to, sessionId))).reasonCode;
  const ask = async (to: string, sessionId?: string) => {
    const { message } = await gate.authorize(call(to, sessionId));
    return /[0-9a-f-]{36}/u.exec(message)?.[0] ?? '';
  };
  const approve = (id: string, scope?: 'session' | 'definition') =>
    decideNow(person, id, { how: 'approve', by: 'ada', scope });
  /** The function's parameters for a call that the gate holds, with some of them others. */
  const take = async (sql: string, other: Readonly<Record<string, string>> = {}, first = '') => {
    const rows = await runSql(
      url,
      'SELECT content::text AS content FROM mcp_reviews ORDER BY created_at DESC LIMIT 1',
    );
    const { approval } = JSON.parse(String(rows[0]?.content)) as { approval: Record<string, unknown> };
    const parts = [
      'caller',
      'server',
      'tool',
      'toolHash',
      'argsDigest',
      'policyHash',
      'args',
      'message',
      'ruleIds',
    ].map((name) => `'${other[name] ?? JSON.stringify(approval[name])}'::json`);
    const times = ['usable', 'session_ms', 'definition', 'expires'].map((name) => other[name] ?? '1000');
    return runSql(
      sql,
      `${first} SELECT * FROM public.mcp_approvals_take(${parts.join()}, ${other.session ?? 'NULL'}, ${times.join()}, NULL, NULL)`,
    );
  };

  test('the application asks and uses, the person decides, each with its own role', async () => {
    const id = await ask('Ada');
    assert.equal((await app.outcome(id)).status, 'pending');
    await approve(id);
    assert.equal(await reason('Ada'), 'approved');
    assert.equal(await reason('Ada'), 'approval_required');
    const again = await ask('Bob');
    await approve(again, 'definition');
    assert.equal(await reason('Bob'), 'approved');
    await person.revoke(again, { by: 'ada' });
    assert.equal(await reason('Bob'), 'approval_required');
    assert.equal(await person.expire(), 0);
  });

  test('an approved answer does not become the approval of a call', async () => {
    await ask('mallory');
    const rows = await runSql(reader, 'SELECT fingerprint FROM mcp_approvals');
    const answer = await app.submit({ fallbackReason: 'low_confidence', content: { answer: 'It is fine.' } });
    await approve(answer);
    const forged = `('${answer}', '${rows[0]?.fingerprint}', 1e15)`;
    for (const sql of [writer, reader, reviewer]) {
      const insert = `INSERT INTO mcp_approvals (review_id, fingerprint, usable_ms) VALUES ${forged}`;
      await assert.rejects(runSql(sql, insert), DENIED);
      await assert.rejects(runSql(sql, `UPDATE mcp_approvals SET review_id = '${answer}'`), DENIED);
      await assert.rejects(
        runSql(sql, `UPDATE mcp_reviews SET status = 'approved', decided_by = 'x'`),
        DENIED,
      );
    }
    for (const fallbackReason of ['approval_required', 'tool_definition'])
      await assert.rejects(app.submit({ fallbackReason, content: {} }), { code: 'DATABASE_REFUSED' });
    assert.equal(await reason('mallory'), 'approval_required');
  });

  test('what is shown is what is approved: the fingerprint is no parameter, and no column that a role can write', async () => {
    await ask('the landlord');
    // The parts of another call, under the digest of this one.
    await take(writer, { args: '{"amount": 1, "to": "mallory"}' });
    await take(writer, { args: '{"amount":1,"to":"mallory"}', tool: '"read_balance"' });
    await take(writer, { args: '{"amount":1,"to":"mallory"}', message: '"a","args":{"amount":1}' }).catch(
      () => {},
    );
    for (const { id } of await person.list({ status: 'pending' })) await approve(id).catch(() => {});
    assert.equal(await reason('mallory'), 'approval_required');
    assert.equal(await reason('the landlord'), 'approved');
  });

  test('a content that is not the canonical form of what it shows can only be rejected', async () => {
    await ask('Ada');
    const [row] = await take(writer, { args: '{"to":"eve",  "amount":1}' });
    const id = String(row?.approval);
    await assert.rejects(approve(id), { code: 'REVIEW_CONFLICT', message: /another call/ });
    await using db = await openDatabase({ url: reviewer });
    const shown = await readWaiting(db, id);
    assert.deepEqual([shown?.isForged, shown?.scopes], [true, []]);
    await decideNow(person, id, { how: 'reject', by: 'ada' });
  });

  test('times are those of the policy and the server', async () => {
    await ask('Ada');
    for (const name of ['usable', 'session_ms', 'definition', 'expires'])
      for (const ms of ['1e15', '0', '-1', "'NaN'", "'Infinity'"])
        await assert.rejects(take(writer, { [name]: ms }), REFUSED, `${name} ${ms}`);
    for (const name of ['usable', 'expires']) await assert.rejects(take(writer, { [name]: 'NULL' }), REFUSED);
    await runSql(url, 'TRUNCATE mcp_reviews CASCADE');
    // Asked for by somebody who would let it hold for a day: the policy of the call says a minute.
    const id = await ask('Ada');
    await runSql(url, `UPDATE mcp_approvals SET usable_ms = 86400000`);
    await approve(id);
    await runSql(url, `ALTER TABLE mcp_reviews DISABLE TRIGGER USER`);
    await runSql(url, `UPDATE mcp_reviews SET decided_at = now() - interval '61 s'`);
    await runSql(url, `ALTER TABLE mcp_reviews ENABLE TRIGGER USER`);
    assert.equal(await reason('Ada'), 'approval_required');
  });

  test('parts of other kinds are no request', async () => {
    await ask('Ada');
    const wrong: readonly Readonly<Record<string, string>>[] = [
      { caller: '["alice","bank"]' },
      { args: '[]' },
      { args: 'null' },
      { message: '{}' },
      { ruleIds: '"pay"' },
      { toolHash: 'null' },
      { args: JSON.stringify({ to: 'x'.repeat(1_100_000) }) },
    ];
    for (const other of wrong)
      await assert.rejects(take(writer, other), REFUSED, JSON.stringify(other).slice(0, 80));
  });

  test('no text of a role takes more room than it may', async () => {
    const long = 'x'.repeat(1_100_000);
    const names = [
      'fallbackReason',
      'toolName',
      'service',
      'model',
      'riskTier',
      'promptTemplateId',
      'sessionId',
    ];
    const id = await app.submit({
      ...(Object.fromEntries(names.map((name) => [name, long])) as { fallbackReason: string }),
      content: {},
    });
    const [stored] = await runSql(
      url,
      `SELECT max(length(value)) AS most, count(*)::integer AS names FROM mcp_reviews, json_each_text(row_to_json(mcp_reviews))
       WHERE value LIKE 'xxx%'`,
    );
    assert.deepEqual(stored, { most: 165, names: names.length });
    await runSql(reviewer, `SELECT mcp_reviews_claim('${long}', 1000, NULL, '${id}')`);
    const refused = [
      `mcp_reviews_decide('${id}', 1, '${long}', 'approved', '${long}', NULL, NULL)`,
      `mcp_reviews_decide('${id}', 1, '${long}', 'approved', NULL, '"${long}"', NULL)`,
      `mcp_reviews_record('${randomUUID()}', 'approved', 't', NULL, '1', 'eve', '${long}')`,
      `mcp_reviews_record('${randomUUID()}', 'approved', 't', NULL, '"${long}"', 'eve', NULL)`,
      `mcp_approvals_revoke('${id}', 'eve', '${long}')`,
    ];
    for (const one of refused)
      await assert.rejects(runSql(reviewer, `SELECT ${one}`), REFUSED, one.slice(0, 40));
    await runSql(reviewer, `SELECT mcp_reviews_decide('${id}', 1, '${long}', 'approved', NULL, NULL, NULL)`);
    const decided = await person.get(id);
    assert.deepEqual([decided.status, decided.decidedBy?.length], ['approved', 165]);
  });

  test('the reviewer decides within what was offered, and in time', async () => {
    const id = await ask('Ada');
    const claim = await person.claim({ worker: 'ada', id });
    const decide = (status: string, scope: string) =>
      runSql(
        reviewer,
        `SELECT * FROM mcp_reviews_decide('${id}', ${claim?.token}, 'ada', '${status}', NULL, NULL, ${scope})`,
      );
    assert.equal((await decide('approved', `'session'`)).length, 0, 'it was asked for in no session');
    assert.equal((await decide('approved', `'forever'`)).length, 0);
    await assert.rejects(decide('expired', 'NULL'), REFUSED);
    await assert.rejects(
      runSql(reviewer, `UPDATE mcp_reviews SET decided_at = now() + interval '1 year'`),
      DENIED,
    );
    await assert.rejects(runSql(reviewer, `UPDATE mcp_approvals SET usable_ms = 1e15`), DENIED);
    await assert.rejects(runSql(reviewer, `UPDATE mcp_reviews SET content = '1'`), DENIED);
    await assert.rejects(
      runSql(
        reviewer,
        `SELECT mcp_approvals_take(${'\'"a"\', '.repeat(6)}'{}', '"m"', '[]', NULL, 1, 1, 1, 1, NULL, NULL)`,
      ),
      DENIED,
    );
    await runSql(url, 'UPDATE mcp_reviews SET expires_at = now()');
    assert.equal((await decide('approved', 'NULL')).length, 0, 'expired');
  });

  test('those who may not decide cannot call what decides, nor put something in its way', async () => {
    const id = await ask('Ada');
    const functions = [
      `mcp_reviews_claim('eve', 1000, NULL, '${id}')`,
      `mcp_reviews_decide('${id}', 1, 'eve', 'approved', NULL, NULL, NULL)`,
      `mcp_reviews_record('${randomUUID()}', 'approved', 't', NULL, '1', 'eve', NULL)`,
      `mcp_approvals_revoke('${id}', 'eve', NULL)`,
      'mcp_reviews_expire()',
      'mcp_approvals_announce(1)',
      `mcp_approvals_announced('${id}')`,
    ];
    for (const sql of [writer, reader])
      for (const one of functions) await assert.rejects(runSql(sql, `SELECT ${one}`), DENIED, one);
    await assert.rejects(runSql(writer, 'SELECT content FROM mcp_reviews'), DENIED);
    await assert.rejects(runSql(writer, 'SELECT * FROM mcp_approvals'), DENIED);
    // Tables, functions and operators of the caller are not those that the functions use.
    await runSql(url, 'GRANT CREATE ON SCHEMA public TO mcp_observatory_writer');
    const traps = [
      `FUNCTION public.starts_with(text, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
      `FUNCTION public.convert_to(text, text) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$`,
      `FUNCTION public.always(json, json) RETURNS json LANGUAGE sql AS 'SELECT $1'`,
      'OPERATOR public.-> (LEFTARG = json, RIGHTARG = json, FUNCTION = public.always)',
    ];
    for (const trap of traps) await runSql(writer, `CREATE ${trap}`);
    const count = async () =>
      (
        await runSql(
          url,
          'SELECT count(*)::int AS approvals, count(DISTINCT fingerprint)::int AS calls FROM mcp_approvals',
        )
      )[0];
    const first = await count();
    const tables = `CREATE TEMP TABLE mcp_approvals AS SELECT * FROM (VALUES (1)) AS none (fingerprint);
      CREATE TEMP TABLE mcp_reviews AS SELECT '${id}'::uuid AS review_id, 'approved'::text AS status;
      SET search_path = pg_temp, public, pg_catalog;`;
    await take(writer, {}, tables);
    assert.deepEqual(await count(), first);
    assert.equal(await reason('Ada'), 'approval_required');
  });
});
