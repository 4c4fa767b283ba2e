/**
 * Times what the views of the page ask for, over a day of rows.
 *
 *     node dist/bench/page.js [rows, default 5000000]             PostgreSQL, a throwaway server
 *     node dist/bench/page.js [rows, default 300000] --embedded   the embedded store
 *
 * The rows are made once and thrown away; with `--at` (a connection string, or the folder of an embedded store) they are
 * made where there are none yet, and kept.
 *
 * Each question is asked five times over HTTP. Shown are the median, the CPU time of the database and of this process for
 * one answer, the longest the event loop was held, and the tables that the plans read whole.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { type Database, migrate, openDatabase, refreshRollups } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { insertDay, insertLongRun, LONG_RUN_ID } from '../test/support/day-of-rows.ts';
import { BEARER, PAGE_TOKEN } from '../test/support/page-token.ts';
import { startOwnPostgres } from '../test/support/postgres-server.ts';

const TIMES = 5;
const BATCH = 250_000;
const TICKS_PER_MS = 0.1;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { embedded: { type: 'boolean', default: false }, at: { type: 'string' } },
});
const rows = Number(positionals[0] ?? (values.embedded ? 300_000 : 5_000_000));

async function server(): Promise<void> {
  if (values.at !== undefined) return onServer(values.at);
  await using cluster = await startOwnPostgres({
    fsync: 'off',
    full_page_writes: 'off',
    max_wal_size: '8GB',
    shared_buffers: '512MB',
  });
  await onServer(await cluster.createDatabase());
}

async function onServer(url: string): Promise<void> {
  await using db = await openDatabase({ url });
  const { rows: found } = await db.query(
    `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid`,
  );
  await measure(db, () => cpuOf(Number(found[0]?.pid)));
}

async function embedded(): Promise<void> {
  const dataDir = values.at ?? mkdtempSync(join(tmpdir(), 'bench-page-'));
  try {
    await using db = await openDatabase({ dataDir });
    await measure(db, () => 0);
  } finally {
    if (values.at === undefined) rmSync(dataDir, { recursive: true, force: true });
  }
}

async function seed(db: Database): Promise<void> {
  const began = performance.now();
  const day = insertDay(rows);
  const all = `generate_series(0, ${rows - 1})`;
  for (let from = 0; from < rows; from += BATCH) {
    const part = `generate_series(${from}, ${Math.min(rows, from + BATCH) - 1})`;
    if (!day.includes(all)) throw new Error('insertDay() has another form');
    await db.query(day.replace(all, part));
    if ((from / BATCH) % 4 === 3)
      say(`${from + BATCH} rows after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  await db.query(insertLongRun(20_000));
  await db.query('VACUUM ANALYZE mcp_traces');
  say(`${rows} rows in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  await timed('add up', () => refreshRollups(db));
  await db.query('VACUUM ANALYZE');
}

async function measure(db: Database, databaseCpuMs: () => number): Promise<void> {
  await migrate(db);
  const { rows: old } = await db.query('SELECT 1 FROM mcp_traces LIMIT 1');
  if (old.length === 0) await seed(db);
  await timed('add up what is new', () => refreshRollups(db));
  await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
  const { rows: some } = await db.query(
    `SELECT replace(trace_id::text, '-', '') AS id FROM mcp_runs WHERE spans = 20 ORDER BY started_at DESC LIMIT 2 OFFSET 100`,
  );
  const { rows: oldest } = await db.query(
    'SELECT extract(epoch FROM min(started_at))::float8 * 1000 AS ms FROM mcp_runs',
  );
  const since = Math.floor(Number(oldest[0]?.ms));
  const [a, b] = some.map(({ id }) => String(id));
  const questions: Readonly<Record<string, string>> = {
    Runs: `/api/runs?limit=50&since=${since}`,
    'Runs, figures': `/api/metrics?since=${since}`,
    'Runs, a tool that failed': `/api/runs?limit=50&since=${since}&q=tool:tool-7+status:failed`,
    'Runs, figures of it': `/api/metrics?since=${since}&q=tool:tool-7+status:failed`,
    Sessions: `/api/sessions?since=${since}`,
    'A run': `/api/runs/${a}`,
    'A run of 20,000 spans': `/api/runs/${LONG_RUN_ID}`,
    Tools: `/api/tools?since=${since}`,
    'Cost by model': `/api/cost?by=model&since=${since}`,
    'Cost by user': `/api/cost?by=user&since=${since}`,
    'Cost by service': `/api/cost?by=service&since=${since}`,
    'Compare two runs': `/api/compare/${a}/${b}`,
  };
  say(
    `${''.padEnd(28)}${'median'.padStart(10)}${'database'.padStart(10)}${'page'.padStart(10)}${'held'.padStart(10)}  read whole`,
  );
  for (const [name, path] of Object.entries(questions)) {
    const loop = monitorEventLoopDelay({ resolution: 5 });
    const times: number[] = [];
    const [database, own] = [databaseCpuMs(), process.cpuUsage()];
    loop.enable();
    for (let i = 0; i < TIMES; i += 1) times.push(await answered(new URL(path, page.address)));
    loop.disable();
    const { user, system } = process.cpuUsage(own);
    const figures = [
      times.sort((x, y) => x - y)[Math.floor(TIMES / 2)] as number,
      (databaseCpuMs() - database) / TIMES,
      (user + system) / 1000 / TIMES,
      loop.max / 1e6,
    ];
    const whole = await readWhole(db, new URL(path, page.address));
    say(`${name.padEnd(28)}${figures.map((ms) => `${ms.toFixed(0)} ms`.padStart(10)).join('')}  ${whole}`);
  }
  say(`resident memory of this process: ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`);
}

async function answered(url: URL): Promise<number> {
  const began = performance.now();
  const response = await fetch(url, { headers: BEARER });
  const reader = response.body?.getReader();
  while (reader !== undefined && !(await reader.read()).done);
  if (!response.ok) throw new Error(`${url.pathname}: ${response.status}`);
  return performance.now() - began;
}

/** Tables that a plan of the statements behind an answer scans without an index. */
async function readWhole(db: Database, url: URL): Promise<string> {
  url.searchParams.set('sql', '');
  const { statements } = (await (await fetch(url, { headers: BEARER })).json()) as {
    statements: readonly string[];
  };
  const tables = new Set<string>();
  for (const statement of statements) {
    const { rows: lines } = await db.query(`EXPLAIN ${statement.replace(/;$/, '')}`);
    for (const line of lines) {
      const match = /Seq Scan on (\S+)/.exec(String(line['QUERY PLAN']));
      if (match?.[1] !== undefined && !match[1].endsWith('_history')) tables.add(match[1]);
    }
  }
  return [...tables].join(' ');
}

/** CPU time of a server, in milliseconds: of its main process, those that have ended and those that run. */
function cpuOf(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number);
      const [parent] = [fields[1]];
      const [user, system, ended, endedSystem] = fields.slice(11, 15) as [number, number, number, number];
      if (Number(name) === pid) ticks += user + system + ended + endedSystem;
      else if (parent === pid) ticks += user + system;
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks / TICKS_PER_MS;
}

async function timed(name: string, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  say(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await (values.embedded ? embedded() : server());
