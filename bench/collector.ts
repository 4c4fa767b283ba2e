/**
 * The collector under load: spans/s, CPU per span, the time to the acknowledgment and memory, with 1 to 4 connections,
 * into a throwaway PostgreSQL with durable settings. Afterwards every acknowledged span must be a row.
 *
 *   node dist/bench/collector.js [--kind content|chat|http|mix] [--seconds 4] [--rounds 3] [--spans 512] [--gzip] [--spool] [--max-connections 4]
 *     [--floor URL --floor-pid PID]   the same requests to another receiver, side by side
 *     [--soak SECONDS]                one run with all connections that reports memory every 30 s; 600 for ten minutes
 *
 * Figures are medians of the rounds, with their range. Sender, collector and database share the machine, so compare the
 * ratios, not the rates.
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
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
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
    const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
    const floorPid = Number(values['floor-pid'] ?? 0);
    for (let connections = 1; connections <= maxConnections; connections += 1) {
      const ours: Measure[] = [];
      const floor: Measure[] = [];
      for (let round = 0; round < rounds; round += 1) {
        ours.push(await measure(`${collect.http}/v1/traces`, pid, connections, seconds));
        count(ours.at(-1)?.load);
        if (values.floor !== undefined) {
          floor.push(await measure(values.floor, floorPid, connections, seconds));
        }
      }
      tell('collect', connections, ours, pid);
      if (floor.length > 0) tell('floor', connections, floor, floorPid);
    }
  } else {
    const timer = setInterval(() => process.stdout.write(`RSS ${rssMiB(pid)} MiB\n`), 30_000);
    const soak = await measure(`${collect.http}/v1/traces`, pid, maxConnections, Number(values.soak));
    count(soak.load);
    tell('soak', maxConnections, [soak], pid);
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

function count(of: Load | undefined): void {
  const { acknowledged_spans = 0, refused_or_broken = 0 } = of ?? {};
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

interface Measure {
  readonly load: Load;
  /** CPU time of the receiver, in microseconds per span. */
  readonly cpu: number;
}

async function measure(target: string, of: number, connections: number, seconds: number): Promise<Measure> {
  const before = cpuSeconds(of);
  const result = await load(target, connections, seconds);
  return { load: result, cpu: ((cpuSeconds(of) - before) / result.acknowledged_spans) * 1e6 };
}

function tell(name: string, connections: number, all: readonly Measure[], of: number): void {
  const spread = (figure: (measure: Measure) => number, digits: number): string => {
    const sorted = all.map(figure).sort((a, b) => a - b);
    const [low = 0, middle = 0, high = 0] = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)];
    return `${middle.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`;
  };
  line([
    name,
    String(connections),
    spread((one) => one.load.spans_per_second, 0),
    spread((one) => one.cpu, 1),
    spread((one) => one.load.ack_p50_ms, 1),
    spread((one) => one.load.ack_p99_ms, 1),
    String(all.reduce((sum, one) => sum + one.load.told_to_come_again, 0)),
    rssMiB(of),
  ]);
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
    `${cells.map((cell, i) => (i === 0 ? cell.padEnd(9) : cell.padStart(i < 2 || i > 5 ? 12 : 24))).join('')}\n`,
  );
}
