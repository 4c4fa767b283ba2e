import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `promise`, but not longer than `timeoutMs`; leaves no timer behind. Rejections count as an end. */
export async function within(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  const done = new AbortController();
  const timer = delay(timeoutMs, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([promise.catch(() => undefined), timer]);
  done.abort();
}
