import assert from 'node:assert/strict';
import type { PostgresReviewQueue } from '../../src/approvals/index.ts';

/** A call that its policy holds for a person. */
export const HELD_POLICY = {
  version: 1,
  approval: { expires_seconds: 60 },
  rules: [{ id: 'pay', effect: 'require_approval', server: 'bank', tool: 'send_payment' }],
};

export const HELD_TOOLS = {
  bank: {
    tools: [
      {
        name: 'send_payment',
        description: 'Sends money',
        inputSchema: {
          type: 'object',
          properties: { to: { type: 'string' }, amount: { type: 'number' } },
        },
      },
    ],
  },
};

export const HELD_CALL = {
  server: 'bank',
  tool: 'send_payment',
  args: { to: 'Ada', amount: 250 },
  caller: 'alice',
};

/** Decides what waits longest, as a person would. @returns its id. */
export async function decideOldest(
  queue: PostgresReviewQueue,
  how: 'approve' | 'reject',
  note?: string,
  scope?: 'session' | 'definition',
): Promise<string> {
  const claim = await queue.claim({ worker: 'ada' });
  assert.ok(claim, 'something waits');
  await queue[how](claim, { note, scope });
  return claim.id;
}
