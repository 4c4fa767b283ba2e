/** Calls that a policy holds for a person, in four processes over Postgres: one call for each approval. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { migrate, openDatabase, type Queryable } from '../src/postgres/index.ts';
import { decideOldest } from './support/held-call.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;
const PROCESS = fileURLToPath(new URL('./support/approval-process.js', import.meta.url));

describe('approvals of four processes', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let db: Queryable & { close(): Promise<void> };
  let queue: PostgresReviewQueue;
  const running: ChildProcess[] = [];
  before(async () => {
    server = await startOwnPostgres();
    db = await openDatabase({ url: server.url });
    await migrate(db);
    queue = new PostgresReviewQueue({ connection: db });
  });
  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    await db?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** Starts a process that makes the held call; `lines` grows with what it says. */
  const start = (waitMs: number, tries: number, task = 'call', session = 's-0') => {
    const child = spawn(
      process.execPath,
      [PROCESS, server.url, String(waitMs), String(tries), task, session],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    running.push(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    return { child, lines, ended: once(child, 'close') };
  };

  test('one of them uses it, and none does after a kill -9 between the grant and the call', async () => {
    const hanging = start(600_000, 1, 'hang');
    await waitUntil(async () => (await queue.list({ status: 'pending' })).length === 1, PATIENCE_MS);
    await decideOldest(queue, 'approve');
    await waitUntil(() => hanging.lines.includes('granted'), PATIENCE_MS);
    hanging.child.kill('SIGKILL');
    await hanging.ended;
    // The approval went with the process: four others, twenty tries each, ask for one of their own.
    const late = [1, 2, 3, 4].map(() => start(0, 20));
    await Promise.all(late.map(({ ended }) => ended));
    for (const { lines } of late) {
      assert.deepEqual(lines, ['asking', ...Array<string>(20).fill('approval_required')]);
    }
    const waiting = await queue.list({ status: 'pending' });
    assert.equal(waiting.length, 1, 'and it is one request');

    // Four wait for it at once.
    const four = [1, 2, 3, 4].map(() => start(600_000, 1));
    await waitUntil(() => four.every(({ lines }) => lines.includes('asking')), PATIENCE_MS);
    await decideOldest(queue, 'approve');
    // One that asks only after that has a request of its own, which is rejected.
    const isOver = async () => {
      const [straggler] = await queue.list({ status: 'pending' });
      if (straggler !== undefined && four.some(({ lines }) => lines.includes('made'))) {
        await decideOldest(queue, 'reject');
      }
      return four.every(({ lines }) => lines.length === 2);
    };
    await waitUntil(isOver, PATIENCE_MS);
    const said = four.map(({ lines }) => lines[1]);
    assert.equal(said.filter((line) => line === 'made').length, 1, said.join());
    for (const line of said) assert.match(String(line), /^(?:made|approval_required|approval_rejected)$/u);
    const { rows } = await db.query(
      'SELECT count(*)::integer AS used FROM mcp_approvals WHERE used_at IS NOT NULL',
    );
    assert.equal(rows[0]?.used, 2);
  });

  test('an approval for a session lets the processes of that session through, each time, and no other', async () => {
    await db.query('TRUNCATE mcp_reviews CASCADE');
    const first = start(600_000, 1, 'call', 's-1');
    await waitUntil(async () => (await queue.list({ status: 'pending' })).length === 1, PATIENCE_MS);
    const id = await decideOldest(queue, 'approve', undefined, 'session');
    await first.ended;
    assert.deepEqual(first.lines, ['asking', 'made']);
    const ours = [1, 2, 3, 4].map(() => start(0, 10, 'call', 's-1'));
    const theirs = [1, 2].map(() => start(0, 10, 'call', 's-2'));
    await Promise.all([...ours, ...theirs].map(({ ended }) => ended));
    for (const { lines } of ours) assert.deepEqual(lines, ['asking', ...Array<string>(10).fill('made')]);
    for (const { lines } of theirs) {
      assert.deepEqual(lines, ['asking', ...Array<string>(10).fill('approval_required')]);
    }
    const { rows } = await db.query('SELECT uses FROM mcp_approvals WHERE review_id = $1::text::uuid', [id]);
    assert.deepEqual(rows, [{ uses: 41 }]);
    await queue.revoke(id, { by: 'bob' });
    const late = start(0, 3, 'call', 's-1');
    await late.ended;
    assert.deepEqual(late.lines, ['asking', ...Array<string>(3).fill('approval_required')]);
  });
});
