import { diag } from '@opentelemetry/api';
import { countOutputsUsed, errorMessage, isDoneWithin, ObservatoryError, onStdinUse } from '../base/index.ts';

/** How long a program waits at its end for its last spans. */
const EXIT_MS = 1000;
/** Creating tables takes longer than an exit may, and happens once; without them nothing could be stored. */
export const EXIT_WHILE_MIGRATING_MS = 10_000;

/** How long a program waits at its end, in milliseconds, as far as is known. */
export interface ExitDeadline {
  (): number;
  /** Settles once it does not change any more; never where the store does not answer. Does not reject. */
  settle(): Promise<unknown>;
}

/** As configured, or by what the store is doing. */
export function createExitDeadline(
  configuredMs: number | undefined,
  store: { readonly isMigrating: boolean; readonly tablesSeen: Promise<void> } | undefined,
): ExitDeadline {
  const find = () => configuredMs ?? (store?.isMigrating === true ? EXIT_WHILE_MIGRATING_MS : EXIT_MS);
  const settle = async () => configuredMs ?? store?.tablesSeen;
  return Object.assign(find, { settle });
}

/** What is flushed at the end, while it is. */
const open = new Map<Flushable, () => number>();

/** Sends what is queued, in the time of an exit at most, and in `limitMs`. Never rejects. */
export async function flushNow(limitMs: number): Promise<void> {
  await Promise.all(
    [...open].map(([target, deadline]) => {
      const deadlineMs = Math.min(deadline(), limitMs);
      return within(deadlineMs, target.forceFlush(deadlineMs));
    }),
  );
}

/** The parts of the SDK needed at exit. */
export interface Flushable {
  /** Sends the queue within `limitMs`; the rest stays queued. */
  forceFlush(limitMs: number): Promise<void>;
  shutdown(limitMs: number): Promise<void>;
  /**
   * Sends queued data synchronously, within a deadline in milliseconds; with 0 it is only written to disk. Must not
   * throw.
   */
  exportNow(deadlineMs: number): void;
}

/** Removes what {@link flushOnExit} installed. */
export interface ExitHandlers {
  /** Handlers that wait for a flush. */
  removeWaiting(): void;
  /** The handler that sends at the very end. */
  removeLast(): void;
}

/**
 * Sends queued data when the process is about to end: on SIGTERM and SIGINT, at the end of stdin (how a stdio MCP
 * server is stopped) and before a natural exit. Each wait is bounded by the deadline, in milliseconds. Where waiting is
 * impossible, data is sent synchronously: after `process.exit()`, including one called by an application's signal handler during a
 * flush, and after an uncaught exception.
 *
 * Signals keep their effect: the signal is raised again after the flush, unless the application has its own listener.
 */
export function flushOnExit(target: Flushable, deadline: ExitDeadline): ExitHandlers {
  let isTimeUsed = false;
  /** When the end began. */
  let since: number | undefined;
  const restMs = () =>
    Math.max(0, Math.round(deadline() - (since === undefined ? 0 : performance.now() - since)));
  // Spans whose time is used up may still be written to disk, but are not sent again.
  const onExit = () => target.exportNow(isTimeUsed ? 0 : restMs());
  open.set(target, deadline);
  const removeLast = () => {
    open.delete(target);
    process.removeListener('exit', onExit);
  };
  const shutdown = async () => {
    since ??= performance.now();
    const known = deadline.settle();
    // Until it is known how long it may take, what can be sent is.
    if (!(await isDoneWithin(0, known)))
      await Promise.race([known, within(restMs(), target.forceFlush(restMs()))]);
    const deadlineMs = restMs();
    await within(deadlineMs, target.shutdown(deadlineMs));
    isTimeUsed = true;
  };
  // The process may go on. Unsent spans are retried at its end, which logs losses.
  const onStdinEnd = () => void target.forceFlush(deadline()).catch(() => {});
  const onSignal = (signal: NodeJS.Signals) => {
    process.removeListener(signal, onSignal);
    const applicationDecides = process.listenerCount(signal) > 0;
    void shutdown().then(() => {
      if (applicationDecides) return;
      // The signal ends the process without the event `exit`: what could not be sent in time is kept and told here.
      onExit();
      process.kill(process.pid, signal);
    });
  };

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const removeNaturalEnd = onNaturalEnd(shutdown);
  // Before the processors, which drop unsent spans at exit.
  process.prependListener('exit', onExit);
  // Listening for 'end' neither starts reading nor keeps the process alive, so a server's stdin is not affected.
  let stdin: NodeJS.ReadStream | undefined;
  const endWait = onStdinUse((opened) => {
    stdin = opened.on('end', onStdinEnd);
  });

  const removeWaiting = () => {
    process.removeListener('SIGTERM', onSignal);
    process.removeListener('SIGINT', onSignal);
    removeNaturalEnd();
    endWait();
    stdin?.removeListener('end', onStdinEnd);
  };
  return { removeWaiting, removeLast };
}

/** A backstop: parts should keep the deadline themselves. */
const MARGIN_MS = 100;

/** Settles when the work does or the deadline passes. Failures are logged through `diag`, never thrown. */
async function within(deadlineMs: number, work: Promise<void>): Promise<void> {
  const done = work.catch((error: unknown) => {
    // Lost spans were logged when they were dropped.
    if (error instanceof ObservatoryError && error.code === 'SPANS_NOT_SAFE') return;
    diag.warn(`mcp-observatory: flush at exit failed: ${errorMessage(error)}`);
  });
  if (await isDoneWithin(deadlineMs + MARGIN_MS, done)) return;
  diag.warn(
    `mcp-observatory: telemetry was not flushed within ${deadlineMs} ms; what was queued may be lost`,
  );
}

/**
 * Calls `work` once, when the event loop has nothing left to do, and lets the process end after it.
 *
 * `beforeExit` comes again whenever a listener has started something. The application's listeners see it as often as
 * they would without the work: not while they still start something of their own, and not for the end of the work.
 * @returns what removes the listener.
 */
function onNaturalEnd(work: () => Promise<void>): () => void {
  const onBeforeExit = (): void => {
    const idle = listResources();
    const countUsed = countOutputsUsed();
    // After the other listeners and the promises they have settled.
    queueMicrotask(() => {
      process.nextTick(() => {
        // The event comes again when the application has finished what it started.
        const now = listResources();
        // A pipe or terminal that the first line of output opened lasts, and no work is left for it.
        const opened = Math.min(countUsed(), countStreams(now) - countStreams(idle));
        if (now.length - Math.max(0, opened) > idle.length) return;
        if (!process.listeners('beforeExit').includes(onBeforeExit)) return;
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

/** Bun has no such list: there the first `beforeExit` is taken as the end. */
const listResources = (): readonly string[] => process.getActiveResourcesInfo?.() ?? [];
const countStreams = (resources: readonly string[]): number =>
  resources.filter((type) => type === 'PipeWrap' || type === 'TTYWrap').length;
