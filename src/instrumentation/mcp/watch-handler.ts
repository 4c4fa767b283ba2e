/** When the handler of a notification is done: the SDK calls it in a microtask and tells nobody. */
import type { ProtocolLike } from './internal-types.ts';
import type { Operation } from './operation.ts';
import { outcomeOfError, type RequestOutcome } from './outcome.ts';

const DONE: RequestOutcome = {};

type Handler = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Dispatches a notification and ends its operation when the handler settles. The SDK looks the handler up while
 * dispatching, so for just that time the one in its table is replaced by one that reports back. Where there is no
 * handler, or no table, the operation ends with the dispatch.
 */
export function watchHandler(protocol: ProtocolLike, operation: Operation, dispatch: () => unknown): unknown {
  const { guard } = operation.connection.telemetry;
  const { method } = operation;
  const table = protocol._notificationHandlers;
  const registered = table instanceof Map ? table.get(method) : undefined;
  const handler = registered ?? protocol.fallbackNotificationHandler;
  const end = (outcome: RequestOutcome) => {
    guard.run('mcp.notified.end', () => operation.end(outcome));
  };
  if (!(table instanceof Map) || typeof handler !== 'function') {
    try {
      return dispatch();
    } finally {
      end(DONE);
    }
  }
  let called = false;
  const watched: Handler = function (...args) {
    called = true;
    // A fallback handler is given the notification alone.
    const given = registered === undefined ? args.slice(0, 1) : args;
    let handled: unknown;
    try {
      handled = (handler as Handler).apply(this, given);
    } catch (error) {
      end(outcomeOfError(error, undefined));
      throw error;
    }
    guard.observe(
      'mcp.notified.end',
      handled,
      () => end(DONE),
      (error) => end(outcomeOfError(error, undefined)),
    );
    return handled;
  };
  table.set(method, watched);
  try {
    return dispatch();
  } finally {
    if (registered === undefined) table.delete(method);
    else table.set(method, registered);
    // The SDK may have dropped the notification; otherwise its handler is called before this microtask.
    queueMicrotask(() => {
      if (!called) end(DONE);
    });
  }
}
