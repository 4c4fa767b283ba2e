/** `mcp-observatory golden`: runs in files. Each subcommand has a file of its own. */
import { type Command, type CommandTable, groupCommands } from '../command-line/index.ts';

const SUBCOMMANDS: CommandTable = {
  record: {
    summary: 'run a task and keep it',
    load: async () => (await import('./record.ts')).goldenRecordCommand,
  },
  replay: {
    summary: 'run goldens again from their files and compare',
    load: async () => (await import('./replay.ts')).goldenReplayCommand,
  },
  check: {
    summary: 'run a program against each golden of a folder',
    load: async () => (await import('./check.ts')).goldenCheckCommand,
  },
  inspect: {
    summary: 'read a golden step by step in the terminal',
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
  scenarios: {
    summary: 'record four scenarios with each provider that has a key',
    load: async () => (await import('./scenarios.ts')).goldenScenariosCommand,
  },
  import: {
    summary: 'make goldens of recorded exchanges with providers',
    load: async () => (await import('./import.ts')).goldenImportCommand,
  },
  approve: {
    summary: 'vouch for goldens that you have looked at',
    load: async () => (await import('./approve.ts')).goldenApproveCommand,
  },
  'from-trace': {
    summary: 'make a golden from a run in mcp_traces',
    load: async () => (await import('./from-trace.ts')).goldenFromTraceCommand,
  },
};

export const goldenCommand: Command = groupCommands(
  'golden',
  'A golden is a run in a file: recorded once, replayed without a key, a network or a server.',
  SUBCOMMANDS,
);
