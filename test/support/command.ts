import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, commandIo } from '../../src/cli/command-line/index.ts';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process with `input` as its standard input, in chunks of their own. */
export async function runCommand(
  command: Command,
  args: readonly string[],
  input: string | Uint8Array | Iterable<string | Uint8Array> = '',
): Promise<CommandResult> {
  const chunks = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const output = Promise.all([text(stdout), text(stderr)]);
  try {
    const stdin = Readable.from(chunks, { objectMode: false });
    const code = await command.run(args, commandIo({ stdin, stdout, stderr, env: {} }));
    stdout.end();
    stderr.end();
    const [out, err] = await output;
    return { code, stdout: out, stderr: err };
  } finally {
    stdout.end();
    stderr.end();
  }
}

/** The JSON objects of a text of lines. */
export function parseLines(lines: string): Record<string, unknown>[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
