/**
 * What loading costs, side by side in one run.
 *
 *   npm run build && node dist/bench/startup.js [rounds]
 *
 * Three comparisons: the import of each entry beside that of `@opentelemetry/sdk-trace-node`, timed around the import;
 * a program that does nothing under `--import mcp-observatory/register` beside one under the auto-instrumentations of
 * OpenTelemetry, timed as a whole and with its loader thread; and the same with `OTEL_SDK_DISABLED` beside bare Node. Each is a process of its own, the rounds of all are
 * interleaved, and a local server takes the exports, so that nobody waits for a connection. The figure is the median,
 * in milliseconds, with the first and third quartile; compare within one run only.
 *
 * The auto-instrumentations are installed on demand in `bench/peers`, which is not part of the repository.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = join(ROOT, 'bench/peers/startup');
// The last version for Node 20.
const AUTO = { '@opentelemetry/api': '1.9.1', '@opentelemetry/auto-instrumentations-node': '0.81.0' };
const ROUNDS = Number(process.argv[2] ?? 15);

const SDK = '@opentelemetry/sdk-trace-node';
const NOTHING = 'no --import';
const DISABLED = 'register, disabled';
const AUTO_REGISTER = '@opentelemetry/auto-instrumentations-node/register';

/** Prints how long an import took, then the processor time of it. */
const TIME_IMPORT = `
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  await import(process.argv[1]);
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ wall, cpu: (user + system) / 1000 }));
  process.exit();`;

/** Prints, as the process ends, the processor time of all of its threads. */
const TIME_PROCESS = `
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ wall: process.uptime() * 1000, cpu: (user + system) / 1000 }));
  });`;

interface Times {
  readonly wall: number;
  readonly cpu: number;
}

async function main(): Promise<void> {
  installPeers();
  const sink = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
  const env = {
    ...process.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(sink.address() as AddressInfo).port}`,
    // Its detectors ask the metadata services of clouds, which are not there.
    OTEL_NODE_RESOURCE_DETECTORS: 'env,host,os',
  };
  const entries = [
    'mcp-observatory',
    ...['policy', 'orchestrator', 'golden', 'execution', 'collector'].map(
      (entry) => `mcp-observatory/${entry}`,
    ),
  ];
  await compare('import', [SDK, ...entries], SDK, (name) => timesOf([TIME_IMPORT, name], env, ROOT));
  const registers = [AUTO_REGISTER, 'mcp-observatory/register', NOTHING];
  await compare('node --import', registers, AUTO_REGISTER, (name) => {
    const preload = name === NOTHING ? [] : ['--import', name];
    return timesOf([TIME_PROCESS], env, name === AUTO_REGISTER ? PEERS : ROOT, preload);
  });
  await compare('node --import, with OTEL_SDK_DISABLED', [NOTHING, DISABLED], NOTHING, (name) => {
    const preload = name === NOTHING ? [] : ['--import', 'mcp-observatory/register'];
    return timesOf([TIME_PROCESS], { ...env, OTEL_SDK_DISABLED: 'true' }, ROOT, preload);
  });
  sink.closeAllConnections();
  sink.close();
}

/** Prints a table of contenders with the ratio of each to `base`. */
async function compare(
  title: string,
  names: readonly string[],
  base: string,
  measure: (name: string) => Promise<Times>,
): Promise<void> {
  const times = new Map<string, Times[]>(names.map((name) => [name, []]));
  // The first round fills the caches of the file system.
  for (const name of names) await measure(name);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of names) times.get(name)?.push(await measure(name));
  }
  const quartiles = (name: string, kind: keyof Times): [number, number, number] => {
    const sorted = (times.get(name) ?? []).map((each) => each[kind]).sort((a, b) => a - b);
    const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
    return [at(0.25), at(0.5), at(0.75)];
  };
  const shown = ([low, median, high]: [number, number, number]): string =>
    `${median.toFixed(0)} (${low.toFixed(0)}-${high.toFixed(0)})`;
  const ratio = (name: string, kind: keyof Times): string =>
    (quartiles(name, kind)[1] / quartiles(base, kind)[1]).toFixed(2);
  console.log(`${title}: ${ROUNDS} rounds, ratios to ${base}`);
  console.table(
    names.map((name) => ({
      name,
      'CPU ms': shown(quartiles(name, 'cpu')),
      'CPU ratio': ratio(name, 'cpu'),
      'wall ms': shown(quartiles(name, 'wall')),
      'wall ratio': ratio(name, 'wall'),
    })),
  );
}

/** Runs a program given as text from `cwd`, so that it finds the packages installed there. */
async function timesOf(
  [program, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  preload: readonly string[] = [],
): Promise<Times> {
  const command = [...preload, '--input-type=module', '--eval', program as string, '--', ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd, env });
  return JSON.parse(stdout.trim().split('\n').at(-1) as string) as Times;
}

function installPeers(): void {
  if (existsSync(join(PEERS, 'node_modules'))) return;
  mkdirSync(PEERS, { recursive: true });
  writeFileSync(join(PEERS, 'package.json'), JSON.stringify({ private: true, dependencies: AUTO }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: PEERS, stdio: 'inherit' });
}

await main();
