import { setMaxListeners } from 'node:events';

/** A controller for work of any concurrency: Node warns of more than ten listeners to one signal. */
export function abortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Whether the work is done at that time of the monotonic clock; it is waited for no longer. */
export async function isDoneBy(deadline: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
  });
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}
