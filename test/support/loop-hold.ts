import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

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

const OF_THREAD = '/proc/thread-self/schedstat';

/**
 * CPU time that this thread has spent, in milliseconds. Where the system does not tell, that of the process, with the
 * threads of the engine and of the embedded database.
 */
export function threadCpuMs(): number {
  if (existsSync(OF_THREAD)) return Number(readFileSync(OF_THREAD, 'utf8').split(' ')[0]) / 1e6;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * The most CPU time, in milliseconds, that `act` spends between two turns of the event loop. Unlike a delay it does not
 * count what other processes do.
 */
async function longestHold(act: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = threadCpuMs();
  const look = (): void => {
    const now = threadCpuMs();
    longest = Math.max(longest, now - before);
    before = now;
  };
  const timer = setInterval(look, 1);
  try {
    await new Promise((resolve) => setTimeout(resolve, 2));
    before = threadCpuMs();
    await act();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}
