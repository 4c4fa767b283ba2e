import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { errorMessage, isDoneWithin, ObservatoryError, packageFile } from '../../base/index.ts';
import {
  type Departure,
  type ProgramReport,
  programOutput,
  readExchange,
  readGolden,
} from '../../golden/index.ts';
import { isObject, type JsonObject, parseOrKeep, redactText } from '../../json/index.ts';
import { endTree, MARKER_VARIABLE, tieToParent } from '../../mcp-client/index.ts';
import {
  type Command,
  EndingSignal,
  EXIT_FAILED,
  EXIT_OK,
  numberFlag,
  print,
  readFlags,
  usageError,
} from '../command-line/index.ts';
import { type Checked, toJunit, toMarkdown, toSarif } from './check-reports.ts';
import { goldensIn } from './replay.ts';

const HELP = `Usage: mcp-observatory golden check FILE|FOLDER... [options] -- COMMAND [ARGUMENT...]

Runs a program once for each golden of a program, with models and MCP servers answered from it, and reports where the
program departs: prompt, tool definition, parameter, argument, order, added or missing requests, and the golden's bounds
on tokens, cost and time. The program needs no key, network or server. It finds the golden's path in
MCP_OBSERVATORY_GOLDEN.

  --live-tools       run the tools for real; what they return does not count
  --live-model       ask the model for real; only tool calls are compared
  --timeout SECONDS  end a run after this time (default: 300)
  --allow-expired    accept expired goldens
  --json             one JSON object per golden: {path, outcome, departures: [{kind, place, message}], total_tokens,
                     recorded_tokens, cost_usd}
  --junit FILE       also write JUnit XML
  --sarif FILE       also write SARIF 2.1.0
  --summary FILE     also append Markdown (default: GITHUB_STEP_SUMMARY)

Goldens of mcpGhost are skipped: 'golden replay' is for those.
Exit codes: 0 no program departs, 1 one does or no golden was checked, 2 bad usage.`;

/** How long what a program left behind, or one that was told to end, may take. */
const CLOSE_MS = 2_000;
const LEFT_BEHIND_MS = 500;
/** How much of the end of a program's stderr is shown. */
const STDERR_CHARS = 2_000;

/** `golden check`: a program against its goldens. */
export const goldenCheckCommand: Command = {
  help: HELP,
  async run(args, io) {
    const at = args.indexOf('--');
    const command = at === -1 ? [] : args.slice(at + 1);
    const options = {
      'live-tools': { type: 'boolean' },
      'live-model': { type: 'boolean' },
      timeout: { type: 'string', default: '300' },
      'allow-expired': { type: 'boolean' },
      json: { type: 'boolean' },
      junit: { type: 'string' },
      sarif: { type: 'string' },
      summary: { type: 'string' },
    } as const;
    const { values, positionals } = readFlags(at === -1 ? args : args.slice(0, at), options, true);
    if (positionals.length === 0) throw usageError('Expected a file or folder');
    if (command.length === 0) throw usageError('Expected a command after --');
    if (values['live-tools'] && values['live-model'])
      throw usageError(
        'Expected one of --live-tools and --live-model: with both, nothing is left to compare',
      );
    using ending = new EndingSignal();
    const stopped = new AbortController();
    void ending.wait().then(() => stopped.abort());
    const run: RunOptions = {
      command,
      signal: stopped.signal,
      env: {
        ...io.env,
        MCP_OBSERVATORY_LIVE: values['live-tools'] ? 'tools' : values['live-model'] ? 'model' : '',
      },
      timeoutMs: numberFlag('--timeout', values.timeout, { from: 1, to: 86_400 }) * 1_000,
      allowExpired: values['allow-expired'] === true,
    };
    const checked: Checked[] = [];
    for (const { path } of await goldensIn(positionals)) {
      const one = await checkOne(path, run);
      if (stopped.signal.aborted) return EXIT_FAILED;
      checked.push(one);
      if (values.json === true) print(io, one);
      else
        tell(
          one,
          (style, text) => io.stdout.paint(style, text),
          (line) => io.stdout.writeLine(line),
        );
    }
    if (values.junit !== undefined) await writeFile(values.junit, toJunit(checked));
    if (values.sarif !== undefined) await writeFile(values.sarif, toSarif(checked));
    const summary = values.summary ?? io.env.GITHUB_STEP_SUMMARY;
    if (summary !== undefined && summary !== '') await appendFile(summary, toMarkdown(checked));
    const tried = checked.filter(({ outcome }) => outcome !== 'skipped');
    if (tried.length === 0) io.stderr.writeLine('There is no golden of a program there');
    return tried.length > 0 && tried.every(({ outcome }) => outcome === 'same') ? EXIT_OK : EXIT_FAILED;
  },
};

interface RunOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  readonly allowExpired: boolean;
  /** Ends the run. */
  readonly signal: AbortSignal;
}

function tell(
  { path, outcome, departures, stderr, total_tokens: tokens, recorded_tokens: recorded }: Checked,
  paint: (style: 'red' | 'yellow', text: string) => string,
  write: (line: string) => void,
): void {
  const word = outcome === 'same' ? 'same' : paint(outcome === 'skipped' ? 'yellow' : 'red', outcome);
  const counts =
    tokens === null || tokens === recorded ? '' : ` (${tokens} of ${recorded ?? 'unknown'} tokens)`;
  write(`${word}  ${path}${counts}`);
  for (const { kind, message } of departures)
    for (const [index, line] of message.split('\n').entries())
      write(`    ${index === 0 ? `${kind}: ` : '  '}${line.trim()}`);
  if (departures.some(({ kind }) => kind === 'exit'))
    for (const line of stderr.trimEnd().split('\n')) write(`    | ${line}`);
}

async function checkOne(path: string, options: RunOptions): Promise<Checked> {
  const none = {
    path,
    departures: [],
    total_tokens: null,
    recorded_tokens: null,
    cost_usd: null,
    stderr: '',
  };
  let recorded: number | null;
  try {
    const golden = await readGolden(path, { allowExpired: options.allowExpired });
    if (
      golden.runner !== 'other' ||
      golden.provider_responses.length + (golden.mcp_cassette?.calls.length ?? 0) === 0
    )
      return { ...none, outcome: 'skipped' };
    const exchanges = golden.provider_responses;
    const output = programOutput(exchanges.map(readExchange), exchanges) as {
      execution_metadata: { token_usage: { total_tokens: number | null } };
    };
    recorded = output.execution_metadata.token_usage.total_tokens;
  } catch (error) {
    const code = ObservatoryError.isInstance(error) ? error.code : 'INTERNAL';
    const departures = [{ kind: 'golden' as const, place: null, message: `${code}: ${errorMessage(error)}` }];
    return { ...none, outcome: 'error', departures };
  }
  const folder = await mkdtemp(join(tmpdir(), 'golden-check-'));
  try {
    const ended = await runProgram(resolve(path), folder, options);
    return { ...none, recorded_tokens: recorded, ...toOutcome(ended, await readReports(folder)) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Ended = { readonly how: string | null; readonly stderr: string };

/** Runs a program and ends all that it has started. */
async function runProgram(
  golden: string,
  reports: string,
  { command, env, timeoutMs, signal }: RunOptions,
): Promise<Ended> {
  const [file = '', ...args] = command;
  const replay = `--import=${packageFile('dist/lib/replay.js').href}`;
  const marker = randomUUID();
  let stderr = '';
  const child = spawn(file, args, {
    // A group of its own, which can be ended as a whole.
    detached: process.platform !== 'win32',
    // What it prints is its own, and no part of what this command prints.
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...env,
      NODE_OPTIONS: [env.NODE_OPTIONS, replay].filter(Boolean).join(' '),
      MCP_OBSERVATORY_GOLDEN: golden,
      MCP_OBSERVATORY_REPORTS: reports,
      [MARKER_VARIABLE]: marker,
    },
  });
  const untie = child.pid === undefined ? undefined : tieToParent(child.pid, marker);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARS);
  });
  const exit = new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(`cannot be started: ${error.message}`));
    child.once('exit', (code, by) => resolve(code === 0 ? null : `ended with ${String(by ?? code)}`));
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, `was ended: a run may take ${timeoutMs / 1_000} s`);
    signal.addEventListener('abort', () => resolve('was ended'), { once: true });
  });
  const how = await Promise.race([exit, late]).finally(() => clearTimeout(timer));
  await endTree(
    child,
    exit.then(() => {}),
    marker,
    CLOSE_MS,
  );
  await untie?.();
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

function toOutcome({ how, stderr }: Ended, reports: readonly ProgramReport[]) {
  const departures: (Departure | Checked['departures'][number])[] = reports.flatMap(
    (report) => report.departures,
  );
  const [report, ...others] = reports;
  if (report === undefined)
    departures.push({
      kind: 'missing',
      place: null,
      message: 'The program asked nothing of what the golden holds',
    });
  if (others.length > 0)
    departures.push({
      kind: 'added',
      place: null,
      message: `${reports.length} processes asked what the golden holds; it is that of one`,
    });
  if (how !== null && (departures.length === 0 || report === undefined))
    departures.push({ kind: 'exit', place: null, message: `The program ${how}` });
  return {
    outcome: departures.length === 0 ? ('same' as const) : ('different' as const),
    departures,
    total_tokens: report?.total_tokens ?? null,
    cost_usd: report?.cost_usd ?? null,
    stderr,
  };
}
