import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from './free-port.ts';

export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  kill(): void;
}

/** Starts a program that listens on the given port, and waits until it first writes to stderr. */
export async function runServer(args: (port: number) => readonly string[]): Promise<RunningServer> {
  for (;;) {
    const port = await freePort();
    const child = spawn(process.execPath, args(port), {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exit = once(child, 'exit');
    const [first] = await Promise.race([once(child.stderr, 'data'), exit]);
    // Another program has taken the port first.
    if (String(first).includes('EADDRINUSE')) {
      child.kill('SIGKILL');
      await exit;
      continue;
    }
    child.stderr.resume();
    return {
      port,
      kill: () => child.kill('SIGKILL'),
      [Symbol.asyncDispose]: async () => {
        child.kill('SIGKILL');
        await exit;
      },
    };
  }
}

export interface ListeningServer extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
}

/** Lets a server of this process listen at a free port of this machine; its connections end with it. */
export async function listen(server: Server): Promise<ListeningServer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
