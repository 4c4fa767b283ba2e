import { type Command, type CommandTable, usageError } from './command.ts';

/**
 * The subcommand that the first positional argument names, and the id after it.
 * @throws ObservatoryError for bad usage: another name, or more than one id.
 */
export function readSubcommand<T>(
  subcommands: Readonly<Record<string, T>>,
  positionals: readonly string[],
): { readonly run: T; readonly id: string | undefined } {
  const [name = '', id, ...rest] = positionals;
  const run = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (run === undefined || rest.length > 0) {
    const known = Object.keys(subcommands).join(', ');
    throw usageError(`Expected one subcommand, ${known}, and at most one id, got '${positionals.join(' ')}'`);
  }
  return { run, id };
}

/** A command that only has subcommands. @param about what they have in common, for its help */
export function groupCommands(name: string, about: string, subcommands: CommandTable): Command {
  const names = Object.keys(subcommands);
  const width = Math.max(...names.map(({ length }) => length)) + 1;
  const help = [
    `Usage: mcp-observatory ${name} <command> [options]`,
    '',
    about,
    '',
    'Commands:',
    ...Object.entries(subcommands).map(([word, { summary }]) => `  ${word.padEnd(width)} ${summary}`),
    '',
    `Options of a command: 'mcp-observatory ${name} <command> --help'.`,
  ].join('\n');
  return {
    help,
    subcommands,
    async run([word, ...rest], io) {
      const subcommand =
        word !== undefined && Object.hasOwn(subcommands, word) ? subcommands[word] : undefined;
      if (subcommand !== undefined) return (await subcommand.load()).run(rest, io);
      const seen = word === undefined ? 'nothing' : `'${word}'`;
      throw usageError(`Expected one of ${names.join(', ')}, got ${seen}`);
    },
  };
}
