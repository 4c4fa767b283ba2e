import assert from 'node:assert/strict';

/** The longest that code of ours may keep the event loop from turning. */
const MAX_HOLD_MS = 50;
/** A hold that the code causes comes back each time; one by the engine's start or the machine does not. */
const TRIES = 4;

/** Fails if `act` holds the event loop for too long each time it is tried. */
export async function assertFree(what: string, act: () => Promise<unknown>): Promise<void> {
  let hold = Number.POSITIVE_INFINITY;
  for (let i = 0; i < TRIES && hold >= MAX_HOLD_MS; i += 1) hold = Math.min(hold, await longestHold(act));
  assert.ok(hold < MAX_HOLD_MS, `${what} holds the event loop for ${hold.toFixed(0)} ms`);
}

/**
 * The most CPU time, in milliseconds, that `act` spends between two turns of the event loop. Unlike a delay it does not
 * count what other processes do; engine threads (compiler, garbage collector) are counted.
 */
async function longestHold(act: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.cpuUsage();
  };
  const timer = setInterval(look, 1);
  try {
    await new Promise((resolve) => setTimeout(resolve, 2));
    before = process.cpuUsage();
    await act();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}
