import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { runSql, serverUser } from './postgres-server.ts';

const START_TIMEOUT_MS = 30_000;

/** Why there can be no PgBouncer here, for `skip`; `false` when there can. */
export function noPgbouncer(): string | false {
  return binary() === undefined ? 'pgbouncer is not installed' : false;
}

/** A throwaway PgBouncer that hands out the connections of a server for one transaction at a time. */
export interface Pooler extends AsyncDisposable {
  /** The same database, by way of the pooler. */
  urlOf(url: string): string;
}

/** @param connections that it keeps to each database. Call it only when {@link noPgbouncer} is false. */
export async function startPgbouncer(serverUrl: string, connections: number): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-pgbouncer-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const { hostname, port: serverPort, username } = new URL(serverUrl);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${connections}
max_db_connections = ${connections}
`,
  );
  const child = spawn(binary() ?? '', ['-q', file], { ...serverUser(), cwd: folder, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const urlOf = (url: string) => {
    const pooled = new URL(url);
    pooled.port = String(port);
    return pooled.href;
  };
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await answers(urlOf(serverUrl)))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error('PgBouncer did not start');
    }
    await sleep(20);
  }
  return { urlOf, [Symbol.asyncDispose]: stop };
}

function answers(url: string): Promise<boolean> {
  return runSql(url, 'SELECT 1').then(
    () => true,
    () => false,
  );
}

function binary(): string | undefined {
  const folders = ['/usr/sbin', ...(process.env.PATH ?? '').split(':')];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((file) => existsSync(file));
}
