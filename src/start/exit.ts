import { diag } from '@opentelemetry/api';

/** What an exit needs of the SDK. */
export interface Flushable {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Removes what {@link flushOnExit} installed. */
export type RemoveExitHandlers = () => void;

/**
 * Sends what is still queued when the process is about to end: on SIGTERM and SIGINT, when stdin ends (that is how a
 * stdio MCP server is told to stop) and before a natural exit. Each wait is bounded by `deadlineMs`.
 *
 * A signal still ends the process as it would without us: it is raised again after the flush, unless the
 * application listens to it too and so decides by itself.
 */
export function flushOnExit(target: Flushable, deadlineMs: number): RemoveExitHandlers {
  const onStdinEnd = () => void within(deadlineMs, target.forceFlush());
  const onBeforeExit = () => {
    process.removeListener('beforeExit', onBeforeExit);
    void within(deadlineMs, target.shutdown());
  };
  const onSignal = (signal: NodeJS.Signals) => {
    process.removeListener(signal, onSignal);
    const applicationDecides = process.listenerCount(signal) > 0;
    void within(deadlineMs, target.shutdown()).then(() => {
      if (!applicationDecides) process.kill(process.pid, signal);
    });
  };

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('beforeExit', onBeforeExit);
  // Listening for 'end' neither starts reading nor keeps the process alive; the stdin of a server stays its own.
  const { stdin } = process;
  stdin.on('end', onStdinEnd);

  return () => {
    process.removeListener('SIGTERM', onSignal);
    process.removeListener('SIGINT', onSignal);
    process.removeListener('beforeExit', onBeforeExit);
    stdin.removeListener('end', onStdinEnd);
  };
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
