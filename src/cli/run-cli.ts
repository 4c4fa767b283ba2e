import { errorMessage, ObservatoryError, printableLine, VERSION } from '../base/index.ts';
import {
  type Command,
  type CommandIo,
  type CommandTable,
  commandIo,
  EXIT_DENIED,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  isEnforcing,
  type ProcessStreams,
  print,
  restartSparingly,
  toExitCode,
} from './command-line/index.ts';
import { printable } from './terminal/index.ts';

/** Commands by name, loaded on demand so that `score` does not load Postgres. */
export const COMMANDS: CommandTable = {
  up: {
    summary: 'receiver, store and page in one process',
    load: async () => (await import('./up.ts')).upCommand,
  },
  ui: {
    summary: 'the page over your database: runs, tools, costs',
    load: async () => (await import('./ui.ts')).uiCommand,
  },
  runs: {
    summary: 'list, explain and compare runs by a filter',
    load: async () => (await import('./runs.ts')).runsCommand,
  },
  mcp: {
    summary: 'the runs for agents: an MCP server over stdio',
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
  tax: {
    summary: 'what tool definitions cost in the model calls that offer them',
    load: async () => (await import('./tax.ts')).taxCommand,
  },
  gate: {
    summary: 'policies, pins, plans, evidence and audit trails',
    load: async () => (await import('./gate.ts')).gateCommand,
  },
  hook: {
    summary: 'the gate in front of the tools of coding agents',
    load: async () => (await import('./hook/index.ts')).hookCommand,
  },
  approvals: {
    summary: 'decide calls that a policy holds for a person',
    load: async () => (await import('./approvals.ts')).approvalsCommand,
  },
  golden: {
    summary: 'record runs as files, replay and compare them',
    load: async () => (await import('./golden/index.ts')).goldenCommand,
  },
  run: {
    summary: 'let a model use the tools of your MCP servers (mcpGhost)',
    load: async () => (await import('./run.ts')).runCommand,
  },
  ask: {
    summary: 'one policy-gated step: plan, check, call, summarize with evidence',
    load: async () => (await import('./ask.ts')).askCommand,
  },
  collect: {
    summary: 'the OTLP service: spans of any language, enriched and stored',
    load: async () => (await import('./collect.ts')).collectCommand,
  },
  db: {
    summary: 'create, update, inspect, prune and archive the tables',
    load: async () => (await import('./db.ts')).dbCommand,
  },
  setup: {
    summary: 'write what a program or coding agent needs, run it, wait for a span',
    load: async () => (await import('./setup/index.ts')).setupCommand,
  },
  doctor: {
    summary: 'what would be traced, where spans go, and what is misconfigured',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  demo: {
    summary: 'the whole path on your machine, without a key or a server',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  score: {
    summary: 'hashes, cost and hallucination risk of prompts and answers (JSONL)',
    load: async () => (await import('./score.ts')).scoreCommand,
  },
  reviews: {
    summary: 'decide answers that wait for human review',
    load: async () => (await import('./reviews.ts')).reviewsCommand,
  },
  drift: {
    summary: 'prompt drift by service and tool',
    load: async () => (await import('./drift.ts')).driftCommand,
  },
  templates: {
    summary: 'model calls without a prompt template',
    load: async () => (await import('./templates.ts')).templatesCommand,
  },
};

/** The groups of `--help`, in its order; commands in none of them are under 'more'. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  look: ['up', 'ui', 'runs', 'mcp', 'tax'],
  guard: ['gate', 'hook', 'approvals'],
  record: ['golden'],
  run: ['run', 'ask'],
  serve: ['collect', 'db', 'setup', 'doctor'],
};

function describeGroup(group: string, names: readonly string[]): string[] {
  const lines = names.map((name) => `  ${name.padEnd(10)} ${COMMANDS[name]?.summary}`);
  return ['', `${group}:`, ...lines];
}

const GROUPED = new Set(Object.values(GROUPS).flat());

const HELP = [
  'Usage: mcp-observatory <command> [options]',
  ...Object.entries(GROUPS).flatMap(([group, names]) => describeGroup(group, names)),
  ...describeGroup(
    'more',
    Object.keys(COMMANDS).filter((name) => !GROUPED.has(name)),
  ),
  '',
  "'mcp-observatory <command> --help' explains one command; --version prints the version of this package.",
  'Exit codes: 0 for success, 1 when what was checked failed, 2 for bad usage or an input that cannot be read.',
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
    print(io, await toHelp(command, rest));
    return EXIT_OK;
  } catch (error) {
    return report(error, shown, io);
  }
}

async function toHelp(command: Command, [word]: readonly string[]): Promise<string> {
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
  return toExitCode(code);
}

/**
 * Runs the command line of this process and sets its exit code, which is not 0 where the command has not come to its end or
 * nobody has read what it says: a script may take 0 for an answer, and an agent lets its tool through.
 */
export async function runProgram(): Promise<void> {
  const [name, ...args] = process.argv.slice(2);
  const ofHook = isEnforcing(args) ? EXIT_DENIED : EXIT_OK;
  const unheard = name === 'hook' ? ofHook : EXIT_FAILED;
  process.exitCode = unheard;
  const fail = (message: string): never => {
    process.stderr.write(`mcp-observatory: ${printableLine(message)}\n`);
    process.exit(unheard || EXIT_FAILED);
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A closed pipe (`| head`) needs no message.
    if (error.code === 'EPIPE') process.exit(process.exitCode || unheard);
    fail(`The output cannot be written: ${error.message}`);
  });
  // There is nowhere to report that stderr fails.
  process.stderr.on('error', () => {});
  // Node would print the error as it is, with all that a server may have put in its message.
  process.on('uncaughtException', (error) => fail(errorMessage(error)));
  if (name === 'up') restartSparingly();
  process.exitCode = await runCli(process.argv.slice(2), process);
}
