/** Runs the command line of this process by a table of commands. */
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
  toExitCode,
} from './command-line/index.ts';
import { printable } from './terminal/index.ts';

/**
 * Runs one command line.
 * @returns the exit code; errors are printed to stderr.
 */
export async function runCommandLine(
  argv: readonly string[],
  streams: ProcessStreams,
  commands: CommandTable,
  overview: string,
): Promise<number> {
  const io = commandIo(streams);
  const [name, ...rest] = argv;
  if (name === '--version') {
    print(io, VERSION);
    return EXIT_OK;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(name === undefined ? { ...io, stdout: io.stderr } : io, overview);
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (!Object.hasOwn(commands, name)) {
    io.stderr.writeLine(`mcp-observatory: '${name}' is not a command.`);
    io.stderr.write(`\n${overview}\n`);
    return EXIT_USAGE;
  }
  let shown = name;
  try {
    const command = await (commands[name] as CommandTable[string]).load();
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
export async function runCommands(commands: CommandTable, overview: string): Promise<void> {
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
  process.exitCode = await runCommandLine(process.argv.slice(2), process, commands, overview);
}
