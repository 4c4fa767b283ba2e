import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Connections of a port where descriptors are plenty. */
const MAX_CONNECTIONS = 4096;
/** Descriptors for the database, the disk and all else, and the ports that share the others. */
const OTHER_DESCRIPTORS = 128;
const SHARES = 3;

/** How long a connection may be open before its first request, with its handshake if it has one. */
const SILENT_MS = 60_000;
const CHECK_MS = 1000;

/** What a socket says of the peer, also through TLS or HTTP/2. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>;

interface Idle {
  readonly socket: Socket;
  readonly since: number;
}

/** How the connections of a port are bounded. */
export interface ConnectionBounds {
  /** @defaultValue a share of the process's file descriptors, 4096 at most */
  readonly limit?: number | undefined;
  /** How long a connection may be idle after a request, in milliseconds. @defaultValue the server sees to it */
  readonly idleMs?: number | undefined;
  /** Ends a connection that is given up. @defaultValue destroys it */
  readonly giveUp?: ((key: string, socket: Socket) => void) | undefined;
}

/**
 * Bounds the connections of a port, so that those that say nothing keep nobody out: one without a request is ended after
 * a time, and when the port is full the oldest of these is given up for the new one, first of those that never had one.
 */
export class PortConnections {
  readonly #bounds: ConnectionBounds;
  readonly #limit: number;
  /** Without a request yet, and between requests; by when that began, since a map keeps the order. */
  readonly #silent = new Map<string, Idle>();
  readonly #idle = new Map<string, Idle>();
  /** With requests under way, and how many. */
  readonly #busy = new Map<string, { readonly socket: Socket; requests: number }>();

  constructor(server: Server, bounds: ConnectionBounds = {}) {
    this.#bounds = bounds;
    this.#limit = Math.min(bounds.limit ?? MAX_CONNECTIONS, connectionLimit());
    const timer = setInterval(() => this.#endOld(), CHECK_MS).unref();
    server.on('connection', (socket: Socket) => this.#add(socket)).once('close', () => clearInterval(timer));
  }

  /** Notes that a request began on the connection of a peer. @returns what to call when it has ended. */
  begin(peer: Peer): () => void {
    const key = connectionKey(peer);
    const known = this.#busy.get(key);
    const socket = known?.socket ?? (this.#silent.get(key) ?? this.#idle.get(key))?.socket;
    if (socket === undefined) return () => {};
    const busy = known ?? { socket, requests: 0 };
    busy.requests += 1;
    this.#silent.delete(key);
    this.#idle.delete(key);
    this.#busy.set(key, busy);
    return () => {
      busy.requests -= 1;
      if (busy.requests > 0 || this.#busy.get(key) !== busy) return;
      this.#busy.delete(key);
      this.#idle.set(key, { socket, since: performance.now() });
    };
  }

  /** The same for a request over HTTP/1. */
  beginHttp(request: IncomingMessage, response: ServerResponse): void {
    response.once('close', this.begin(request.socket));
  }

  #add(socket: Socket): void {
    const key = connectionKey(socket);
    if (this.#silent.size + this.#idle.size + this.#busy.size >= this.#limit && !this.#giveUpOldest()) {
      socket.destroy();
      return;
    }
    this.#silent.set(key, { socket, since: performance.now() });
    socket.once('close', () => {
      for (const kind of [this.#silent, this.#idle, this.#busy]) {
        if (kind.get(key)?.socket === socket) kind.delete(key);
      }
    });
  }

  /** @returns whether there was one. */
  #giveUpOldest(): boolean {
    for (const kind of [this.#silent, this.#idle]) {
      for (const key of kind.keys()) {
        this.#giveUp(kind, key);
        return true;
      }
    }
    return false;
  }

  #endOld(): void {
    this.#endOlder(this.#silent, SILENT_MS);
    if (this.#bounds.idleMs !== undefined) this.#endOlder(this.#idle, this.#bounds.idleMs);
  }

  #endOlder(kind: Map<string, Idle>, ms: number): void {
    const latest = performance.now() - ms;
    for (const [key, { since }] of kind) {
      if (since > latest) return;
      this.#giveUp(kind, key);
    }
  }

  #giveUp(kind: Map<string, Idle>, key: string): void {
    const socket = kind.get(key)?.socket;
    kind.delete(key);
    if (socket === undefined) return;
    if (this.#bounds.giveUp === undefined) socket.destroy();
    else this.#bounds.giveUp(key, socket);
  }
}

/** Identifies the connection of a peer among those of one port. */
export function connectionKey({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Connections that one port may have, so that a full one leaves descriptors for the others. */
function connectionLimit(): number {
  let descriptors = Number.POSITIVE_INFINITY;
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    descriptors = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? descriptors);
  } catch {
    // Only Linux has it.
  }
  return Math.max(8, Math.min(MAX_CONNECTIONS, Math.floor((descriptors - OTHER_DESCRIPTORS) / SHARES)));
}
