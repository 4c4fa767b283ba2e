import assert from 'node:assert/strict';

/** Noise, such as a collection of garbage, only adds; growth that the code causes is there each time. */
const TRIES = 4;

/**
 * CPU time that `run` takes, in milliseconds. Unlike wall time it does not include other processes, so a limit on it
 * holds on a busy machine too.
 */
export function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * Fails if a large run takes more than `most` times the CPU time of a small one, each time it is tried.
 * @param what is run, for the message.
 */
export function assertGrowth(what: string, small: () => void, large: () => void, most: number): void {
  let short = Number.POSITIVE_INFINITY;
  let long = Number.POSITIVE_INFINITY;
  small();
  for (let i = 0; i < TRIES; i += 1) {
    short = Math.min(short, cpuMs(small));
    long = Math.min(long, cpuMs(large));
    // Shorter times are not measured well.
    if (long <= most * Math.max(short, 1)) return;
  }
  assert.fail(`${what}: ${short} ms, then ${long} ms`);
}
