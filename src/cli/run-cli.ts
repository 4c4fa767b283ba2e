import { type CommandTable, type ProcessStreams, restartSparingly } from './command-line/index.ts';
import { runCommandLine, runCommands } from './run-program.ts';

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
    load: async () => (await import('./hook-program.js')).hookCommand,
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

export async function runCli(argv: readonly string[], streams: ProcessStreams): Promise<number> {
  return await runCommandLine(argv, streams, COMMANDS, HELP);
}

export async function runProgram(): Promise<void> {
  if (process.argv[2] === 'up') restartSparingly();
  await runCommands(COMMANDS, HELP);
}
