import { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';

/** A class of clients, and the sockets that they connect with. */
export interface BackgroundClients {
  readonly Client: typeof Client;
  readonly socket: () => Socket;
}

/** Poll interval for whether the process waits only for a connection, and the time a connection may take before that. */
const LOOK_EVERY_MS = 100;
const PATIENCE_MS = 250;

/** Pause after a connection was abandoned: if the process still runs then, something else keeps it alive. */
const PAUSE_MS = 10_000;

/**
 * Connections that do not keep the process alive: neither their sockets nor the timers of `pg` do, so that the process
 * can end, and pending work can be abandoned at its deadline. A connection that is being made does keep it alive; it is
 * abandoned once nothing else does.
 */
export function backgroundClients(
  Base: typeof Client,
  connectTimeoutMs: number,
  statementTimeoutMs: number,
): BackgroundClients {
  const connecting = new Set<Socket>();
  let gaveUpAt = Number.NEGATIVE_INFINITY;

  class BackgroundClient extends Base {
    constructor(config?: string | ClientConfig) {
      // Unlike that of the pool, the timer of the client does not keep the process alive.
      super({ ...(config as ClientConfig), connectionTimeoutMillis: connectTimeoutMs });
      let timer: NodeJS.Timeout | undefined;
      const clear = () => {
        clearTimeout(timer);
        timer = undefined;
      };
      const { connection } = this as unknown as { readonly connection: { readonly stream: Socket } };
      const query = this.query.bind(this) as (...args: unknown[]) => unknown;
      Object.assign(this, {
        // The pool calls it for each use.
        ref: () => {},
        query: (...args: unknown[]) => {
          if (statementTimeoutMs > 0) {
            const expire = () => connection.stream.destroy(new Error('Query read timeout'));
            timer ??= setTimeout(expire, statementTimeoutMs).unref();
          }
          return query(...args);
        },
      });
      this.on('drain', clear);
      this.on('end', clear);
    }
  }

  const socket = (): Socket => {
    // Takes effect when it is connected; until then `look` does it.
    const made = new Socket().unref();
    const startedAt = performance.now();
    connecting.add(made);
    const look = setInterval(() => {
      made.unref();
      const now = performance.now();
      if (now - startedAt < PATIENCE_MS || now - gaveUpAt < PAUSE_MS || !isAllThatIsLeft(connecting.size))
        return;
      gaveUpAt = now;
      for (const each of connecting)
        each.destroy(new Error('The process ends before the connection is made'));
    }, LOOK_EVERY_MS).unref();
    const done = () => {
      clearInterval(look);
      connecting.delete(made);
    };
    return made.once('connect', done).once('close', done);
  };
  return { Client: BackgroundClient, socket };
}

/** Whether only connections being made keep the process alive. Its output is listed too, but does not. */
function isAllThatIsLeft(connecting: number): boolean {
  let connections = 0;
  let outputs = 0;
  for (const type of process.getActiveResourcesInfo()) {
    if (type === 'ConnectWrap') connections += 1;
    else if (type === 'TTYWrap' || type === 'PipeWrap') outputs += 1;
    else return false;
  }
  return connections > 0 && connections <= connecting && outputs <= 2;
}
