/** `mcp-observatory golden`: runs in files. Each subcommand has a file of its own. */
import { ObservatoryError } from '../../base/index.ts';
import type { Command } from '../command-line/index.ts';

/** Subcommands, loaded on demand. */
const SUBCOMMANDS: Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>
> = {
  record: {
    summary: 'run a task and keep it',
    load: async () => (await import('./record.ts')).goldenRecordCommand,
  },
  replay: {
    summary: 'run goldens again from their files and compare',
    load: async () => (await import('./replay.ts')).goldenReplayCommand,
  },
  inspect: {
    summary: 'read a golden step by step, in the terminal or as a page',
    load: async () => (await import('./inspect.ts')).goldenInspectCommand,
  },
  list: {
    summary: 'list the goldens of a folder, their age and coverage',
    load: async () => (await import('./list.ts')).goldenListCommand,
  },
  compare: {
    summary: 'compare two providers on the same task',
    load: async () => (await import('./compare.ts')).goldenCompareCommand,
  },
  drift: {
    summary: 'compare an old and a new recording of a run',
    load: async () => (await import('./drift.ts')).goldenDriftCommand,
  },
  'from-trace': {
    summary: 'make a golden from a run in mcp_traces',
    load: async () => (await import('./from-trace.ts')).goldenFromTraceCommand,
  },
};

const HELP = [
  'Usage: mcp-observatory golden <command> [options]',
  '',
  'A golden is a run in a file: recorded once, replayed without a key, a network or a server.',
  '',
  'Commands:',
  ...Object.entries(SUBCOMMANDS).map(([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`),
  '',
  "Options of a command: 'mcp-observatory golden <command> --help'.",
].join('\n');

export const goldenCommand: Command = {
  name: 'golden',
  summary: 'Keep runs as files: record, replay',
  help: HELP,
  subcommands: Object.fromEntries(Object.entries(SUBCOMMANDS).map(([name, { load }]) => [name, load])),
  async run(args, io) {
    const [word, ...rest] = args;
    const subcommand = word !== undefined && Object.hasOwn(SUBCOMMANDS, word) ? SUBCOMMANDS[word] : undefined;
    if (subcommand === undefined) {
      const seen = word === undefined ? 'nothing' : `'${word}'`;
      throw new ObservatoryError(
        'INVALID_OPTION',
        `Expected one of ${Object.keys(SUBCOMMANDS).join(', ')}, got ${seen}; see 'mcp-observatory golden --help'`,
      );
    }
    return (await subcommand.load()).run(rest, io);
  },
};
