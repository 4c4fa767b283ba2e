/**
 * Times the questions that have an index of their own, and the first refresh of the roll-ups, on a day of rows.
 *
 *     node dist/bench/questions.js [rows, default 1000000]
 *
 * Uses a throwaway server with default, durable settings. A question is asked five times; the median counts. On Linux the
 * CPU time of the server's process is given too, which says more than wall time on a busy machine.
 */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { migrate, refreshRollups } from '../src/postgres/index.ts';
import { insertDay, questions } from '../test/support/day-of-rows.ts';
import { startOwnPostgres } from '../test/support/postgres-server.ts';

const TIMES = 5;

const [rows = 1_000_000] = process.argv.slice(2).map(Number);
await using server = await startOwnPostgres({});
const pool = new pg.Pool({ connectionString: await server.createDatabase(), max: 1 });
await migrate(pool);
await pool.query(insertDay(rows));
await pool.query('VACUUM ANALYZE mcp_traces');
const serverPid = Number((await pool.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid);
for (const [name, sql] of Object.entries(questions(rows))) {
  const times: number[] = [];
  const cpuBefore = serverCpuMs();
  for (let i = 0; i < TIMES; i += 1) times.push(await timed(() => pool.query(sql)));
  const median = times.sort((a, b) => a - b)[Math.floor(TIMES / 2)] as number;
  report(name, median, (serverCpuMs() - cpuBefore) / TIMES);
}
const cpuBefore = serverCpuMs();
const refreshMs = await timed(() => refreshRollups(pool));
report('first refresh of the roll-ups', refreshMs, serverCpuMs() - cpuBefore);
await pool.end();

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** CPU time of the server's process for the pool's one connection, in steps of 10 ms; not a number elsewhere than on Linux. */
function serverCpuMs(): number {
  if (process.platform !== 'linux') return Number.NaN;
  // User and system time, counted from behind the name of the program.
  const fields = readFileSync(`/proc/${serverPid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function report(name: string, ms: number, cpuMs: number): void {
  process.stdout.write(
    `${name.padEnd(32)}${ms.toFixed(1).padStart(10)} ms ${cpuMs.toFixed(0).padStart(8)} ms CPU\n`,
  );
}
