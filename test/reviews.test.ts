import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ClaimedReview, PostgresReviewQueue, type ReviewSubmission } from '../src/approvals/index.ts';
import { migrate, type Queryable } from '../src/postgres/index.ts';
import { testDatabases } from './support/databases.ts';
import {
  applyRoles,
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startOwnPostgres,
  startPostgres,
} from './support/postgres-server.ts';
import { longTest, sized } from './support/size.ts';
import { waitUntil } from './support/wait-until.ts';

const WORKER = fileURLToPath(new URL('./support/review-worker-process.js', import.meta.url));
const SUBMISSION: ReviewSubmission = { fallbackReason: 'low_confidence', content: { prompt: 'p' } };

for (const databases of testDatabases()) {
  describe(`reviews on ${databases.name}`, { skip: databases.skip }, () => {
    let db: Queryable;
    let queue: PostgresReviewQueue;
    before(async () => {
      db = await databases.createMigrated();
      queue = new PostgresReviewQueue({ connection: db });
    });
    beforeEach(() => db.query('TRUNCATE mcp_reviews CASCADE'));
    after(() => databases[Symbol.asyncDispose]());

    test('what is submitted is claimed, oldest first, and decided once', async () => {
      const full: Required<ReviewSubmission> = {
        fallbackReason: 'high_hallucination',
        content: { prompt: 'nul \0, half \ud83d, "quotes" \\ and ä', b: 1, a: [null, 0.1] },
        toolName: 'pay',
        service: 'payments-mcp',
        model: 'gpt-4o',
        riskTier: 'tier_1',
        promptTemplateId: 'risk-v3',
        sessionId: 's1',
        confidence: 0.42,
        hallucinationRisk: 0.1,
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: 'b7ad6b7169203331',
        expiresInMs: 3_600_000,
      };
      const first = await queue.submit(full);
      const second = await queue.submit(SUBMISSION);
      assert.equal((await queue.outcome(first)).status, 'pending');

      const claim = await queue.claim({ worker: 'ada' });
      assert.ok(claim);
      const { expiresInMs, ...given } = full;
      const { id, status, token, claimedBy, decidedAt } = claim;
      assert.deepEqual(
        { id, status, token, claimedBy, decidedAt },
        { id: first, status: 'claimed', token: 1, claimedBy: 'ada', decidedAt: null },
      );
      assert.deepEqual({ ...claim, ...given }, claim, 'it comes back as it was given');
      assert.equal(Date.parse(claim.expiresAt) - Date.parse(claim.createdAt), expiresInMs);
      assert.equal((await queue.claim({ worker: 'bob' }))?.id, second);
      assert.equal(await queue.claim({ worker: 'cleo' }), undefined);

      const decided = await queue.approve(claim, { response: { pay: true }, note: 'known customer' });
      assert.deepEqual(
        [decided.status, decided.decidedBy, decided.note],
        ['approved', 'ada', 'known customer'],
      );
      const repeated = { response: { pay: true }, note: 'known customer' };
      assert.deepEqual(await queue.approve(claim, repeated), decided, 'sent twice, done once');
      for (const other of [{ ...repeated, response: { pay: false } }, { ...repeated, note: 'other' }, {}]) {
        await assert.rejects(queue.approve(claim, other), {
          code: 'REVIEW_CONFLICT',
          message: /was approved by 'ada' at .* with another response or note/,
        });
      }
      await assert.rejects(queue.reject(claim), {
        code: 'REVIEW_CONFLICT',
        message: /was approved by 'ada'/,
      });
      const { decidedAt: at, ...outcome } = await queue.outcome(first);
      assert.deepEqual(outcome, {
        status: 'approved',
        decidedBy: 'ada',
        note: 'known customer',
        response: { pay: true },
      });
      assert.ok(Math.abs(Date.parse(at ?? '') - Date.now()) < 600_000);
    });

    test('a claim is for who made it, until another makes a newer one', async () => {
      const id = await queue.submit(SUBMISSION);
      await assert.rejects(queue.approve({ id, token: 0, claimedBy: 'ada' }), {
        code: 'REVIEW_CONFLICT',
        message: /is not claimed/,
      });
      const ada = await queue.claim({ worker: 'ada', id });
      assert.ok(ada);
      await assert.rejects(queue.approve({ ...ada, claimedBy: 'bob' }), /is claimed by 'ada' with token 1/);
      await lapse(db, id, 'lease_expires_at');
      const bob = await queue.claim({ worker: 'bob' });
      assert.deepEqual([bob?.id, bob?.token], [id, 2]);
      await assert.rejects(
        queue.approve(ada),
        /is claimed by 'bob' with token 2; the claim of 'ada' with token 1/,
      );
      assert.equal((await queue.reject(bob as ClaimedReview, { note: 'no' })).status, 'rejected');
    });

    test('a lapsed lease alone takes nothing from a worker', async () => {
      const id = await queue.submit(SUBMISSION);
      const claim = await queue.claim({ worker: 'ada' });
      await lapse(db, id, 'lease_expires_at');
      assert.equal((await queue.approve(claim as ClaimedReview)).status, 'approved');
    });

    test('what has expired is neither claimed nor decided, and expire() writes it down', async () => {
      const claimed = await queue.submit(SUBMISSION);
      const claim = await queue.claim({ worker: 'ada' });
      const waiting = await queue.submit(SUBMISSION);
      const open = await queue.submit(SUBMISSION);
      for (const id of [claimed, waiting]) await lapse(db, id, 'expires_at');
      const idsOf = async (status: 'pending' | 'claimed' | 'expired') =>
        (await queue.list({ status })).map(({ id }) => id).sort();
      assert.deepEqual(await idsOf('expired'), [claimed, waiting].sort());
      assert.deepEqual([await idsOf('pending'), await idsOf('claimed')], [[open], []]);
      await assert.rejects(queue.approve(claim as ClaimedReview), {
        code: 'REVIEW_CONFLICT',
        message: /expired at/,
      });
      assert.equal(await queue.claim({ worker: 'ada', id: waiting }), undefined);
      assert.equal((await queue.outcome(waiting)).status, 'expired');
      assert.equal(await queue.expire(), 2);
      assert.equal(await queue.expire(), 0);
      const { rows } = await db.query(`SELECT status FROM mcp_reviews ORDER BY status`);
      assert.deepEqual(
        rows.map(({ status }) => status),
        ['expired', 'expired', 'pending'],
      );
    });

    test('prune() deletes what ended before, counts it, and leaves what is open', async () => {
      const [decided, late, open] = [
        await queue.submit(SUBMISSION),
        await queue.submit(SUBMISSION),
        await queue.submit(SUBMISSION),
      ];
      await queue.reject((await queue.claim({ worker: 'ada', id: decided })) as ClaimedReview);
      await queue.claim({ worker: 'ada', id: open });
      await lapse(db, late, 'expires_at');
      const [past, future] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)];
      assert.equal(await queue.prune(past), 0);
      assert.equal((await queue.get(late)).status, 'expired');
      assert.equal(await queue.prune(future, true), 2);
      assert.equal(await queue.prune(future), 2);
      assert.deepEqual(
        (await queue.list()).map(({ id, status }) => [id, status]),
        [[open, 'claimed']],
      );
      await assert.rejects(queue.prune(new Date('never')), { code: 'INVALID_OPTION' });
    });

    test('what was decided cannot be changed by SQL either, and no row holds half a decision', async () => {
      const id = await queue.submit(SUBMISSION);
      await assert.rejects(db.query(`UPDATE mcp_reviews SET status = 'approved'`), { code: '23514' });
      // The server reports the error before it releases the row, and a claim passes over rows that are locked.
      let claimed: ClaimedReview | undefined;
      await waitUntil(async () => {
        claimed = await queue.claim({ worker: 'ada' });
        return claimed !== undefined;
      });
      await queue.approve(claimed as unknown as ClaimedReview);
      await assert.rejects(db.query(`UPDATE mcp_reviews SET status = 'rejected'`), {
        code: 'P0001',
        message: `the review ${id} is approved and cannot be changed`,
      });
    });

    test('what cannot be stored, found or understood is refused by name', async () => {
      const db = await databases.create();
      const queue = new PostgresReviewQueue({ connection: db });
      await assert.rejects(queue.submit(SUBMISSION), {
        code: 'DATABASE_SCHEMA_MISSING',
        message: /mcp_reviews/,
      });
      await migrate(db);
      const nobody = '00000000-0000-4000-8000-000000000000';
      const circle: Record<string, unknown> = {};
      circle.self = circle;
      for (const [attempt, code] of [
        [() => queue.submit({ ...SUBMISSION, content: undefined }), 'INVALID_INPUT'],
        [() => queue.submit({ ...SUBMISSION, content: circle }), 'INVALID_INPUT'],
        [() => queue.submit({ ...SUBMISSION, content: 'x'.repeat(1_048_577) }), 'INVALID_INPUT'],
        [() => queue.submit({ ...SUBMISSION, expiresInMs: 0 }), 'INVALID_OPTION'],
        [() => queue.claim({ worker: ' ' }), 'INVALID_OPTION'],
        [() => queue.claim({ worker: 'ada', leaseMs: Number.NaN }), 'INVALID_OPTION'],
        [() => queue.claim({ worker: 'ada', id: "' OR true" }), 'INVALID_OPTION'],
        [() => queue.list({ status: "x' OR true --" as never }), 'INVALID_OPTION'],
        [() => queue.list({ limit: -1 }), 'INVALID_OPTION'],
        [() => queue.get(nobody), 'REVIEW_NOT_FOUND'],
        [() => queue.outcome(nobody), 'REVIEW_NOT_FOUND'],
        [() => queue.approve({ id: nobody, token: 1, claimedBy: 'ada' }), 'REVIEW_NOT_FOUND'],
      ] as const) {
        await assert.rejects(async () => attempt(), { code });
      }
    });
  });
}

describe('reviews between processes', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  async function newQueue(on = server): Promise<{ url: string; queue: PostgresReviewQueue }> {
    const url = await on.createMigrated();
    return { url, queue: new PostgresReviewQueue({ connection: url }) };
  }

  longTest('workers in many processes never get the same review, and leave none', async () => {
    const { url, queue } = await newQueue();
    await using _closing = queue;
    const submitted = await Promise.all(Array.from({ length: 120 }, () => queue.submit(SUBMISSION)));
    const workers = ['a', 'b', 'c', 'd'].map((name) => startWorker(url, name, 600_000, 'decide'));
    const decided = await Promise.all(workers.map(({ lines, exited }) => exited.then(() => lines)));
    const all = decided.flat();
    assert.deepEqual([...all].sort(), [...submitted].sort(), 'each review is decided, by one worker');
    for (const review of await queue.list({ limit: 1_000 })) assert.deepEqual(review.token, 1);
    for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) {
      for (const id of decided[i] ?? []) assert.equal((await queue.get(id)).response, name);
    }
  });

  longTest(
    'a worker killed between claim and decision loses nothing, and decides nothing later',
    async () => {
      const { url, queue } = await newQueue();
      await using _closing = queue;
      const id = await queue.submit(SUBMISSION);
      const worker = startWorker(url, 'ada', 600_000, 'hang');
      const claim = JSON.parse(await worker.firstLine) as ClaimedReview;
      worker.kill();
      await worker.exited;
      assert.equal(claim.id, id);
      assert.equal(await queue.claim({ worker: 'bob' }), undefined, 'the lease still holds');
      const stored = await queue.get(id);
      assert.deepEqual(
        [stored.status, stored.claimedBy, stored.content],
        ['claimed', 'ada', { prompt: 'p' }],
      );

      await runSql(url, `UPDATE mcp_reviews SET lease_expires_at = now()`);
      const again = await queue.claim({ worker: 'bob' });
      assert.deepEqual([again?.id, again?.token], [id, 2]);
      await assert.rejects(queue.approve(claim), { code: 'REVIEW_CONFLICT' });
      assert.equal((await queue.approve(again as ClaimedReview)).decidedBy, 'bob');
    },
  );

  test('workers that claim at once never get the same review', async () => {
    const { queue } = await newQueue();
    await using _closing = queue;
    const submitted = await Promise.all(Array.from({ length: 12 }, () => queue.submit(SUBMISSION)));
    const claims = await Promise.all(submitted.map((_, i) => queue.claim({ worker: `w${i % 4}` })));
    assert.deepEqual(claims.map((claim) => claim?.id).sort(), [...submitted].sort());
    assert.equal(await queue.claim({ worker: 'late' }), undefined);
  });

  test('of two that decide with the same claim at once, one does', async () => {
    const { queue } = await newQueue();
    await using _closing = queue;
    for (let i = 0; i < sized(5, 20); i += 1) {
      await queue.submit(SUBMISSION);
      const claim = (await queue.claim({ worker: 'ada' })) as ClaimedReview;
      const outcomes = await Promise.allSettled([queue.approve(claim), queue.reject(claim)]);
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    }
  });

  test('a database without the table is a distinct error, with the remedy', async () => {
    await using early = new PostgresReviewQueue({ connection: await server.createDatabase() });
    await assert.rejects(early.submit(SUBMISSION), {
      code: 'DATABASE_SCHEMA_MISSING',
      message: /mcp_reviews.*db migrate/,
    });
  });

  longTest('a server that crashes between claim and decision keeps both', async (t) => {
    await using own = await startOwnPostgres();
    const { crash, restart } = own;
    if (crash === undefined || restart === undefined) return t.skip('not a server of ours');
    const { url, queue } = await newQueue(own);
    const waiting = await queue.submit(SUBMISSION);
    const claim = (await queue.claim({ worker: 'ada', id: waiting })) as ClaimedReview;
    const other = await queue.submit(SUBMISSION);
    await queue.close();
    await crash();
    await using late = new PostgresReviewQueue({ connection: url });
    await assert.rejects(late.get(waiting), { code: 'DATABASE_UNREACHABLE' });
    await restart();
    assert.equal((await late.outcome(other)).status, 'pending');
    assert.equal((await late.approve(claim)).status, 'approved');
  });

  test('each role may do its own part and no more', {
    skip: findPsql() === undefined && 'no psql',
  }, async () => {
    const { url, queue } = await newQueue();
    await using _closing = queue;
    applyRoles(url);
    await using writing = await createRole(url, 'IN ROLE mcp_observatory_writer');
    await using reading = await createRole(url, 'IN ROLE mcp_observatory_reader');
    await using reviewing = await createRole(url, 'IN ROLE mcp_observatory_reviewer');
    const [writer, reader, reviewer] = [writing.url, reading.url, reviewing.url];
    const denied = { code: '42501' };

    await using app = new PostgresReviewQueue({ connection: writer });
    const id = await app.submit(SUBMISSION);
    assert.equal((await app.outcome(id)).status, 'pending');
    await assert.rejects(app.claim({ worker: 'app' }), { code: 'DATABASE_REFUSED' });
    await assert.rejects(runSql(writer, 'SELECT content FROM mcp_reviews'), denied);
    await assert.rejects(
      runSql(
        writer,
        `INSERT INTO mcp_reviews (review_id, expires_at, fallback_reason, content, status)
        VALUES (gen_random_uuid(), now(), 'x', '1', 'approved')`,
      ),
      denied,
    );

    await using eyes = new PostgresReviewQueue({ connection: reader });
    assert.deepEqual(
      (await eyes.list()).map((review) => review.id),
      [id],
    );
    await assert.rejects(eyes.get(id), { code: 'DATABASE_REFUSED' });
    await assert.rejects(runSql(reader, `UPDATE mcp_reviews SET note = 'x'`), denied);

    await using person = new PostgresReviewQueue({ connection: reviewer });
    const claim = (await person.claim({ worker: 'ada' })) as ClaimedReview;
    assert.deepEqual(claim.content, { prompt: 'p' });
    await assert.rejects(runSql(reviewer, `UPDATE mcp_reviews SET content = '1'`), denied);
    await assert.rejects(runSql(reviewer, 'DELETE FROM mcp_reviews'), denied);
    await assert.rejects(person.submit(SUBMISSION), { code: 'DATABASE_REFUSED' });
    await person.approve(claim, { response: 'yes' });
    assert.deepEqual((await app.outcome(id)).response, 'yes');
  });
});

/** Lets a time pass that would take too long to wait for. */
async function lapse(db: Queryable, id: string, column: 'lease_expires_at' | 'expires_at'): Promise<void> {
  await db.query(`UPDATE mcp_reviews SET ${column} = now() WHERE review_id = $1::text::uuid`, [id]);
}

function startWorker(url: string, name: string, leaseMs: number, task: 'decide' | 'hang') {
  const child = spawn(process.execPath, [WORKER, url, name, String(leaseMs), task], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  return {
    lines,
    firstLine: once(reader, 'line').then(([line]) => String(line)),
    exited: once(child, 'close'),
    kill: () => child.kill('SIGKILL'),
  };
}
