import { ObservatoryError, snakeKeys } from '../base/index.ts';
import { mcpGhost } from '../golden/index.ts';
import {
  createProvider,
  type EventListener,
  type GhostEvent,
  type GhostResult,
  type RunOptions,
  toWire,
} from '../orchestrator/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_FAILED,
  EXIT_INTERRUPTED,
  EXIT_OK,
  findKey,
  joinUp,
  RUN_FLAGS,
  RUN_FLAGS_HELP,
  readFlags,
  readRunRequest,
  wordFlag,
} from './command-line/index.ts';
import {
  openAuditLog,
  openGateIfGiven,
  POLICY_FLAGS,
  POLICY_FLAGS_HELP,
  tellBarred,
} from './policy-options/index.ts';
import type { Paint } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory run --provider NAME [--config FILE] [options] "prompt"

Lets a model work on a task with the tools of MCP servers, and prints its answer.

${RUN_FLAGS_HELP}
${POLICY_FLAGS_HELP}
  --golden FILE          also write the run as a golden, as 'golden record' does
  --json                 print the whole result as JSON instead of the answer
  --events json          write what happens to stderr as it happens, one JSON object per line
  --quiet                no progress output, even on a terminal
  --help

The prompt is read from stdin when it is "-". The API key comes from OPENAI_API_KEY, ANTHROPIC_API_KEY or
GOOGLE_API_KEY, or from the same names in a .env file. With a policy every call goes through the gate, and the audit
trail goes to SAFE_TRACE_DIR, else .mcp-observatory/traces.

Beside 'up' over the database of this folder, or at its usual port, spans go there, calls that need approval wait up
to a minute for its page, and sums, sequences and effects are kept there, unless MCP_OBSERVATORY_DATABASE_URL is set.

Ctrl-C ends the run and prints the result so far; a second one ends the command.

Exit codes: 0 the model gave an answer, 1 it did not, 2 bad usage or a file that cannot be read, 130 interrupted.`;

/** `mcp-observatory run`: one orchestrated task from the shell. */
export const runCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { options, json, policy, golden, onEvent } = await readOptions(args, io);
    await using up = await joinUp(io);
    using gate = openGateIfGiven(policy, io.env, { approvals: up?.approvals });
    using audit = gate && openAuditLog(io.env);
    const interrupt = new AbortController();
    const { signal } = interrupt;
    const onInterrupt = (): void => interrupt.abort(new ObservatoryError('INVALID_INPUT', 'Interrupted'));
    process.once('SIGINT', onInterrupt);
    try {
      const result = await mcpGhost({ ...options, gate, audit, signal, onEvent, golden });
      const answer = typeof result.finalResult === 'string' ? result.finalResult : '';
      io.stdout.write(json ? `${JSON.stringify(toWire(result), null, 2)}\n` : `${answer}\n`);
      if (!result.success && !json) tellFailure(result, io);
      if (gate !== undefined) tellBarred(gate, io);
      const { auditProblem } = result.executionMetadata;
      if (auditProblem !== undefined) io.stderr.writeLine(`Not on record: ${auditProblem}`);
      if (!signal.aborted) return result.success ? EXIT_OK : EXIT_FAILED;
      if (golden !== undefined) io.stderr.writeLine(`${golden.path} is not written: the run was interrupted`);
      return EXIT_INTERRUPTED;
    } finally {
      process.removeListener('SIGINT', onInterrupt);
    }
  },
};

function tellFailure({ summary, errors }: GhostResult, { stderr }: CommandIo): void {
  const last = errors.at(-1);
  stderr.writeLine(summary);
  if (last === undefined) return;
  // Errors of providers name them already.
  const { toolName, error } = last;
  stderr.writeLine(`Last error: ${error.startsWith(`${toolName}: `) ? '' : `${toolName}: `}${error}`);
}

async function readOptions(args: readonly string[], io: CommandIo) {
  const { values, positionals } = readFlags(args, FLAGS, true);
  const request = await readRunRequest(values, positionals, io);
  const reach = { baseUrl: values['base-url'], api: values.api };
  const { golden: path } = values;
  const events = wordFlag('--events', ['json'], values.events);
  // A run is recorded at the wire, for which the provider has to be made there.
  const options: RunOptions =
    path === undefined
      ? {
          ...request.options,
          provider: await createProvider(request.provider, { ...reach, env: io.env, model: values.model }),
        }
      : { ...request.options, ...reach, provider: request.provider, apiKey: findKey(request.provider, io) };
  return {
    options,
    policy: values,
    json: values.json === true,
    golden: path === undefined ? undefined : ({ mode: 'record', path } as const),
    onEvent: listenerFor(events, values.quiet === true, io),
  };
}

function listenerFor(events: 'json' | undefined, quiet: boolean, io: CommandIo): EventListener | undefined {
  if (events === 'json') return (event) => io.stderr.writeLine(JSON.stringify(snakeKeys(event)));
  return quiet || !io.stderr.isTerminal ? undefined : progressPrinter(io);
}

const FLAGS = {
  ...RUN_FLAGS,
  ...POLICY_FLAGS,
  golden: { type: 'string' },
  events: { type: 'string' },
  json: { type: 'boolean' },
  quiet: { type: 'boolean' },
} as const;

const MAX_ARGUMENT_CHARS = 80;

/** Prints the progress of a run to stderr, one line per event. */
function progressPrinter({ stderr }: CommandIo): EventListener {
  return (event) => {
    const line = lineFor(event, stderr.paint);
    if (line === undefined) return;
    if (event.type === 'plan') stderr.write(`${line.replaceAll('\n', '\n  ')}\n`);
    else stderr.writeLine(line);
  };
}

function lineFor(event: GhostEvent, paint: Paint): string | undefined {
  switch (event.type) {
    case 'run_started':
      return paint('dim', `${event.provider} ${event.model}`);
    case 'server_connected':
      return paint('dim', `${event.server}: ${event.tools} tools`);
    case 'server_failed':
      return paint('red', `${event.server}: ${event.error}`);
    case 'tool_quarantined':
      return paint('yellow', `${event.toolName} is left out: ${event.reason}`);
    case 'plan':
      return event.text;
    case 'tool_started':
      return `${event.toolName} ${paint('dim', short(event.arguments))}`;
    case 'tool_progress':
      return paint('dim', `  ${event.progress}${event.total === undefined ? '' : ` of ${event.total}`}`);
    case 'tool_finished':
      return event.success
        ? paint('green', `  done in ${event.executionTime.toFixed(2)} s`)
        : paint('red', `  failed: ${event.error ?? ''}`);
    case 'backtrack':
      return paint('yellow', `  trying: ${event.strategy.replaceAll('_', ' ')}`);
    case 'model_retry':
      return paint('yellow', `model: ${event.error}; again in ${(event.delayMs / 1000).toFixed(1)} s`);
    case 'breaker':
      return paint('yellow', `${event.server}.${event.tool}: breaker ${event.state.replace('_', ' ')}`);
    case 'loop':
      return paint('yellow', `${event.toolName}: the same call again and again (${event.decision})`);
    case 'compaction':
      return paint('dim', `summarized: ${event.messagesBefore} messages are now ${event.messagesAfter}`);
    case 'limit_reached':
      return paint('red', `stopped: ${event.message}`);
    default:
      return undefined;
  }
}

function short(args: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(args);
  return text.length > MAX_ARGUMENT_CHARS ? `${text.slice(0, MAX_ARGUMENT_CHARS)}...` : text;
}
