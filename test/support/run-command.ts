import { Readable, Writable } from 'node:stream';
import { type Command, type CommandIo, commandIo } from '../../src/cli/command-line/index.ts';

/** Runs a command in process on the given input lines. */
export async function runCommand(
  command: Command,
  args: readonly string[],
  input: readonly string[] = [],
  env: CommandIo['env'] = {},
): Promise<{ code: number; stdout: string; stderr: string; rows: Record<string, unknown>[] }> {
  const out = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') =>
    new Writable({
      write(chunk, _encoding, done) {
        out[name] += String(chunk);
        done();
      },
    });
  const stdin = Readable.from(input.map((line) => `${line}\n`));
  const code = await command.run(
    args,
    commandIo({ stdin, stdout: sink('stdout'), stderr: sink('stderr'), env }),
  );
  const rows = out.stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, ...out, rows };
}
