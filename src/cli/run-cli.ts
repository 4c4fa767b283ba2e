import { errorMessage, ObservatoryError, printableLine, VERSION } from '../base/index.ts';
import {
  type Command,
  type CommandIo,
  type CommandTable,
  commandIo,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  exitCodeOf,
  type ProcessStreams,
  print,
} from './command-line/index.ts';
import { printable } from './terminal/index.ts';

/** Commands by name, loaded on demand so that `score` does not load Postgres. */
export const COMMANDS: CommandTable = {
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
    summary:
      'policies, pins, plans, evidence and audit trails (lint, explain, pin, plan, verify, replay, eval)',
    load: async () => (await import('./gate.ts')).gateCommand,
  },
  golden: {
    summary: 'record runs as files, replay and compare them',
    load: async () => (await import('./golden/index.ts')).goldenCommand,
  },
  approvals: {
    summary: 'list, approve, reject and revoke calls that a policy holds for a person',
    load: async () => (await import('./approvals.ts')).approvalsCommand,
  },
  reviews: {
    summary: 'list, claim and decide answers waiting for human review',
    load: async () => (await import('./reviews.ts')).reviewsCommand,
  },
  runs: {
    summary: 'list, explain and compare runs by a filter',
    load: async () => (await import('./runs.ts')).runsCommand,
  },
  tax: {
    summary: 'what the definitions of tools cost of the model calls that offer them',
    load: async () => (await import('./tax.ts')).taxCommand,
  },
  up: {
    summary: 'receiver, store and page in one process: see what happens',
    load: async () => (await import('./up.ts')).upCommand,
  },
  ui: {
    summary: 'the page: runs, tools, costs',
    load: async () => (await import('./ui.ts')).uiCommand,
  },
  mcp: {
    summary: 'the runs for agents: an MCP server over stdio',
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
  drift: {
    summary: 'prompt drift by service and tool',
    load: async () => (await import('./drift.ts')).driftCommand,
  },
  templates: {
    summary: 'model calls without a prompt template',
    load: async () => (await import('./templates.ts')).templatesCommand,
  },
  collect: {
    summary: 'the OTLP service: spans of any language, enriched, into Postgres',
    load: async () => (await import('./collect.ts')).collectCommand,
  },
  doctor: {
    summary: 'what would be hooked, where spans go, and what is misconfigured',
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
  'Exit codes: 0 fine, 1 the thing asked about failed, 2 bad usage or an input that cannot be read.',
].join('\n');

/**
 * Runs one command line.
 * @returns the exit code; errors are printed to stderr.
 */
export async function runCli(argv: readonly string[], streams: ProcessStreams): Promise<number> {
  const io = commandIo(streams);
  const [name, ...rest] = argv;
  if (name === '--version') {
    print(io, VERSION);
    return EXIT_OK;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(name === undefined ? { ...io, stdout: io.stderr } : io, HELP);
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    io.stderr.writeLine(`mcp-observatory: '${name}' is not a command.`);
    io.stderr.write(`\n${HELP}\n`);
    return EXIT_USAGE;
  }
  let shown = name;
  try {
    const command = await (COMMANDS[name] as CommandTable[string]).load();
    if (isSubcommand(command, rest[0])) shown = `${name} ${rest[0]}`;
    if (!rest.includes('--help') && !rest.includes('-h')) return await command.run(rest, io);
    print(io, await helpOf(command, rest));
    return EXIT_OK;
  } catch (error) {
    return report(error, shown, io);
  }
}

async function helpOf(command: Command, [word]: readonly string[]): Promise<string> {
  const subcommand = isSubcommand(command, word) ? command.subcommands?.[word] : undefined;
  return subcommand === undefined ? command.help : (await subcommand.load()).help;
}

function isSubcommand(command: Command, word: string | undefined): word is string {
  return word !== undefined && Object.hasOwn(command.subcommands ?? {}, word);
}

function report(error: unknown, command: string, io: CommandIo): number {
  const code = ObservatoryError.isInstance(error) ? error.code : undefined;
  // Indented, so that a message that quotes a server cannot add a line of ours.
  const message = printable(errorMessage(error)).replaceAll('\n', '\n  ');
  io.stderr.write(`mcp-observatory ${command}: ${message}${code === undefined ? '' : ` (${code})`}\n`);
  if (code === 'INVALID_OPTION') io.stderr.write(`See 'mcp-observatory ${command} --help'.\n`);
  return exitCodeOf(code);
}

/** Runs the command line of this process and sets its exit code. */
export async function runProgram(): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A closed pipe (`| head`) is not an error.
    if (error.code === 'EPIPE') process.exit();
    fail(`The output cannot be written: ${error.message}`);
  });
  // There is nowhere to report that stderr fails.
  process.stderr.on('error', () => {});
  // Node would print the error as it is, with all that a server may have put in its message.
  process.on('uncaughtException', (error) => fail(errorMessage(error)));
  process.exitCode = await runCli(process.argv.slice(2), process);
}

function fail(message: string): never {
  process.stderr.write(`mcp-observatory: ${printableLine(message)}\n`);
  process.exit(EXIT_FAILED);
}
