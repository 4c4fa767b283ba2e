import { usageError } from './command.ts';

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
