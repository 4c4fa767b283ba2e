/**
 * Proof that a process lives, for others under the same kernel, whatever their host name and process ids are, as in
 * containers that share a folder: it listens on a socket in that folder. Only the kernel that the socket was made under
 * can tell whether anybody listens, so the proof names it and the file. Linux only.
 */
import { open, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** Where a process listens. */
export interface Liveness {
  /** Id of the run of the kernel. */
  readonly boot: string;
  /** Name of the socket in the folder. */
  readonly socket: string;
  /** Device and number of its file. */
  readonly dev: number;
  readonly ino: number;
}

/** A process that listens, without being kept alive by it. */
export interface Listening {
  readonly proof: Liveness;
  stop(): Promise<void>;
}

/** @returns undefined where this cannot be done: another system, or a file system without sockets. */
export async function listenIn(folder: string, socket: string): Promise<Listening | undefined> {
  const boot = await bootId();
  if (boot === undefined) return undefined;
  const handle = await open(folder).catch(() => undefined);
  if (handle === undefined) return undefined;
  const server = createServer((client) => client.destroy());
  const stop = async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(join(folder, socket), { force: true });
    await handle.close();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // Not by the primary process of a cluster.
      server.listen({ path: pathIn(handle.fd, socket), exclusive: true }, resolve);
    });
    server.unref();
    const { dev, ino } = await stat(join(folder, socket));
    return { proof: { boot, socket, dev, ino }, stop };
  } catch {
    await stop();
    return undefined;
  }
}

/** Whether the process that gave the proof lives; undefined when that cannot be known here. */
export async function isListening(folder: string, proof: Liveness): Promise<boolean | undefined> {
  if (proof.boot !== (await bootId())) return undefined;
  const found = await stat(join(folder, proof.socket)).catch(() => undefined);
  if (found?.dev !== proof.dev || found.ino !== proof.ino) return undefined;
  const handle = await open(folder);
  try {
    return await new Promise((resolve) => {
      const client = connect(pathIn(handle.fd, proof.socket));
      client.once('connect', () => {
        client.destroy();
        resolve(true);
      });
      client.once('error', ({ code }: NodeJS.ErrnoException) =>
        resolve(code === 'ECONNREFUSED' ? false : undefined),
      );
    });
  } finally {
    await handle.close();
  }
}

/** A path of any length would not fit into the address of a socket. */
function pathIn(folder: number, name: string): string {
  return `/proc/self/fd/${folder}/${name}`;
}

async function bootId(): Promise<string | undefined> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined);
  return text?.trim();
}
