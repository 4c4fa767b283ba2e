/**
 * Times the questions that have an index of their own, and the first refresh of the roll-ups, on a day of rows.
 *
 *     node dist/bench/questions.js [rows, default 1000000]
 *
 * Uses a throwaway server with default, durable settings. A question is asked five times; the median counts.
 */
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
for (const [name, sql] of Object.entries(questions(rows))) {
  const times: number[] = [];
  for (let i = 0; i < TIMES; i += 1) times.push(await timed(() => pool.query(sql)));
  report(name, times.sort((a, b) => a - b)[Math.floor(TIMES / 2)] as number);
}
report('first refresh of the roll-ups', await timed(() => refreshRollups(pool)));
await pool.end();

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function report(name: string, ms: number): void {
  process.stdout.write(`${name.padEnd(32)}${ms.toFixed(1).padStart(10)} ms\n`);
}
