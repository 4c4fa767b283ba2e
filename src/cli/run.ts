import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import { createProvider, type RunOptions, runGhost, toWire } from '../orchestrator/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  RUN_FLAGS,
  RUN_FLAGS_HELP,
  readRunRequest,
  usageError,
} from './command-line/index.ts';
import { progressPrinter } from './run-progress.ts';

const HELP = `Usage: mcp-observatory run --provider NAME [--config FILE] [options] "prompt"

Lets a model work on a task with the tools of MCP servers, and prints its answer.

${RUN_FLAGS_HELP}
  --json                 print the whole result as JSON instead of the answer
  --quiet                no progress output, even on a terminal
  --help

The prompt is read from stdin when it is "-". The API key comes from OPENAI_API_KEY, ANTHROPIC_API_KEY or
GOOGLE_API_KEY, or from the same names in a .env file.

Exit codes: 0 the model gave an answer, 1 it did not, 2 bad usage.`;

/** `mcp-observatory run`: one orchestrated task from the shell. */
export const runCommand: Command = {
  name: 'run',
  summary: 'Let a model work on a task with the tools of MCP servers',
  help: HELP,
  run: async (args, io) => {
    const { options, json, quiet } = await readOptions(args, io);
    const interrupt = new AbortController();
    const onInterrupt = (): void => interrupt.abort(new ObservatoryError('INVALID_INPUT', 'Interrupted'));
    process.once('SIGINT', onInterrupt);
    try {
      const result = await runGhost({
        ...options,
        signal: interrupt.signal,
        onEvent: quiet ? undefined : progressPrinter(io),
      });
      const answer = typeof result.finalResult === 'string' ? result.finalResult : '';
      io.stdout.write(json ? `${JSON.stringify(toWire(result), null, 2)}\n` : `${answer}\n`);
      if (!result.success && !json) io.stderr.write(`${result.summary}\n${lastError(result.errors)}`);
      return result.success ? EXIT_OK : EXIT_FAILED;
    } finally {
      process.removeListener('SIGINT', onInterrupt);
    }
  },
};

function lastError(errors: readonly { readonly toolName: string; readonly error: string }[]): string {
  const last = errors.at(-1);
  return last === undefined ? '' : `Last error: ${last.toolName}: ${last.error}\n`;
}

interface RunUsage {
  readonly options: RunOptions;
  readonly json: boolean;
  readonly quiet: boolean;
}

async function readOptions(args: readonly string[], io: CommandIo): Promise<RunUsage> {
  const { values, positionals } = parse(args);
  const request = await readRunRequest(values, positionals, io, 'run');
  const provider = await createProvider(request.provider, {
    env: io.env,
    baseUrl: values['base-url'],
    api: values.api,
    model: values.model,
  });
  const isTerminal = (io.stderr as { isTTY?: boolean }).isTTY === true;
  return {
    options: { ...request.options, provider },
    json: values.json === true,
    quiet: values.quiet === true || !isTerminal,
  };
}

const FLAGS = { ...RUN_FLAGS, json: { type: 'boolean' }, quiet: { type: 'boolean' } } as const;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: FLAGS });
  } catch (error) {
    throw usageError('run', (error as Error).message);
  }
}
