import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { reviewsCommand } from '../src/cli/reviews.ts';
import { openDatabase } from '../src/postgres/index.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { runCommand } from './support/run-command.ts';

describe('reviews on the command line', { skip: noPostgres() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-reviews-'));
  let server: PostgresServer;
  let url: string;
  let ids: string[] = [];
  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    await using db = await openDatabase({ url });
    const queue = new PostgresReviewQueue({ connection: db });
    const submit = (toolName: string, prompt: string) =>
      queue.submit({ fallbackReason: 'low_confidence', toolName, content: { prompt }, confidence: 0.42 });
    ids = [
      await submit('pay', 'Pay \u202e92311?'),
      await submit('mail', 'Send?'),
      await submit('pay', 'And this?'),
    ];
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const reviews = (...args: string[]) => runCommand(reviewsCommand, [...args, '--database-url', url]);

  test('a person lists, claims and decides what waits', async () => {
    const [first = '', second = '', third = ''] = ids;
    const listed = await reviews('list', '--status', 'pending', '--json');
    assert.deepEqual(
      ((listed.rows[0]?.reviews ?? []) as { review_id: string }[]).map((review) => review.review_id).sort(),
      [...ids].sort(),
    );
    assert.match(
      (await reviews('list', '--tool', 'mail')).stdout,
      new RegExp(`^${second}  pending .*mail  low_conf`),
    );

    const claimed = await reviews('claim', '--as', 'ada', '--tool', 'pay', '--lease', '5m', '--json');
    const [row = {}] = claimed.rows;
    assert.deepEqual(
      [row.review_id, row.status, row.claim_token, row.claimed_by, row.content, row.confidence],
      [first, 'claimed', 1, 'ada', { prompt: 'Pay \u202e92311?' }, 0.42],
    );
    assert.equal(Date.parse(String(row.lease_expires_at)) - Date.parse(String(row.claimed_at)), 300_000);
    const shown = await reviews('show', first);
    assert.match(shown.stdout, /"prompt": "Pay \\u202e92311\?"/, 'no text may look like another');

    const taken = await reviews('claim', first, '--as', 'bob');
    assert.deepEqual([taken.code, taken.stdout, taken.stderr], [1, '', `The review ${first} is not free\n`]);
    await assert.rejects(reviews('approve', first, '--token', '7', '--as', 'ada'), {
      code: 'REVIEW_CONFLICT',
    });
    const file = join(folder, 'answer.json');
    writeFileSync(file, '{"pay":true}');
    const approval = [
      'approve',
      first,
      '--token',
      '1',
      '--as',
      'ada',
      '--note',
      'known',
      '--response-file',
      file,
    ];
    assert.equal((await reviews(...approval)).stdout, `${first} approved by ada\n`);
    assert.deepEqual((await reviews('show', first, '--json')).rows[0]?.response, { pay: true });

    const told = await reviews('claim', third, '--as', 'ada');
    assert.match(told.stdout, new RegExp(`reviews approve ${third} --token 1 --as "ada"`));
    const rejection = await reviews('reject', third, '--token', '1', '--as', 'ada', '--json');
    assert.deepEqual([rejection.rows[0]?.status, rejection.rows[0]?.response], ['rejected', null]);
    assert.deepEqual((await reviews('expire', '--json')).rows, [{ expired: 0 }]);
    assert.equal((await reviews('expire')).stdout, '0 reviews expired\n');
    assert.deepEqual((await reviews('claim', '--tool', 'none', '--as', 'ada', '--json')).rows, [
      { review_id: null },
    ]);
  });

  test('a command line that cannot be understood is refused before anything is opened', async () => {
    for (const [args, message] of [
      [[], /Expected one subcommand, list, show/],
      [['toString'], /Expected one subcommand/],
      [['list', 'a', 'b'], /at most one id/],
    ] as const) {
      await assert.rejects(runCommand(reviewsCommand, [...args]), { code: 'INVALID_OPTION', message });
    }
    const [id = ''] = ids;
    for (const [args, message] of [
      [['show'], /show needs the id/],
      [['show', 'x'], /UUID, got x/],
      [['approve', id], /needs --token/],
      [['approve', id, '--token', 'one'], /--token to be a whole number from 0 up, got 'one'/],
      [
        ['approve', id, '--as', 'ada', '--token', '1', '--response', 'yes'],
        /is not JSON; a text needs its quotes/,
      ],
      [['approve', id, '--as', 'ada', '--token', '1', '--response', '1', '--response-file', 'f'], /either/],
      [['approve', id, '--as', ' Page:ada', '--token', '1'], /another name/],
      [
        ['approve', id, '--as', 'ada', '--token', '1', '--response-file', join(folder, 'none')],
        /cannot be read \(ENOENT\)/,
      ],
      [['list', '--status', 'open'], /one of pending, claimed, approved/],
      [['list', '--limit', 'all'], /--limit/],
      [['claim', '--lease', 'soon'], /--lease/],
    ] as const) {
      await assert.rejects(reviews(...args), { code: 'INVALID_OPTION', message }, args.join(' '));
    }
  });
});
