import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../errors.ts';
import { createProvider, type GhostOptions, mcpGhost, toWire } from '../orchestrator/index.ts';
import { type Command, type CommandIo, EXIT_FAILED, EXIT_OK } from './command.ts';
import { progressPrinter } from './run-progress.ts';

const HELP = `Usage: mcp-observatory run --provider NAME [--config FILE] [options] "prompt"

Lets a model work on a task with the tools of MCP servers, and prints its answer.

  --provider NAME        openai, anthropic or gemini
  --config FILE          servers, in the Claude Desktop form (default: server_config.json)
  --model NAME           default: the provider's default model
  --system TEXT          system prompt
  --max-iterations N     most model turns that may call tools (default: 10)
  --timeout SECONDS      longest silence of a tool (default: 30)
  --max-tokens N         stop when the run has used so many tokens
  --max-cost USD         stop when the run has cost so much
  --plan                 make a plan before the first call
  --no-backtracking      do not recover from failed calls
  --namespace NAME       name of the run in telemetry (default: mcp_ghost)
  --base-url URL         another address of the provider's API
  --json                 print the whole result as JSON instead of the answer
  --quiet                no progress, even on a terminal
  --help

The prompt is read from stdin when it is "-". The API key comes from OPENAI_API_KEY, ANTHROPIC_API_KEY or
GOOGLE_API_KEY, or from the same names in a .env file.

Exit codes: 0 the model finished with an answer, 1 it did not, 2 bad usage.`;

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
      const result = await mcpGhost({
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
  readonly options: GhostOptions;
  readonly json: boolean;
  readonly quiet: boolean;
}

async function readOptions(args: readonly string[], io: CommandIo): Promise<RunUsage> {
  const { values, positionals } = parse(args);
  const [prompt, ...more] = positionals;
  if (prompt === undefined || more.length > 0) {
    throw usage(`Expected one prompt, got ${positionals.length}; put it in quotes`);
  }
  if (values.provider === undefined) throw usage('Expected --provider openai, anthropic or gemini');
  const provider = await createProvider(values.provider, {
    env: io.env,
    baseUrl: values['base-url'],
    model: values.model,
  });
  const options: GhostOptions = {
    serverConfig: values.config ?? 'server_config.json',
    systemPrompt: values.system ?? '',
    provider,
    userPrompt: prompt === '-' ? await text(io.stdin) : prompt,
    model: values.model,
    namespace: values.namespace,
    timeout: numberFlag('timeout', values.timeout),
    maxIterations: numberFlag('max-iterations', values['max-iterations']),
    maxTokens: numberFlag('max-tokens', values['max-tokens']),
    maxCostUsd: numberFlag('max-cost', values['max-cost']),
    enableBacktracking: values['no-backtracking'] !== true,
    plan: values.plan,
  };
  const isTerminal = (io.stderr as { isTTY?: boolean }).isTTY === true;
  return { options, json: values.json === true, quiet: values.quiet === true || !isTerminal };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        provider: { type: 'string' },
        config: { type: 'string' },
        model: { type: 'string' },
        system: { type: 'string' },
        'max-iterations': { type: 'string' },
        timeout: { type: 'string' },
        'max-tokens': { type: 'string' },
        'max-cost': { type: 'string' },
        plan: { type: 'boolean' },
        'no-backtracking': { type: 'boolean' },
        namespace: { type: 'string' },
        'base-url': { type: 'string' },
        json: { type: 'boolean' },
        quiet: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw usage((error as Error).message);
  }
}

function numberFlag(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) {
    throw usage(`Expected --${name} to be a number, got ${JSON.stringify(value)}`);
  }
  return number;
}

function usage(message: string): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', `${message}. See: mcp-observatory run --help`);
}
