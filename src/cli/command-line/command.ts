import type { Readable, Writable } from 'node:stream';

/** Streams and environment of a command, replaceable in tests. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Exit codes of all commands. */
export const EXIT_OK = 0;
/** The checked thing failed. */
export const EXIT_FAILED = 1;
/** Invalid usage. */
export const EXIT_USAGE = 2;

/** One subcommand of `mcp-observatory`. */
export interface Command {
  /** Words after the binary's name, e.g. `score` or `db`. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Text printed for `--help`, without a trailing newline. */
  readonly help: string;
  /** Subcommands by name, for their help texts. */
  readonly subcommands?: Readonly<Record<string, () => Promise<Command>>> | undefined;
  /**
   * Runs the command.
   * @returns the exit code.
   * @throws ObservatoryError `INVALID_OPTION` for bad usage, which ends in exit code 2.
   */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

/** Writes the answer to `--json`: one line. */
export function writeJson(io: CommandIo, value: object): void {
  io.stdout.write(`${JSON.stringify(value)}\n`);
}
