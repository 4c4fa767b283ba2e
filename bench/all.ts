/**
 * Runs every bench once and writes `bench/RESULTS.md`: a table of the figures that have an aim or are quoted elsewhere,
 * with the machine and the versions, and below it what each bench printed.
 *
 *   npm run bench:all                    about 30 minutes on two quiet cores; the first time the peers are fetched and the Collector is built
 *   npm run bench:all -- --quick         fewer rounds and rows, about 12 minutes
 *   npm run bench:all -- --only NAME     the benches with NAME in their name, printed; the file is not written
 *   npm run bench:all -- --skip NAME     all but those with NAME in their name; may be given several times
 *
 * A bench that takes longer than its limit, fails, or prints no figure where the summary looks for one, is named and does
 * not stop the others. Not run: `soak` and `evidence`, which measure no speed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BENCHES, type Bench } from './benches.ts';
import { type Figure, Table, verdict } from './figures.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    skip: { type: 'string', multiple: true, default: [] },
  },
});

interface Run {
  readonly bench: Bench;
  readonly command: string;
  readonly output: string;
  readonly seconds: number;
  /** Why its figures are not there. */
  readonly problem: string | undefined;
}

let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    if (running !== undefined) endGroup(running);
    process.exit(1);
  });
}

const loadBefore = loadavg()[0] ?? 0;
const runs: Run[] = [];
for (const bench of BENCHES) {
  if (!bench.name.includes(values.only ?? '')) continue;
  if (values.skip.some((name) => bench.name.includes(name))) continue;
  const done = await run(bench);
  runs.push(done);
  process.stderr.write(
    `${bench.name}: ${done.seconds.toFixed(0)} s${done.problem === undefined ? '' : `, ${done.problem}`}\n`,
  );
  // After each bench: who interrupts it keeps what is there.
  if (values.only === undefined) writeFileSync(join(ROOT, 'bench/RESULTS.md'), report());
}
if (values.only !== undefined) process.stdout.write(report());
process.exitCode = runs.some(({ problem }) => problem !== undefined) ? 1 : 0;

async function run(bench: Bench): Promise<Run> {
  const { args = [], env = {} } = values.quick ? { ...bench.full, ...bench.quick } : bench.full;
  const command = [
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    `node dist/bench/${bench.name}.js`,
    ...args,
  ].join(' ');
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(ROOT, 'dist/bench', `${bench.name}.js`), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: contenders and servers end with it.
    detached: true,
  });
  running = child;
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors = (errors + chunk).slice(-2_000);
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child);
  }, bench.limitSeconds * 1_000);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  running = undefined;
  const ended = isLate
    ? `ended after ${bench.limitSeconds} s`
    : code === 0
      ? unread(bench, output)
      : firstLine(errors);
  return { bench, command, output, seconds: (performance.now() - startedAt) / 1_000, problem: ended };
}

/** A figure that is not where its reader looks, although the bench ended well. */
function unread(bench: Bench, output: string): string | undefined {
  const figure = bench.figures(new Table(output)).find(({ median }) => !/\d/.test(median));
  return figure === undefined ? undefined : `printed no figure of '${figure.what}'`;
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch {
    // It has ended.
  }
}

function firstLine(errors: string): string {
  return /^.*Error:.*$/m.exec(errors)?.[0].trim() ?? 'failed';
}

function report(): string {
  const figures = runs.flatMap(({ bench, output }) =>
    bench.figures(new Table(output)).map((figure) => [bench.name, figure] as const),
  );
  const line = ([name, figure]: readonly [string, Figure]): string =>
    `| \`${name}\` | ${figure.what} | ${figure.median} | ${figure.spread} | ${figure.aim ?? ''} | ${verdict(figure)} |`;
  const isLoaded = loadBefore > 0.5 * cpus().length;
  const failed = runs.filter(({ problem }) => problem !== undefined);
  return [
    '# Results of the benches',
    '',
    `Written by \`npm run bench:all${values.quick ? ' -- --quick' : ''}\`; do not edit. Ratios are of figures taken side by side in one run. Compare nothing else.`,
    '',
    ...machine().map(([name, value]) => `- ${name}: ${value}`),
    `- Load average before the first bench: ${loadBefore.toFixed(1)}${isLoaded ? '. **The machine was loaded: rates and latencies are worse than on a quiet one.**' : ''}`,
    ...failed.map(({ bench, problem }) => `- \`${bench.name}\`: ${problem}`),
    '',
    '| bench | what | median | spread | aim | held |',
    '|---|---|---|---|---|---|',
    ...figures.map(line),
    '',
    '## What each bench printed',
    '',
    ...runs.flatMap(({ bench, command, output, seconds }) => [
      `### ${bench.name}`,
      '',
      `${bench.about} ${seconds.toFixed(0)} s.`,
      '',
      '```',
      `$ ${command}`,
      withoutPlaces(output.trimEnd()),
      '```',
      '',
    ]),
  ].join('\n');
}

/** Folders and names of machines say nothing to others. */
function withoutPlaces(output: string): string {
  return output.replaceAll(ROOT, './');
}

function machine(): readonly (readonly [string, string])[] {
  const installed = (name: string): string =>
    (
      JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
        version: string;
      }
    ).version;
  const [first] = cpus();
  const packages = ['@opentelemetry/sdk-trace-node', '@modelcontextprotocol/sdk', 'openai', 'pg'];
  return [
    ['Date', new Date().toISOString().slice(0, 10)],
    [
      'Machine',
      `${first?.model.trim()}, ${cpus().length} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release().split('-')[0]}`,
    ],
    ['Node', process.version],
    ['Packages', packages.map((name) => `${name} ${installed(name)}`).join(', ')],
  ];
}
