import { diag } from '@opentelemetry/api';

/** What an exit needs of the SDK. */
export interface Flushable {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
  /** Sends what is queued before it returns, within a deadline in milliseconds. Must not throw. */
  exportNow(deadlineMs: number): void;
}

/** Removes what {@link flushOnExit} installed. */
export interface ExitHandlers {
  /** Those that wait for a flush: for when one is under way. */
  removeWaiting(): void;
  /** The one that sends at the very end: for when there is nothing left to send. */
  removeLast(): void;
}

/**
 * Sends what is still queued when the process is about to end: on SIGTERM and SIGINT, when stdin ends (that is how a
 * stdio MCP server is told to stop) and before a natural exit. Each wait is bounded by `deadlineMs`. Where there is no
 * time to wait, it is sent at the very end: after `process.exit()`, also one in a signal handler of the application's
 * while a flush is under way, and after an exception that nobody caught.
 *
 * A signal still ends the process as it would without us: it is raised again after the flush, unless the
 * application listens to it too and so decides by itself.
 */
export function flushOnExit(target: Flushable, deadlineMs: number): ExitHandlers {
  const onExit = () => target.exportNow(deadlineMs);
  const removeLast = () => void process.removeListener('exit', onExit);
  // What has had its time is not tried once more at the very end.
  const shutdown = () => within(deadlineMs, target.shutdown()).then(removeLast);
  const onStdinEnd = () => void within(deadlineMs, target.forceFlush());
  const onBeforeExit = () => {
    process.removeListener('beforeExit', onBeforeExit);
    void shutdown();
  };
  const onSignal = (signal: NodeJS.Signals) => {
    process.removeListener(signal, onSignal);
    const applicationDecides = process.listenerCount(signal) > 0;
    void shutdown().then(() => {
      if (!applicationDecides) process.kill(process.pid, signal);
    });
  };

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('beforeExit', onBeforeExit);
  process.on('exit', onExit);
  // Listening for 'end' neither starts reading nor keeps the process alive; the stdin of a server stays its own.
  const { stdin } = process;
  stdin.on('end', onStdinEnd);

  const removeWaiting = () => {
    process.removeListener('SIGTERM', onSignal);
    process.removeListener('SIGINT', onSignal);
    process.removeListener('beforeExit', onBeforeExit);
    stdin.removeListener('end', onStdinEnd);
  };
  return { removeWaiting, removeLast };
}

/** Settles when the work does or the deadline passes; a failure is told through `diag`, never thrown. */
async function within(deadlineMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      diag.warn(
        `mcp-observatory: telemetry was not flushed within ${deadlineMs} ms; what was queued is lost`,
      );
      resolve();
    }, deadlineMs);
  });
  const done = work.catch((error: unknown) => diag.error('mcp-observatory: flush at exit failed', error));
  await Promise.race([done, deadline]);
  clearTimeout(timer);
}
