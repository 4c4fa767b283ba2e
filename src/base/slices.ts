import { performance } from 'node:perf_hooks';

/** Longest stretch of work before other work gets its turn, in milliseconds. */
const SLICE_MS = 8;

const waiting: (() => void)[] = [];

/**
 * Waits for a turn of the event loop that no other waiter gets. Waiters of `setImmediate` all run in the same turn, so
 * that many small pieces of work at once would hold the loop together.
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(release);
  });
}

function release(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(release);
}

/**
 * Cuts long work into slices, so that nothing holds the event loop. Call the result between two steps: after 8 ms of
 * work it waits for a turn of the loop of its own, before that it returns at once.
 */
export function sliced(): () => Promise<void> {
  let began = readWorkTime();
  return async () => {
    if (readWorkTime() - began < SLICE_MS) return;
    await ownTurn();
    began = readWorkTime();
  };
}

/** The time without that in which the event loop had nothing to do: waiting for a server is no work. */
function readWorkTime(): number {
  return performance.now() - performance.nodeTiming.idleTime;
}

/** Work in steps of a few milliseconds. A step yields `true` if the next one needs a turn of its own. */
export type Steps<Result> = Generator<boolean | undefined, Result>;

/** Takes all steps at once. */
export function takeAll<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Takes the steps, and lets the event loop turn where they have taken long. */
export async function takeInSlices<Result>(steps: Steps<Result>): Promise<Result> {
  let turn = sliced();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (step.value !== true) await turn();
    else {
      await ownTurn();
      turn = sliced();
    }
  }
}
