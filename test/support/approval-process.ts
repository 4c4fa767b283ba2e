/**
 * A process with a gate that makes one held call again and again. Arguments: connection string, how long the gate waits
 * in milliseconds, how often it tries, `hang` to stop between the grant and the call, and the session. Prints `asking`, then for each
 * try `made`, `granted` before it hangs, or the reason code of the refusal.
 */
import { writeSync } from 'node:fs';
import { PostgresReviewQueue } from '../../src/approvals/index.ts';
import { guardedCall, PolicyDeniedError, PolicyGate } from '../../src/policy/index.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from './held-call.ts';

const [connection = '', waitMs = '', tries = '', task, sessionId] = process.argv.slice(2);
await using queue = new PostgresReviewQueue({ connection });
using gate = new PolicyGate({
  policy: HELD_POLICY,
  tools: HELD_TOOLS,
  approvals: { queue, waitMs: Number(waitMs) },
});

async function pay(): Promise<unknown> {
  if (task === 'hang') {
    writeSync(1, 'granted\n');
    // Until it is killed: the approval is used, the payment is not made.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  return { content: [{ type: 'text', text: 'paid' }] };
}

writeSync(1, 'asking\n');
for (let i = 0; i < Number(tries); i += 1) {
  try {
    await guardedCall({ ...HELD_CALL, sessionId }, pay, { gate });
    writeSync(1, 'made\n');
  } catch (error) {
    if (!(error instanceof PolicyDeniedError)) throw error;
    writeSync(1, `${error.reasonCode}\n`);
  }
}
