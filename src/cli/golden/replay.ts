import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, ObservatoryError } from '../../base/index.ts';
import { type ReplayOptions, replayGolden } from '../../golden/index.ts';
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  print,
  readFlags,
  toExitCode,
  usageError,
} from '../command-line/index.ts';
import { openAuditLog, openGateIfGiven, POLICY_FLAGS, POLICY_FLAGS_HELP } from '../policy-options/index.ts';

const HELP = `Usage: mcp-observatory golden replay FILE|FOLDER... [options]

Reruns goldens from their files and compares the results, without a model, a key or the network.

  --live-tools       start the servers and run the tools for real; the model's answers still come from the file
  --allow-expired    accept expired goldens
${POLICY_FLAGS_HELP}
  --json             one JSON object per golden: {path, test_name, source, outcome, findings}

Goldens of other programs cannot be rerun from their file and are skipped.
Exit codes: 0 every replay matches its golden, 1 one does not or a file of a folder cannot be read, 2 bad usage or a
named file that cannot be read.`;

interface Outcome {
  readonly path: string;
  readonly test_name: string | null;
  readonly source: string | null;
  readonly outcome: 'same' | 'different' | 'error' | 'skipped';
  readonly findings: readonly { readonly place: string; readonly message: string }[];
  readonly error?: { readonly code: string; readonly message: string };
}

/** `mcp-observatory golden replay`: reruns goldens and compares the results. */
export const goldenReplayCommand: Command = {
  help: HELP,
  async run(args, io) {
    const options = {
      'live-tools': { type: 'boolean' },
      'allow-expired': { type: 'boolean' },
      json: { type: 'boolean' },
      ...POLICY_FLAGS,
    } as const;
    const { values, positionals } = readFlags(args, options, true);
    if (positionals.length === 0) throw usageError('Expected a file or folder');
    const liveTools = values['live-tools'] === true;
    // Recorded tools are called nowhere: only a flag puts a gate before them.
    using gate = openGateIfGiven(values, liveTools ? io.env : {});
    using audit = gate && liveTools ? openAuditLog(io.env) : undefined;
    const replay = {
      tools: liveTools ? 'live' : 'recorded',
      allowExpired: values['allow-expired'] === true,
      options: gate === undefined ? undefined : { gate, audit: audit ?? (false as const) },
    } as const;
    const { paint } = io.stdout;
    let exitCode = EXIT_OK;
    for (const { path, isNamed } of await goldensIn(positionals)) {
      const outcome = await replayOne(path, replay);
      if (outcome.outcome === 'different' || outcome.outcome === 'error') {
        exitCode = Math.max(exitCode, isNamed ? toExitCode(outcome.error?.code) : EXIT_FAILED);
      }
      if (values.json === true) {
        print(io, outcome);
        continue;
      }
      const word =
        outcome.outcome === 'same'
          ? 'same'
          : paint(outcome.outcome === 'skipped' ? 'yellow' : 'red', outcome.outcome);
      const told = [...outcome.findings.map(({ message }) => message), outcome.error?.message ?? ''];
      io.stdout.writeLine(`${word}  ${path}${outcome.source === null ? '' : ` (${outcome.source})`}`);
      for (const line of told.filter((text) => text !== '')) io.stdout.writeLine(`    ${line}`);
    }
    return exitCode;
  },
};

async function replayOne(path: string, options: ReplayOptions): Promise<Outcome> {
  try {
    const { golden, findings } = await replayGolden(path, options);
    return {
      path,
      test_name: golden.test_name,
      source: golden.source,
      outcome: findings.length === 0 ? 'same' : 'different',
      findings: findings.map(({ place, message }) => ({ place, message })),
    };
  } catch (error) {
    const code = ObservatoryError.isInstance(error) ? error.code : 'INTERNAL';
    // In a folder, a golden that cannot be rerun is not a failure.
    const outcome = code === 'INVALID_OPTION' ? 'skipped' : 'error';
    return {
      path,
      test_name: null,
      source: null,
      outcome,
      findings: [],
      error: { code, message: errorMessage(error) },
    };
  }
}

/** The given files, and the goldens in the given folders without shared tool definitions. */
export async function goldensIn(
  paths: readonly string[],
  mayBeNew = false,
): Promise<{ path: string; isNamed: boolean }[]> {
  const found: { path: string; isNamed: boolean }[] = [];
  for (const path of paths) {
    let isFolder = false;
    try {
      isFolder = (await stat(path)).isDirectory();
    } catch (cause) {
      if (!mayBeNew || !path.endsWith('.json'))
        throw usageError(`There is no file or folder '${path}'`, cause);
    }
    if (!isFolder) {
      found.push({ path, isNamed: true });
      continue;
    }
    const names = await readdir(path, { recursive: true });
    const goldens = names.filter((name) => name.endsWith('.json') && !name.endsWith('_definitions.json'));
    found.push(...goldens.sort().map((name) => ({ path: join(path, name), isNamed: false })));
  }
  return found;
}
