import assert from 'node:assert/strict';
import { Gauge, threadCpu } from './machine-speed.ts';

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

/** CPU time that this thread has spent, in milliseconds. */
function threadCpuMs(): number {
  return threadCpu() / 1000;
}

let gauge: Gauge | undefined;

function slowness(): number {
  gauge ??= new Gauge();
  gauge.begin();
  return gauge.slowness();
}

/**
 * The most CPU time, in milliseconds, that `act` spends between two turns of the event loop. Unlike a delay it does not
 * count what other processes do, nor that they slow down a core.
 */
export async function longestHold(act: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = threadCpuMs();
  const look = (): void => {
    const spent = threadCpuMs() - before;
    if (spent > longest) longest = Math.max(longest, spent < MAX_HOLD_MS ? spent : spent / slowness());
    before = threadCpuMs();
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
