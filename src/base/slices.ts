/** Longest stretch of work before other work gets its turn, in milliseconds. */
const SLICE_MS = 8;

/**
 * Cuts long work into slices, so that nothing holds the event loop. Call the result between two steps: after 8 ms of
 * work it waits for one turn of the loop, before that it returns at once.
 */
export function sliced(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < SLICE_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    began = performance.now();
  };
}
