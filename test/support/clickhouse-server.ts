/** ClickHouse's engine behind its HTTP interface: test/fixtures/clickhouse/server.py. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { noPython, pythonProgram, pythonWithPackages } from './python.ts';

/** What the next inserts meet: see the fixture. */
export type InsertFault = 'drop-before' | 'drop-after' | 'half' | 'busy' | 'bad-gateway';

export interface ClickHouseServer extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Rows of a query as JSON values. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Runs a statement. */
  run(sql: string): Promise<void>;
  fail(...faults: readonly InsertFault[]): Promise<void>;
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, on the same port with the same data. */
  restart(): Promise<void>;
}

/** Why there is no engine here, for `skip`; `false` when there is. CI must have it. */
export async function noClickHouse(): Promise<string | false> {
  const reason = noPython();
  if (reason !== false) return reason;
  try {
    await pythonWithPackages('clickhouse');
    return false;
  } catch (error) {
    if (process.env.CI) throw error;
    return `chdb cannot be installed: ${String(error).slice(0, 200)}`;
  }
}

export async function startClickHouse(): Promise<ClickHouseServer> {
  const python = await pythonWithPackages('clickhouse');
  const folder = mkdtempSync(join(tmpdir(), 'observatory-clickhouse-'));
  let child: ChildProcess;
  let port = 0;
  const start = async () => {
    const args = [pythonProgram('server.py', 'clickhouse'), join(folder, 'data'), String(port)];
    child = spawn(python, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      port = Number(line.split(' ')[1]);
      return;
    }
    throw new Error('the ClickHouse of the tests did not start');
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const post = async (path: string, body: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text;
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}/default`,
    get pid() {
      return child.pid as number;
    },
    query: async (sql) => {
      const text = await post('/?default_format=JSONEachRow&output_format_json_quote_64bit_integers=0', sql);
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    run: async (sql) => void (await post('/', sql)),
    fail: async (...faults) => void (await post('/faults', faults.join('\n'))),
    kill,
    restart: start,
    [Symbol.asyncDispose]: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
