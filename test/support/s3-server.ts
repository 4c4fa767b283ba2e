/** A real server of S3's language over a folder of its own, and DuckDB's extension for it: see the two scripts below. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const START_TIMEOUT_MS = 60_000;
const ACCESS = 'access-of-tests';
const SECRET = 'secret-of-tests';

export interface S3Server extends AsyncDisposable {
  readonly port: number;
  /** The folder with a folder for each bucket, in which each object is a file. */
  readonly objects: string;
  /** Environment variables that an archive is found and opened with. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and folder. */
  restart(): Promise<void>;
}

/** Why there can be no server here, for `skip`; `false` when there can. CI must build it. */
export async function noS3Server(): Promise<string | false> {
  if (!process.env.CI && spawnSync('go', ['version']).status !== 0) {
    return 'Go, which builds the S3 server, is not installed';
  }
  try {
    await Promise.all([binaryOfServer(), homeWithExtensions()]);
    return false;
  } catch (error) {
    if (process.env.CI) throw error;
    return `the S3 server cannot be built, or DuckDB's extension not fetched: ${String(error).slice(0, 200)}`;
  }
}

const binaryOfServer = () => outputOf('build-s3-server.sh');
const homeWithExtensions = () => outputOf('duckdb-extensions.sh');

async function outputOf(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)(join(ROOT, 'scripts', script), { maxBuffer: 1 << 26 });
  return stdout.trim();
}

/** Starts a server with these buckets. */
export async function startS3(...buckets: readonly string[]): Promise<S3Server> {
  const [binary, home] = await Promise.all([binaryOfServer(), homeWithExtensions()]);
  const folder = mkdtempSync(join(tmpdir(), 'observatory-s3-'));
  for (const bucket of buckets) mkdirSync(join(folder, 'objects', bucket), { recursive: true });
  mkdirSync(join(folder, 'about'));
  const port = await freePort();
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar'];
  const run = async () => {
    const child = spawn(binary, [...args, join(folder, 'about'), join(folder, 'objects')], {
      env: { ...process.env, ROOT_ACCESS_KEY: ACCESS, ROOT_SECRET_KEY: SECRET },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await untilAnswering(child, `http://127.0.0.1:${port}/`);
    return child;
  };
  let child = await run();
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    objects: join(folder, 'objects'),
    env: {
      HOME: home,
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: ACCESS,
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_REGION: 'us-east-1',
    },
    kill,
    restart: async () => {
      child = await run();
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilAnswering(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The S3 server ended with ${child.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer !== undefined) return;
    if (Date.now() > deadline) throw new Error(`${url} does not answer`);
    await sleep(50);
  }
}
