/** Runs `mcp-observatory collect` as a process of its own, on free ports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../lib/cli.js', import.meta.url));

/** A collector that runs and has said where. */
export interface CollectProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly http: string;
  readonly grpc: string;
  /** What it wrote to stderr so far. */
  readonly log: () => string;
  /** Sends the signal and waits for the end. @returns the exit code; null after a signal. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts the service and waits for its ready line. The database is Postgres, or ClickHouse if its URL begins with http. */
export async function startCollect(
  databaseUrl: string,
  flags: readonly string[] = [],
  nodeFlags: readonly string[] = [],
  main = MAIN,
): Promise<CollectProcess> {
  const ports = ['--http', '127.0.0.1:0', '--grpc', '127.0.0.1:0'];
  const database = databaseUrl.startsWith('http') ? '--clickhouse-url' : '--database-url';
  const args = [...nodeFlags, main, 'collect', '--json', database, databaseUrl, ...ports, ...flags];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-20_000);
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, 'line') as Promise<[string]>,
    exited.then(() => Promise.reject(new Error(`collect ended:\n${log}`))),
  ]);
  const { http, grpc } = JSON.parse(line) as { http: string; grpc: string };
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    child,
    http,
    grpc,
    log: () => log,
    end,
    [Symbol.asyncDispose]: async () => {
      await end('SIGKILL');
    },
  };
}
