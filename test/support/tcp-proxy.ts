import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that can fail as networks do. */
export interface TcpProxy {
  readonly port: number;
  /** Stops carrying bytes, without a word to either side. */
  stall(): void;
  /** Carries bytes again, those held back first. */
  resume(): void;
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

/** Listens on a port of its own and carries everything to another one; what that one sends comes later. */
export async function startProxy(targetPort: number, delayMs?: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (from === far && delayMs !== undefined) setTimeout(() => to.write(chunk), delayMs);
        else if (!to.write(chunk)) from.pause();
      });
      to.on('drain', () => {
        if (!isStalled) from.resume();
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isStalled) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No TCP port is free');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
