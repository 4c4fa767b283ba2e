/**
 * The collector under load: spans/s, CPU per span, the time to the acknowledgment and memory, with 1 to 4 connections,
 * into a throwaway PostgreSQL with durable settings. Afterwards every acknowledged span must be a row.
 *
 *   node dist/bench/collector.js [--kind content|chat|http|mix] [--seconds 10] [--spans 512] [--gzip] [--spool] [--max-connections 4]
 *     [--floor URL --floor-pid PID]   the same requests to another receiver, side by side
 *     [--soak SECONDS]                one run with all connections that reports memory every 30 s; 600 for ten minutes
 *
 * Sender, collector and database share the machine, so compare the ratios, not the rates.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startCollect } from '../test/support/collect-process.ts';
import { runSql, startOwnPostgres } from '../test/support/postgres-server.ts';

const run = promisify(execFile);
const LOAD = fileURLToPath(new URL('./otlp-load.js', import.meta.url));
/** Ticks of the kernel's process clock in a second, on Linux. */
const TICKS = 100;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    spans: { type: 'string', default: '512' },
    'max-connections': { type: 'string', default: '4' },
    gzip: { type: 'boolean', default: false },
    kind: { type: 'string', default: 'content' },
    spool: { type: 'boolean', default: false },
    floor: { type: 'string' },
    'floor-pid': { type: 'string' },
    soak: { type: 'string' },
  },
});

/** What the load generator prints. */
interface Load {
  readonly acknowledged_spans: number;
  readonly spans_per_second: number;
  readonly ack_p50_ms: number;
  readonly ack_p99_ms: number;
  readonly told_to_come_again: number;
  readonly refused_or_broken: number;
}

const folder = mkdtempSync(join(tmpdir(), 'observatory-bench-collector-'));
await using server = await startOwnPostgres({});
const url = await server.createDatabase();
const collect = await startCollect(url, values.spool ? ['--spool', folder] : []);
const pid = collect.child.pid ?? 0;
let stored = 0;

try {
  const maxConnections = Number(values['max-connections']);
  // The first seconds of a process are spent on compiling.
  await load(`${collect.http}/v1/traces`, 2, 5).then(count);
  line(['', 'connections', 'spans/s', 'CPU us/span', 'ack p50 ms', 'ack p99 ms', 'come again', 'RSS MiB']);
  if (values.soak === undefined) {
    for (let connections = 1; connections <= maxConnections; connections += 1) {
      await measure('collect', `${collect.http}/v1/traces`, pid, connections, Number(values.seconds)).then(
        count,
      );
      const floorPid = Number(values['floor-pid'] ?? 0);
      if (values.floor !== undefined) {
        await measure('floor', values.floor, floorPid, connections, Number(values.seconds));
      }
    }
  } else {
    const timer = setInterval(() => process.stdout.write(`RSS ${rssMiB(pid)} MiB\n`), 30_000);
    await measure('soak', `${collect.http}/v1/traces`, pid, maxConnections, Number(values.soak)).then(count);
    clearInterval(timer);
  }
  await collect.end('SIGTERM');
  const [row] = await runSql(url, 'SELECT count(*)::integer AS rows FROM mcp_traces');
  process.stdout.write(`${stored} spans acknowledged, ${row?.rows} rows\n`);
  if (row?.rows !== stored) process.exitCode = 1;
} finally {
  await collect[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}

function count({ acknowledged_spans, refused_or_broken }: Load): void {
  stored += acknowledged_spans;
  if (refused_or_broken > 0) throw new Error(`${refused_or_broken} spans were refused`);
}

async function load(target: string, connections: number, seconds: number): Promise<Load> {
  const args = [
    '--url',
    target,
    '--connections',
    String(connections),
    '--spans',
    values.spans,
    '--kind',
    values.kind,
  ];
  const gzip = values.gzip ? ['--gzip'] : [];
  const { stdout } = await run(process.execPath, [LOAD, ...args, '--seconds', String(seconds), ...gzip]);
  return JSON.parse(stdout) as Load;
}

async function measure(
  name: string,
  target: string,
  of: number,
  connections: number,
  seconds: number,
): Promise<Load> {
  const before = cpuSeconds(of);
  const result = await load(target, connections, seconds);
  const cpu = ((cpuSeconds(of) - before) / result.acknowledged_spans) * 1e6;
  line([
    name,
    String(connections),
    String(result.spans_per_second),
    cpu.toFixed(1),
    result.ack_p50_ms.toFixed(1),
    result.ack_p99_ms.toFixed(1),
    String(result.told_to_come_again),
    rssMiB(of),
  ]);
  return result;
}

function cpuSeconds(of: number): number {
  if (of === 0) return Number.NaN;
  const text = readFileSync(`/proc/${of}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

function rssMiB(of: number): string {
  if (of === 0) return '-';
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${of}/status`, 'latin1')) ?? [];
  return (Number(kib) / 1024).toFixed(0);
}

function line(cells: readonly string[]): void {
  process.stdout.write(
    `${cells.map((cell, i) => (i === 0 ? cell.padEnd(9) : cell.padStart(13))).join('')}\n`,
  );
}
