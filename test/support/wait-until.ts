import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until a condition holds, and fails if it does not in time. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, 'waited in vain');
    await sleep(5);
  }
}
