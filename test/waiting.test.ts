/** What waits for a person, over the page's API: who may decide, once, and what others see. */
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { approvalsCommand } from '../src/cli/approvals.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { openDatabase } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';
import { longTest } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const JSON_TYPE = { ...BEARER, 'content-type': 'application/json' };
const HOSTILE = '<script>alert(1)</script>\u0000\u202e';

describe('what waits', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let url: string;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let queue: PostgresReviewQueue;
  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    db = await openDatabase({ url });
    queue = new PostgresReviewQueue({ connection: db });
  });
  after(async () => {
    await db?.close();
    await server?.stop();
  });

  const get = async (url: string) => {
    const answer = await post(url, BEARER, undefined, 'GET');
    return { status: answer.status, body: JSON.parse(answer.body.toString()) };
  };
  const decide = async (
    url: string,
    id: string,
    body: object,
    headers: Record<string, string> = JSON_TYPE,
  ) => {
    const answer = await post(`${url}api/waiting/${id}`, headers, Buffer.from(JSON.stringify(body)));
    return { status: answer.status, text: answer.body.toString() };
  };
  const hold = async (caller: string, args: Record<string, unknown> = HELD_CALL.args) => {
    using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
    const { message } = await gate.authorize({ ...HELD_CALL, caller, args });
    return /[0-9a-f-]{36}/u.exec(message)?.[0] ?? '';
  };

  test('a held call is listed with who asks, shown with whole arguments, and goes through once approved', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const id = await hold('alice');
    const { open } = (await get(`${page.address}api/waiting`)).body;
    const [row] = open.filter((one: { id: string }) => one.id === id);
    assert.deepEqual(
      [row.kind, row.status, row.tool, row.server, row.caller],
      ['approval', 'pending', 'send_payment', 'bank', 'alice'],
    );
    const { body: detail } = await get(`${page.address}api/waiting/${id}`);
    assert.deepEqual(JSON.parse(detail.content), HELD_CALL.args);
    assert.deepEqual(detail.ruleIds, ['pay']);
    const approved = await decide(page.address, id, { decision: 'approve', note: 'known' });
    assert.equal(approved.status, 200);
    assert.match(approved.text, /"status":"approved".*"decidedBy":"page"/);
    using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
    assert.equal((await gate.authorize({ ...HELD_CALL, caller: 'alice' })).reasonCode, 'approved');
    const { decided } = (await get(`${page.address}api/waiting`)).body;
    assert.equal(decided[0].id, id);
  });

  test('an approval for the session is chosen and revoked on the page; a scope that is not offered is refused', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
    const call = { ...HELD_CALL, caller: 'grace', sessionId: HOSTILE.replace('\0', '') };
    const { message } = await gate.authorize(call);
    const id = /[0-9a-f-]{36}/u.exec(message)?.[0] ?? '';
    const { body: before } = await get(`${page.address}api/waiting/${id}`);
    assert.deepEqual(before.scopes, ['once', 'session', 'definition']);
    // What would reorder the text that people decide on is escaped.
    assert.equal(before.session, '<script>alert(1)</script>\\u202e');
    assert.equal((await decide(page.address, id, { decision: 'approve', scope: 'forever' })).status, 400);
    assert.equal((await decide(page.address, id, { decision: 'revoke' })).status, 409);
    assert.equal((await decide(page.address, id, { decision: 'approve', scope: 'session' })).status, 200);
    for (let i = 0; i < 2; i += 1) assert.equal((await gate.authorize(call)).reasonCode, 'approved');
    const standing = async () =>
      (await get(`${page.address}api/waiting`)).body.standing.map((row: { id: string }) => row.id);
    assert.deepEqual(await standing(), [id]);
    const revoked = await decide(page.address, id, { decision: 'revoke', note: HOSTILE });
    assert.equal(revoked.status, 200);
    const detail = JSON.parse(revoked.text);
    assert.deepEqual(
      [detail.scope, detail.uses, detail.endedBy, detail.standsMs],
      ['session', 2, 'page', null],
    );
    assert.deepEqual(await standing(), []);
    assert.equal((await gate.authorize(call)).reasonCode, 'approval_required');
    const plain = await queue.submit({ fallbackReason: 'low_confidence', content: {} });
    assert.equal((await decide(page.address, plain, { decision: 'approve', scope: 'session' })).status, 400);
  });

  test('a webhook gets what waits, again until it accepts it, signed and without arguments', async () => {
    const bodies: { body: string; signature: string | undefined }[] = [];
    const hook = createServer(async (incoming, response) => {
      const parts: Buffer[] = [];
      for await (const part of incoming) parts.push(part as Buffer);
      const signature = String(incoming.headers['x-observatory-signature']);
      bodies.push({ body: Buffer.concat(parts).toString(), signature });
      response.writeHead(bodies.length === 1 ? 503 : 204).end();
    });
    await once(hook.listen(0, '127.0.0.1'), 'listening');
    await db.query('UPDATE mcp_approvals SET announced_at = now() WHERE announced_at IS NULL');
    const { port } = hook.address() as AddressInfo;
    const webhook = { url: `http://127.0.0.1:${port}/`, secret: 'key' };
    const id = await hold('ivan', { to: 'secret-recipient', amount: 1 });
    try {
      await using page = await startPage({ db, port: 0, token: PAGE_TOKEN, webhook });
      await waitUntil(() => bodies.length === 1);
      await db.query('UPDATE mcp_approvals SET announce_after = now() WHERE announced_at IS NULL');
      const isTold = async () =>
        (await db.query('SELECT FROM mcp_approvals WHERE announced_at IS NULL')).rows.length === 0;
      await waitUntil(isTold);
      const { body = '', signature } = bodies[1] ?? {};
      const told = JSON.parse(body);
      assert.deepEqual([told.id, told.caller, told.tool], [id, 'ivan', 'send_payment']);
      assert.equal(told.page, `${page.address}#/waiting/${id}`);
      assert.doesNotMatch(body, /secret-recipient/);
      assert.equal(signature, `sha256=${createHmac('sha256', 'key').update(body).digest('hex')}`);
      assert.equal(bodies.length, 2);
    } finally {
      hook.close();
    }
    await assert.rejects(
      startPage({ db, port: 0, token: PAGE_TOKEN, webhook: { url: 'file:///etc/passwd' } }),
      /http or https URL/,
    );
  });

  test('the shell lists, shows, approves for a scope, and revokes', async () => {
    const id = await hold('heidi', { to: HOSTILE, amount: 9 });
    const shell = (...args: string[]) =>
      runCommand(approvalsCommand, [...args, '--as', 'ada', '--database-url', url]);
    const listed = await shell('list');
    assert.match(listed.stdout, new RegExp(`${id}  pending .*bank/send_payment  asked by heidi`));
    const shown = await shell('show', id);
    assert.match(shown.stdout, /arguments\n.*\n *"amount": 9/);
    for (const hidden of ['\u0000', '\u202e']) assert.equal(shown.stdout.includes(hidden), false);
    const approved = await shell('approve', id.toUpperCase(), '--for', 'definition', '--note', 'known');
    assert.equal(approved.stdout, `${id} approved by ada for definition\n`);
    const standing = (await shell('list', '--json')).rows[0]?.standing as { id: string; scope: string }[];
    assert.deepEqual([standing[0]?.id, standing[0]?.scope], [id, 'definition']);
    await assert.rejects(shell('reject', id), {
      code: 'REVIEW_CONFLICT',
      message: /approved by ada already/,
    });
    assert.equal((await shell('revoke', id)).stdout, `${id} revoked by ada\n`);
    const wrong = [['approve'], ['approve', 'x'], ['approve', id, '--for', 'ever'], ['show', randomUUID()]];
    for (const args of wrong)
      await assert.rejects(shell(...args), { code: 'INVALID_OPTION' }, args.join(' '));
  });

  test('of two people who decide, the second sees who was first', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const id = await hold('bob');
    const [first, second] = await Promise.all([
      decide(page.address, id, { decision: 'approve' }),
      decide(page.address, id, { decision: 'reject' }),
    ]);
    assert.deepEqual([first.status, second.status].sort(), [200, 409]);
    const late = await decide(page.address, id, { decision: 'reject' });
    assert.equal(late.status, 409);
    assert.match(late.text, /REVIEW_CONFLICT.*(?:approved|rejected) by page already/);
    const claimed = await hold('carol');
    await queue.claim({ worker: 'ada', id: claimed });
    assert.match((await decide(page.address, claimed, { decision: 'approve' })).text, /claimed by ada/);
  });

  test('other pages, other types, other bodies and unknown ids decide nothing', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const id = await hold('dora');
    const approve = { decision: 'approve' };
    const from = (headers: Record<string, string>) => decide(page.address, id, approve, headers);
    assert.equal((await from({ ...JSON_TYPE, origin: 'http://evil.example' })).status, 403);
    assert.equal((await from({ ...JSON_TYPE, 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await from({ ...JSON_TYPE, host: 'evil.example' })).status, 421);
    assert.equal((await from({ ...BEARER, 'content-type': 'text/plain' })).status, 400);
    assert.equal(
      (await from({ ...BEARER, 'content-type': 'application/x-www-form-urlencoded' })).status,
      400,
    );
    for (const body of [
      {},
      { decision: 'yes' },
      { ...approve, note: 7 },
      { ...approve, note: 'x'.repeat(2001) },
    ]) {
      assert.equal((await decide(page.address, id, body)).status, 400);
    }
    assert.equal((await decide(page.address, id, { ...approve, note: 'x'.repeat(100_000) })).status, 400);
    assert.equal((await decide(page.address, '00000000-0000-4000-8000-000000000000', approve)).status, 404);
    const elsewhere = await post(`${page.address}api/runs`, JSON_TYPE, Buffer.from('{}'));
    assert.equal(elsewhere.status, 405);
    assert.equal((await queue.get(id)).status, 'pending');
    await using named = await startPage({ db, port: 0, token: PAGE_TOKEN, person: 'dora' });
    assert.match((await decide(named.address, id, approve)).text, /"decidedBy":"page:dora"/);
  });

  test('content of any kind is listed and shown as text', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const id = await hold(HOSTILE, { to: HOSTILE, amount: 1 });
    const contents = [
      null,
      7,
      'text',
      [HOSTILE],
      { approval: 7 },
      { approval: { args: HOSTILE, ruleIds: [{}] } },
    ];
    const ids = await Promise.all(
      contents.map((content) => queue.submit({ fallbackReason: HOSTILE, content, toolName: HOSTILE })),
    );
    for (const one of [id, ...ids]) {
      const { status, body } = await get(`${page.address}api/waiting/${one}`);
      assert.equal(status, 200);
      assert.equal(typeof body.content, 'string');
    }
    assert.equal((await get(`${page.address}api/waiting`)).status, 200);
  });

  longTest('a decision reaches every open page', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const id = await hold('erin');
    let told = '';
    const listening = request(`${page.address}api/live`, { headers: BEARER }, (response) => {
      response.setEncoding('utf8').on('data', (chunk) => {
        told += chunk;
      });
    });
    listening.on('error', () => {}).end();
    // At once, and when what is there was seen the first time.
    await waitUntil(() => told.split('event: changed').length > 2);
    told = '';
    await queue.reject((await queue.claim({ worker: 'ada', id })) as never);
    await waitUntil(() => told.includes('changed'));
    listening.destroy();
  });
});
