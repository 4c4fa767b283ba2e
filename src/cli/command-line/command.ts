import type { Readable, Writable } from 'node:stream';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import { Output } from '../terminal/index.ts';

/** What a command gets of its process, replaceable in tests. */
export interface ProcessStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface CommandIo extends Pick<ProcessStreams, 'stdin' | 'env'> {
  readonly stdout: Output;
  readonly stderr: Output;
}

export function commandIo({ stdin, stdout, stderr, env }: ProcessStreams): CommandIo {
  return { stdin, stdout: new Output(stdout, env), stderr: new Output(stderr, env), env };
}

/** One subcommand of `mcp-observatory`. */
export interface Command {
  /** Text printed for `--help`, without a trailing newline. */
  readonly help: string;
  /** Subcommands by name, for their help texts. */
  readonly subcommands?: CommandTable | undefined;
  /**
   * Runs the command.
   * @returns the exit code.
   * @throws ObservatoryError ends the command with the exit code of its code, `INVALID_OPTION` for bad usage.
   */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

/** Commands by name, loaded on demand, with a line about each for the help of their parent. */
export type CommandTable = Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>
>;

/** Writes the answer of a command: a text of any number of lines, or an object as one line of JSON. */
export function print(io: CommandIo, answer: string | object): void {
  io.stdout.write(`${typeof answer === 'string' ? answer : JSON.stringify(answer)}\n`);
}

/** The error for invalid usage. The name of the command and its `--help` are added when it is printed. */
export function usageError(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', message, { cause });
}

/** Values of flags that a part of a command takes. */
export type FlagValues<Text extends string, Switch extends string = never> = {
  readonly [F in Text]?: string | undefined;
} & { readonly [F in Switch]?: boolean | undefined };

type Flags = NonNullable<ParseArgsConfig['options']>;

/**
 * `parseArgs` of node:util.
 * @throws ObservatoryError `INVALID_OPTION` for an unknown flag, a missing value or an unexpected argument.
 */
export function readFlags<const F extends Flags>(
  args: readonly string[],
  options: F,
  allowPositionals = false,
): ReturnType<typeof parseArgs<{ options: F; allowPositionals: true }>> {
  try {
    return parseArgs<{ args: readonly string[]; options: F; allowPositionals: true }>({
      args,
      options,
      allowPositionals: allowPositionals as true,
    });
  } catch (cause) {
    throw usageError((cause as Error).message, cause);
  }
}
