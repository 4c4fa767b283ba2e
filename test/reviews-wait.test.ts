import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, before, beforeEach, describe, test } from 'node:test';
import { SpanStatusCode } from '@opentelemetry/api';
import { type ClaimedReview, PostgresReviewQueue, type ReviewSubmission } from '../src/approvals/index.ts';
import { openDatabase, type Queryable } from '../src/postgres/index.ts';
import { testDatabases } from './support/databases.ts';
import {
  noPostgres,
  type PostgresServer,
  runSql,
  startOwnPostgres,
  startPostgres,
} from './support/postgres-server.ts';
import { longTest } from './support/size.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { waitUntil } from './support/wait-until.ts';

const SUBMISSION: ReviewSubmission = { fallbackReason: 'low_confidence', content: { prompt: 'p' } };
const NOBODY = '00000000-0000-4000-8000-000000000000';

/** A database that counts the statements it has answered. */
class CountingDatabase implements Queryable {
  readonly #db: Queryable;
  statements = 0;

  constructor(db: Queryable) {
    this.#db = db;
  }

  async query(text: string, values?: readonly unknown[]) {
    const answer = await this.#db.query(text, values);
    this.statements += 1;
    return answer;
  }
}

async function decide(queue: PostgresReviewQueue, id: string, response: unknown) {
  const claim = await queue.claim({ worker: 'ada', id });
  return queue.approve(claim as ClaimedReview, { response, note: 'known' });
}

for (const databases of testDatabases()) {
  describe(`waiting for a review on ${databases.name}`, { skip: databases.skip }, () => {
    let db: CountingDatabase;
    let queue: PostgresReviewQueue;
    before(async () => {
      const opened = await databases.createMigrated();
      db = new CountingDatabase(opened);
    });
    beforeEach(async () => {
      await db.query('TRUNCATE mcp_reviews CASCADE');
      queue = new PostgresReviewQueue({ connection: db });
    });
    after(() => databases[Symbol.asyncDispose]());

    /** Lets the queue look a few times more. */
    const moreLooks = async () => {
      const { statements } = db;
      await waitUntil(() => db.statements >= statements + 2);
    };

    test('what is decided while somebody waits resolves with the outcome', async () => {
      const id = await queue.submit(SUBMISSION);
      const waits = [queue.waitFor(id), queue.waitFor(id.toUpperCase(), { timeoutMs: 60_000 })];
      await moreLooks();
      const claim = await queue.claim({ worker: 'ada', id });
      await moreLooks();
      await queue.approve(claim as ClaimedReview, { response: { pay: true }, note: 'known' });
      for (const outcome of await Promise.all(waits)) {
        const { decidedAt, ...rest } = outcome;
        assert.deepEqual(rest, {
          status: 'approved',
          decidedBy: 'ada',
          note: 'known',
          response: { pay: true },
        });
        assert.ok(decidedAt !== null);
      }
    });

    test('a wait is a span, with the review and its outcome', async () => {
      await using bench = new TelemetryBench();
      const id = await queue.submit(SUBMISSION);
      await decide(queue, id, 'yes');
      await queue.waitFor(id);
      await assert.rejects(queue.waitFor(NOBODY), { code: 'REVIEW_NOT_FOUND' });
      const open = await queue.submit(SUBMISSION);
      await assert.rejects(queue.waitFor(open, { timeoutMs: 1 }), { code: 'REVIEW_UNDECIDED' });
      const [waited, failed, left] = bench.spans.filter(({ name }) => name === 'review_wait');
      assert.deepEqual(waited?.attributes, {
        'observatory.review_id': id,
        'observatory.review_status': 'approved',
      });
      assert.equal(failed?.attributes['error.type'], 'ObservatoryError');
      // That nobody has decided yet is no failure.
      assert.equal(left?.attributes['observatory.review_status'], 'pending');
      assert.equal(left?.status.code, SpanStatusCode.UNSET);
    });

    test('what is decided already resolves at the first look', async () => {
      const [approved, rejected] = [await queue.submit(SUBMISSION), await queue.submit(SUBMISSION)];
      await decide(queue, approved, 'yes');
      await queue.reject((await queue.claim({ worker: 'bob', id: rejected })) as ClaimedReview);
      const { statements } = db;
      assert.equal((await queue.waitFor(approved, { timeoutMs: 60_000 })).response, 'yes');
      assert.equal(db.statements, statements + 1);
      assert.equal((await queue.waitFor(rejected)).status, 'rejected');
    });

    test('what expires while somebody waits, or has expired, resolves as expired', async () => {
      const id = await queue.submit({ ...SUBMISSION, expiresInMs: 300 });
      assert.equal((await queue.waitFor(id)).status, 'expired');
      assert.equal((await queue.waitFor(id)).status, 'expired', 'and once more');
      assert.equal((await queue.get(id)).decidedBy, null);
    });

    test('a wait whose time is over says what to do, and leaves the review as it is', async () => {
      const id = await queue.submit(SUBMISSION);
      await assert.rejects(queue.waitFor(id, { timeoutMs: 20 }), {
        name: 'ObservatoryError',
        code: 'REVIEW_UNDECIDED',
        message: new RegExp(`${id}.*20 ms are over.*wait again, or decide it with.*reviews claim ${id}`),
      });
      await decide(queue, id, 'later');
      assert.equal((await queue.waitFor(id)).response, 'later');
    });

    test('a signal gives a wait up, and no listener stays on it', async () => {
      const id = await queue.submit(SUBMISSION);
      const abort = new AbortController();
      const reason = new Error('the user left');
      const given = assert.rejects(queue.waitFor(id, { signal: abort.signal }), {
        code: 'REVIEW_UNDECIDED',
        cause: reason,
        message: /given up/,
      });
      const other = queue.waitFor(id);
      await moreLooks();
      abort.abort(reason);
      await given;
      await assert.rejects(queue.waitFor(id, { signal: abort.signal }), { code: 'REVIEW_UNDECIDED' });
      await decide(queue, id, 'yes');
      assert.equal((await other).status, 'approved', 'another wait for the same goes on');
      const unused = new AbortController().signal;
      await queue.waitFor(id, { signal: unused, timeoutMs: 60_000 });
      assert.deepEqual(
        [unused, abort.signal].flatMap((signal) => getEventListeners(signal, 'abort')),
        [],
      );
    });

    test('a queue that is closed ends its waits and begins no other', async () => {
      const id = await queue.submit(SUBMISSION);
      const waits = [queue.waitFor(id), queue.waitFor(id, { timeoutMs: 60_000 })];
      const ends = waits.map((wait) =>
        assert.rejects(wait, { code: 'REVIEW_UNDECIDED', message: /the queue was closed/ }),
      );
      await moreLooks();
      await queue.close();
      await Promise.all(ends);
      await assert.rejects(queue.waitFor(id), { code: 'REVIEW_UNDECIDED', message: /queue is closed/ });
    });

    test('a review that is not there, or goes away, is said to be so', async () => {
      await assert.rejects(queue.waitFor(NOBODY), { code: 'REVIEW_NOT_FOUND' });
      const id = await queue.submit(SUBMISSION);
      const gone = assert.rejects(queue.waitFor(id), { code: 'REVIEW_NOT_FOUND' });
      await moreLooks();
      await db.query('DELETE FROM mcp_reviews');
      await gone;
      for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
        await assert.rejects(queue.waitFor(id, { timeoutMs }), { code: 'INVALID_OPTION' });
      }
      await assert.rejects(queue.waitFor('x'), { code: 'INVALID_OPTION' });
    });

    test('any number of waits share one statement at a time', async () => {
      const ids = await Promise.all(Array.from({ length: 40 }, () => queue.submit(SUBMISSION)));
      const waits = ids.map((id) => queue.waitFor(id));
      await moreLooks();
      for (const id of ids.slice(1)) await decide(queue, id, id);
      const { statements } = db;
      await Promise.all(waits.slice(1));
      assert.ok(db.statements - statements <= 3, `${db.statements - statements} statements for 39 waits`);
      await decide(queue, ids[0] as string, 'last');
      await waits[0];
    });
  });
}

describe('waiting for a review on a server', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let url: string;
  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
  });
  after(() => server.stop());

  const connectionsOf = async () => {
    const rows = await runSql(
      url,
      `SELECT count(*)::integer AS n FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'mcp-observatory'`,
    );
    return rows[0]?.n;
  };

  test('another process decides, and the closed queue leaves no connection and no timer', async () => {
    const queue = new PostgresReviewQueue({ connection: url });
    const id = await queue.submit(SUBMISSION);
    const wait = queue.waitFor(id);
    const left = assert.rejects(queue.waitFor(await queue.submit(SUBMISSION)), { code: 'REVIEW_UNDECIDED' });
    const person = new PostgresReviewQueue({ connection: url });
    await decide(person, id, 'yes');
    assert.equal((await wait).response, 'yes');
    await Promise.all([queue.close(), person.close()]);
    await left;
    // The server ends a session some milliseconds after its client has closed the socket.
    await waitUntil(async () => (await connectionsOf()) === 0);
    const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout');
    assert.deepEqual(timers, []);
  });

  longTest('a server that goes away meanwhile is asked again', async (t) => {
    await using server = await startOwnPostgres();
    const url = await server.createMigrated();
    const { crash, restart } = server;
    if (crash === undefined || restart === undefined) return t.skip('not a server of ours');
    await using opened = await openDatabase({ url });
    const db = new CountingDatabase(opened);
    await using queue = new PostgresReviewQueue({ connection: db });
    const id = await queue.submit(SUBMISSION);
    let ended = false;
    const wait = queue.waitFor(id).finally(() => {
      ended = true;
    });
    await waitUntil(() => db.statements >= 3);
    await crash();
    await assert.rejects(queue.outcome(id), { code: 'DATABASE_UNREACHABLE' });
    await using late = new PostgresReviewQueue({ connection: url });
    await assert.rejects(late.waitFor(id), { code: 'DATABASE_UNREACHABLE' }, 'not for a first look');
    assert.equal(ended, false);
    await restart();
    await decide(queue, id, 'after the crash');
    assert.equal((await wait).response, 'after the crash');
  });
});
