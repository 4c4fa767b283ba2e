import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import { replayGolden } from '../../golden/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK, usageError } from '../command-line/index.ts';
import { paintFor } from '../terminal/index.ts';

const NAME = 'golden replay';

const HELP = `Usage: mcp-observatory golden replay FILE|FOLDER... [options]

Reruns goldens from their files and compares the results, without a model, a key or the network.

  --live-tools       start the servers and run the tools for real; the model's answers still come from the file
  --allow-expired    accept expired goldens
  --json             one JSON object per golden: {path, test_name, source, outcome, findings}

Goldens of other programs cannot be rerun from their file and are skipped.
Exit codes: 0 every replay matches its golden, 1 one does not or could not be read, 2 bad usage.`;

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
  name: 'replay',
  summary: 'run goldens again from their files and compare',
  help: HELP,
  async run(args, io) {
    const { values, positionals } = parse(args);
    if (positionals.length === 0) throw usageError(NAME, 'Expected a file or folder');
    const paint = paintFor(io.stdout, io.env);
    let failed = false;
    for (const path of await goldensIn(positionals)) {
      const outcome = await replayOne(path, values['live-tools'] === true, values['allow-expired'] === true);
      failed ||= outcome.outcome === 'different' || outcome.outcome === 'error';
      if (values.json === true) {
        io.stdout.write(`${JSON.stringify(outcome)}\n`);
        continue;
      }
      const word =
        outcome.outcome === 'same'
          ? 'same'
          : paint(outcome.outcome === 'skipped' ? 'yellow' : 'red', outcome.outcome);
      const lines = [...outcome.findings.map(({ message }) => message), outcome.error?.message ?? ''];
      const told = lines.filter((line) => line !== '').map((line) => `    ${line}\n`);
      io.stdout.write(
        `${word}  ${path}${outcome.source === null ? '' : ` (${outcome.source})`}\n${told.join('')}`,
      );
    }
    return failed ? EXIT_FAILED : EXIT_OK;
  },
};

async function replayOne(path: string, liveTools: boolean, allowExpired: boolean): Promise<Outcome> {
  try {
    const { golden, findings } = await replayGolden(path, {
      tools: liveTools ? 'live' : 'recorded',
      allowExpired,
    });
    return {
      path,
      test_name: golden.test_name,
      source: golden.source,
      outcome: findings.length === 0 ? 'same' : 'different',
      findings: findings.map(({ place, message }) => ({ place, message })),
    };
  } catch (error) {
    const code = ObservatoryError.isInstance(error) ? error.code : 'INTERNAL';
    const message = error instanceof Error ? error.message : String(error);
    // In a folder, a golden that cannot be rerun is not a failure.
    const outcome = code === 'INVALID_OPTION' ? 'skipped' : 'error';
    return { path, test_name: null, source: null, outcome, findings: [], error: { code, message } };
  }
}

/** The given files, and the goldens in the given folders without shared tool definitions. */
async function goldensIn(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    let isFolder: boolean;
    try {
      isFolder = (await stat(path)).isDirectory();
    } catch (cause) {
      throw new ObservatoryError('INVALID_OPTION', `There is no file or folder '${path}'`, { cause });
    }
    if (!isFolder) {
      found.push(path);
      continue;
    }
    const names = await readdir(path, { recursive: true });
    const goldens = names.filter((name) => name.endsWith('.json') && !name.endsWith('_definitions.json'));
    found.push(...goldens.sort().map((name) => join(path, name)));
  }
  return found;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'live-tools': { type: 'boolean' },
        'allow-expired': { type: 'boolean' },
        json: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw usageError(NAME, (error as Error).message);
  }
}
