import { setMaxListeners } from 'node:events';

/** A controller for work of any concurrency: Node warns of more than ten listeners to one signal. */
export function abortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
