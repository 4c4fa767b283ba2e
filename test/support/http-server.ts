import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  kill(): void;
}

/** Starts a program that listens on the given port, and waits until it first writes to stderr. */
export async function runServer(args: (port: number) => readonly string[]): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn(process.execPath, args(port), {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'exit');
  await Promise.race([once(child.stderr, 'data'), exit]);
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

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
