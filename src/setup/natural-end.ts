/**
 * Calls `work` once, when the event loop has nothing left to do, and lets the process end after it.
 *
 * `beforeExit` comes again whenever a listener has started something. The application's listeners see it as often as
 * they would without the work: not while they still start something of their own, and not for the end of the work.
 * @returns what removes the listener.
 */
export function onNaturalEnd(work: () => Promise<void>): () => void {
  const onBeforeExit = (): void => {
    const idle = activeResources();
    // After the other listeners and the promises they have settled.
    queueMicrotask(() => {
      process.nextTick(() => {
        // The event is emitted again once the application has finished the work it started.
        if (activeResources() > idle || !process.listeners('beforeExit').includes(onBeforeExit)) return;
        process.removeListener('beforeExit', onBeforeExit);
        holdOtherListeners();
        void work();
      });
    });
  };
  // First, so that what the others start is seen as theirs.
  process.prependListener('beforeExit', onBeforeExit);
  return () => void process.removeListener('beforeExit', onBeforeExit);
}

/** Keeps the listeners of the application from the next `beforeExit`, which is not of its making. */
function holdOtherListeners(): void {
  // Wrappers included, so that `once` stays `once`.
  const held = process.rawListeners('beforeExit') as (() => void)[];
  for (const listener of held) process.removeListener('beforeExit', listener);
  process.once('beforeExit', () => {
    for (const listener of held) process.on('beforeExit', listener);
  });
}

/** Bun has no such count: there the first `beforeExit` is taken as the end. */
function activeResources(): number {
  return process.getActiveResourcesInfo?.().length ?? 0;
}
