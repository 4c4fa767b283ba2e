import { errorMessage, ObservatoryError, VERSION } from '../base/index.ts';
import { type Command, type CommandIo, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command-line/index.ts';

/** Commands by name, loaded on demand so that `score` does not load Postgres. */
const COMMANDS: Readonly<Record<string, { summary: string; load: () => Promise<Command> }>> = {
  demo: {
    summary: 'the whole path on your machine: real MCP servers, model calls, SQL',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  score: {
    summary: 'hashes, cost and hallucination risk of prompts and answers (JSONL)',
    load: async () => (await import('./score.ts')).scoreCommand,
  },
  run: {
    summary: 'let a model work with the tools of your MCP servers (mcpGhost)',
    load: async () => (await import('./run.ts')).runCommand,
  },
  ask: {
    summary: 'one policy-gated step: plan, check, call, summarize with evidence',
    load: async () => (await import('./ask.ts')).askCommand,
  },
  gate: {
    summary: 'check plans, evidence and audit trails against the policy (plan, evidence, verify, eval, e2e)',
    load: async () => (await import('./gate.ts')).gateCommand,
  },
  golden: {
    summary: 'record runs as files, replay and compare them',
    load: async () => (await import('./golden/index.ts')).goldenCommand,
  },
  reviews: {
    summary: 'list, claim and decide answers waiting for human review',
    load: async () => (await import('./reviews.ts')).reviewsCommand,
  },
  drift: {
    summary: 'prompt drift by service and tool',
    load: async () => (await import('./drift.ts')).driftCommand,
  },
  collect: {
    summary: 'the OTLP service: spans of any language, enriched, into Postgres',
    load: async () => (await import('./collect.ts')).collectCommand,
  },
  doctor: {
    summary: 'what would be hooked, in which versions, and what is misconfigured',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  db: {
    summary: 'create, update and inspect the Postgres schema',
    load: async () => (await import('./db.ts')).dbCommand,
  },
};

const HELP = [
  'Usage: mcp-observatory <command> [options]',
  '',
  'Commands:',
  ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`),
  '',
  'Options:',
  '  --help      this text, or that of a command',
  '  --version   the version of this package',
  '',
  'Exit codes: 0 fine, 1 the thing asked about failed, 2 bad usage.',
].join('\n');

/**
 * Runs one command line.
 * @returns the exit code; errors are printed to stderr.
 */
export async function runCli(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version') return print(io, VERSION);
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(name === undefined ? { ...io, stdout: io.stderr } : io, HELP);
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    io.stderr.write(`mcp-observatory: '${name}' is not a command.\n\n${HELP}\n`);
    return EXIT_USAGE;
  }
  try {
    const command = await (COMMANDS[name] as { load: () => Promise<Command> }).load();
    if (rest.includes('--help') || rest.includes('-h')) return print(io, await helpOf(command, rest));
    return await command.run(rest, io);
  } catch (error) {
    return report(error, name, io);
  }
}

async function helpOf(command: Command, [word]: readonly string[]): Promise<string> {
  const load = word === undefined ? undefined : command.subcommands?.[word];
  return load === undefined ? command.help : (await load()).help;
}

function print(io: CommandIo, text: string): number {
  io.stdout.write(`${text}\n`);
  return EXIT_OK;
}

function report(error: unknown, command: string, io: CommandIo): number {
  const usage = isUsageError(error);
  const message = errorMessage(error);
  const code = ObservatoryError.isInstance(error) ? ` (${error.code})` : '';
  io.stderr.write(`mcp-observatory ${command}: ${message}${code}\n`);
  if (usage) io.stderr.write(`See 'mcp-observatory ${command} --help'.\n`);
  return usage ? EXIT_USAGE : EXIT_FAILED;
}

/** Errors in what the caller gave: flags, and the server config a flag names. */
const USAGE_CODES: ReadonlySet<string> = new Set(['INVALID_OPTION', 'INVALID_SERVER_CONFIG']);

function isUsageError(error: unknown): boolean {
  if (ObservatoryError.isInstance(error)) return USAGE_CODES.has(error.code);
  // An error of parseArgs from node:util.
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}
