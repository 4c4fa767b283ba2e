/** The part of undici's Agent used here. */
interface Dispatcher {
  destroy(): Promise<void>;
}

type DispatcherClass = new (options: object) => Dispatcher;

export interface OwnedFetch {
  readonly fetch: typeof fetch;
  /** Closes every socket this fetch has opened. */
  close(): Promise<void>;
}

/**
 * A `fetch` with a connection pool of its own, for two reasons. The pool of the global `fetch` keeps idle sockets open
 * after a server has been left, and it ends any response that is silent for five minutes, which is shorter than a
 * tool call may take. Node does not export its HTTP client (undici), but the global dispatcher is an instance of the
 * class; where that is not to be had, or a proxy has been installed in its place, the global `fetch` serves.
 */
export async function createOwnedFetch(): Promise<OwnedFetch> {
  // The first use of fetch loads undici, which then sets the global dispatcher.
  await fetch('data:,').catch(() => undefined);
  const global = (globalThis as Record<symbol, unknown>)[Symbol.for('undici.globalDispatcher.1')];
  const Agent = global?.constructor as DispatcherClass | undefined;
  if (Agent?.name !== 'Agent') return { fetch, close: async () => undefined };
  // Silence is bounded by the timeouts of each call.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    fetch: (input, init) => fetch(input, { ...init, dispatcher } as RequestInit),
    close: () => dispatcher.destroy().catch(() => undefined),
  };
}
