/** Runs a program as a process of its own, with its models and servers recorded to a golden or answered from it. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { errorMessage, isDoneWithin, packageFile } from '../../base/index.ts';
import { isObject, type JsonObject, parseOrKeep, redactText } from '../../json/index.ts';
import { startTree } from '../../mcp-client/index.ts';
import { type Golden, readGolden, writeGolden } from '../file/index.ts';
import type { Departure, ProgramReport } from './replay-report.ts';

/** A program, and how it is run. */
export interface Program {
  /** The executable and its arguments. */
  readonly command: readonly string[];
  /** @defaultValue the environment of this process */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** @defaultValue the folder of this process */
  readonly cwd?: string | undefined;
  /** After this time a run is ended. @defaultValue 300,000 */
  readonly timeoutMs?: number | undefined;
  /** Ends a run. @defaultValue none */
  readonly signal?: AbortSignal | undefined;
}

export interface ProgramCheck {
  readonly departures: readonly Departure[];
  /** As of {@link ProgramReport}. */
  readonly total_tokens: number | null;
  readonly cost_usd: number | null;
  /** The end of what the program wrote to it. */
  readonly stderr: string;
}

const DEFAULT_TIMEOUT_MS = 300_000;
/** How long what a program left behind, or one that was told to end, may take. */
const CLOSE_MS = 2_000;
const LEFT_BEHIND_MS = 500;
/** How much of the end of a program's stderr is kept. */
const STDERR_CHARS = 2_000;

/** Runs a program answered from its golden, and tells where it departs. */
export async function checkProgram(path: string, program: Program): Promise<ProgramCheck> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-check-'));
  try {
    const ended = await runProgram('replay', path, program, { MCP_OBSERVATORY_REPORTS: folder });
    return toCheck(ended, await readReports(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a program for real and records it. The bounds and matchers that people gave to an earlier golden stay.
 * @param isTwice run it a second time, answered from the recording: what it then sends otherwise is volatile.
 * @returns why the golden is not replaced; undefined if it is
 */
export async function updateProgram(
  path: string,
  program: Program,
  isTwice: boolean,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-update-'));
  try {
    // A program that fails leaves the earlier golden as it was.
    const made = join(folder, basename(path));
    const { how, stderr } = await runProgram('record', made, program, {});
    if (how !== null) return `The program ${how}\n${stderr}`;
    const live = { MCP_OBSERVATORY_LEARN: '1', MCP_OBSERVATORY_LIVE: '' };
    if (isTwice) await runProgram('replay', made, program, live);
    const golden = await readGolden(made);
    // It says why it is not whole.
    if (golden.description !== '') return golden.description;
    await writeGolden(path, mergeRules(await readEarlier(path), golden));
    return undefined;
  } catch (error) {
    return errorMessage(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readEarlier(path: string): Promise<Golden | undefined> {
  try {
    return await readGolden(path, { allowExpired: true, allowEdited: true });
  } catch {
    return undefined;
  }
}

function mergeRules(earlier: Golden | undefined, golden: Golden): Golden {
  if (earlier === undefined) return golden;
  const given = Object.entries(earlier.comparison.matchers).filter(
    ([, matcher]) => typeof matcher !== 'object' || !('volatile' in matcher),
  );
  const matchers = { ...Object.fromEntries(given), ...golden.comparison.matchers };
  return { ...golden, comparison: { ...earlier.comparison, matchers } };
}

interface Ended {
  /** Null for the exit code 0. */
  readonly how: string | null;
  readonly stderr: string;
}

/** Runs a program and ends all that it has started. */
async function runProgram(
  way: 'record' | 'replay',
  golden: string,
  { command, env = process.env, cwd, timeoutMs = DEFAULT_TIMEOUT_MS, signal }: Program,
  settings: Readonly<Record<string, string>>,
): Promise<Ended> {
  const [file = '', ...args] = command;
  const hook = `--import=${packageFile(`dist/lib/${way}.js`).href}`;
  let stderr = '';
  const { child, end } = startTree((own) =>
    spawn(file, args, {
      detached: own.detached,
      // What it prints is its own.
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd,
      env: {
        ...env,
        NODE_OPTIONS: [env.NODE_OPTIONS, hook].filter(Boolean).join(' '),
        MCP_OBSERVATORY_GOLDEN: resolve(golden),
        ...settings,
        ...own.env,
      },
    }),
  );
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARS);
  });
  const exit = new Promise<string | null>((done) => {
    child.once('error', (error) => done(`cannot be started: ${error.message}`));
    child.once('exit', (code, by) => done(code === 0 ? null : `ended with ${String(by ?? code)}`));
  });
  const closed = new Promise<void>((done) => child.once('close', () => done()));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((done) => {
    timer = setTimeout(done, timeoutMs, `was ended: a run may take ${timeoutMs / 1_000} s`);
    signal?.addEventListener('abort', () => done('was ended'), { once: true });
  });
  const how = await Promise.race([exit, late]).finally(() => clearTimeout(timer));
  await end(exit, CLOSE_MS);
  // A process that left everything behind may hold its stderr.
  await isDoneWithin(LEFT_BEHIND_MS, closed);
  child.stderr.destroy();
  return { how, stderr: redactText(stderr) };
}

async function readReports(folder: string): Promise<ProgramReport[]> {
  const names = await readdir(folder);
  const reports = await Promise.all(
    names.map(async (name) => parseOrKeep(await readFile(join(folder, name), 'utf8').catch(() => ''))),
  );
  // A process that was killed while it wrote its report has none.
  return reports.filter(
    (report): report is ProgramReport & JsonObject =>
      isObject(report) && Number(report.asked) > 0 && Array.isArray(report.departures),
  );
}

function toCheck({ how, stderr }: Ended, reports: readonly ProgramReport[]): ProgramCheck {
  const departures: Departure[] = reports.flatMap((report) => report.departures);
  const [report, ...others] = reports;
  const depart = (kind: Departure['kind'], message: string): void => {
    departures.push({ kind, place: null, message });
  };
  if (report === undefined) depart('missing', 'The program asked nothing of what the golden holds');
  if (others.length > 0)
    depart('added', `${reports.length} processes asked what the golden holds; it is that of one`);
  if (how !== null && (departures.length === 0 || report === undefined)) depart('exit', `The program ${how}`);
  return {
    departures,
    total_tokens: report?.total_tokens ?? null,
    cost_usd: report?.cost_usd ?? null,
    stderr,
  };
}
