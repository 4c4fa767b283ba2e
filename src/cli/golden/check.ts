import { existsSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { errorMessage, ObservatoryError } from '../../base/index.ts';
import {
  checkProgram,
  type Program,
  programOutput,
  readExchange,
  readGolden,
  updateProgram,
} from '../../golden/index.ts';
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
  --live-model       ask the model for real; what it says does not count
  --update           record anew each golden from which the program departs, or that is not there yet, with real models
                     and servers
  --twice            with --update, learn what is volatile (times, ids, ports, counters) from a second run, which is
                     answered from the first
  --timeout SECONDS  end a run after this time (default: 300)
  --allow-expired    accept expired goldens
  --json             one JSON object per golden: {path, outcome, departures: [{kind, place, message}], total_tokens,
                     recorded_tokens, cost_usd}
  --junit FILE       also write JUnit XML
  --sarif FILE       also write SARIF 2.1.0
  --summary FILE     also append Markdown (default: GITHUB_STEP_SUMMARY)

Goldens of mcpGhost are skipped: 'golden replay' is for those.
Exit codes: 0 no program departs, 1 one does or no golden was checked, 2 bad usage.`;

/** `golden check`: a program against its goldens. */
export const goldenCheckCommand: Command = {
  help: HELP,
  async run(args, io) {
    const at = args.indexOf('--');
    const command = at === -1 ? [] : args.slice(at + 1);
    const options = {
      'live-tools': { type: 'boolean' },
      'live-model': { type: 'boolean' },
      update: { type: 'boolean' },
      twice: { type: 'boolean' },
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
    const isUpdate = values.update === true;
    if (values.twice && !isUpdate) throw usageError('--twice is for --update');
    const program: Program = {
      command,
      signal: stopped.signal,
      env: {
        ...io.env,
        MCP_OBSERVATORY_LIVE: values['live-tools'] ? 'tools' : values['live-model'] ? 'model' : '',
      },
      timeoutMs: numberFlag('--timeout', values.timeout, { from: 1, to: 86_400 }) * 1_000,
    };
    const allowExpired = values['allow-expired'] === true;
    const checked: Checked[] = [];
    for (const { path } of await goldensIn(positionals, isUpdate)) {
      const was = existsSync(path) ? await checkOne(path, program, allowExpired) : undefined;
      const isOld = isUpdate && (was === undefined || was.outcome === 'different' || was.outcome === 'error');
      const one = isOld ? await updateOne(path, program, values.twice === true) : was;
      if (stopped.signal.aborted) return EXIT_FAILED;
      if (one === undefined) continue;
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
    return tried.length > 0 && tried.every(({ outcome }) => outcome === 'same' || outcome === 'updated')
      ? EXIT_OK
      : EXIT_FAILED;
  },
};

function tell(
  { path, outcome, departures, stderr, total_tokens: tokens, recorded_tokens: recorded }: Checked,
  paint: (style: 'red' | 'yellow', text: string) => string,
  write: (line: string) => void,
): void {
  const word =
    outcome === 'same' || outcome === 'updated'
      ? outcome
      : paint(outcome === 'skipped' ? 'yellow' : 'red', outcome);
  const counts =
    tokens === null || tokens === recorded ? '' : ` (${tokens} of ${recorded ?? 'unknown'} tokens)`;
  write(`${word}  ${path}${counts}`);
  for (const { kind, message } of departures)
    for (const [index, line] of message.split('\n').entries())
      write(`    ${index === 0 ? `${kind}: ` : '  '}${line.trim()}`);
  if (departures.some(({ kind }) => kind === 'exit'))
    for (const line of stderr.trimEnd().split('\n')) write(`    | ${line}`);
}

async function updateOne(path: string, program: Program, isTwice: boolean): Promise<Checked> {
  const problem = await updateProgram(path, program, isTwice);
  const one = await checkOne(path, program, true);
  if (problem === undefined) return one.outcome === 'same' ? { ...one, outcome: 'updated' } : one;
  return { ...one, outcome: 'error', departures: [{ kind: 'golden', place: null, message: problem }] };
}

async function checkOne(path: string, program: Program, allowExpired: boolean): Promise<Checked> {
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
    const golden = await readGolden(path, { allowExpired });
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
  const check = await checkProgram(path, program);
  return {
    ...none,
    recorded_tokens: recorded,
    outcome: check.departures.length === 0 ? 'same' : 'different',
    ...check,
  };
}
