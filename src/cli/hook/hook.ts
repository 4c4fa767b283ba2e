/** `mcp-observatory hook`: the gate in front of the tools of coding agents. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { errorMessage } from '../../base/index.ts';
import {
  type Command,
  type CommandIo,
  type CommandTable,
  EXIT_DENIED,
  EXIT_OK,
  findEditable,
  isEnforcing,
  print,
  readFlags,
  usageError,
} from '../command-line/index.ts';
import { findPolicyPath, POLICY_FLAGS } from '../policy-options/index.ts';
import { printableLine } from '../terminal/index.ts';
import { CLIENTS, type HookClient } from './clients.ts';
import { decideEvent } from './decide-event.ts';
import { installHooks, quote, thisProgram, uninstallHooks, withHooks } from './settings-file.ts';

const NAMES = Object.keys(CLIENTS);

const HELP = `Usage: mcp-observatory hook CLIENT [options]
       mcp-observatory hook install CLIENT [options]
       mcp-observatory hook uninstall CLIENT [options]

Decides what a coding agent does, by a policy: shell commands, files, web fetches and MCP tools. CLIENT is one of
${NAMES.join(', ')}. The agent runs 'hook CLIENT' before and after each tool.

A command is parsed, and each program, redirection, assignment and substitution in it is decided, and each file that
cat, cp, tee, curl and the like open by their words. Rules name them as server and tool: shell/run (program,
subcommand, words), shell/run_expanded (the same, where the shell computes words), shell/set (name), shell/unreadable,
files/read and files/write (path, links followed), web/fetch (url), web/connect, agent/TOOL for all other tools of the
agent, and MCP tools by their own names. What cannot be parsed needs a person, and so does a command that fetches
code, or prints the environment or a variable named like a secret, and an address in a command where rules are about
web/fetch, or a redirect where they are about hosts. A write to a hidden name (.envrc, .husky/x) needs one, too,
unless the rule that allows it spells that name. A folder that is read whole is denied where a rule denies a file in
it. Sums, sequences and effects of the policy are kept in MCP_OBSERVATORY_DATABASE_URL, else by 'mcp-observatory up'.

By default decisions are only recorded. The agent's own questions are never skipped.

Options:
  --policy FILE       the policy (else SAFE_ALLOWLIST_PATH)
  --enforce           stop what the policy stops. The tool is then denied, too, if the hook fails
  --settings FILE     install, uninstall: the settings of the agent (default: those in the home folder)
  --dry-run           install, uninstall: print what would be written

Exit code 2 denies the tool where there is no JSON for it; 0 otherwise. Decisions are recorded in SAFE_TRACE_DIR, else
~/.mcp-observatory/hook, a folder for each day, with the key SAFE_AUDIT_KEY.`;

const MAX_EVENT_BYTES = 8 * 1024 * 1024;
/** For an event to end: agents let the tool through when a hook takes too long. */
const MAX_EVENT_MS = 10_000;

const SUBCOMMANDS: CommandTable = {
  install: {
    summary: "add the hooks to an agent's settings",
    load: async () => ({ help: HELP, run: runInstall }),
  },
  uninstall: { summary: 'take them out again', load: async () => ({ help: HELP, run: runUninstall }) },
};

export const hookCommand: Command = {
  help: HELP,
  subcommands: SUBCOMMANDS,
  async run(args, io) {
    const [verb = ''] = args;
    const subcommand = Object.hasOwn(SUBCOMMANDS, verb) ? SUBCOMMANDS[verb] : undefined;
    if (subcommand !== undefined) return (await subcommand.load()).run(args.slice(1), io);
    return await runHook(args, io);
  },
};

async function runHook(args: readonly string[], io: CommandIo): Promise<number> {
  // Whatever goes wrong, a hook that enforces stops the tool, and one that does not is not in its way.
  const isEnforced = isEnforcing(args);
  try {
    const { values, positionals } = readFlags(args, { ...POLICY_FLAGS, enforce: { type: 'boolean' } }, true);
    const client = toClient(positionals);
    const policy = findPolicyPath(values, io.env);
    const answer = await decideEvent(await readEvent(io), { client, policy, isEnforced, env: io.env });
    if (answer === undefined) return EXIT_OK;
    print(io, client.answer(answer, answer.event));
    if (io.stdout.isNowhere) throw usageError('The answer has no reader: stdout is closed, or /dev/null');
    return EXIT_OK;
  } catch (error) {
    io.stderr.writeLine(printableLine(`mcp-observatory hook: ${errorMessage(error)}`));
    return isEnforced ? EXIT_DENIED : EXIT_OK;
  }
}

function toClient(positionals: readonly string[]): HookClient {
  const [name = '', more] = positionals;
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client === undefined || more !== undefined)
    throw usageError(`Expected one of ${NAMES.join(', ')}, got '${positionals.join(' ')}'`);
  return client;
}

async function readEvent({ stdin }: CommandIo): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = usageError(`The event has not ended within ${MAX_EVENT_MS / 1000} seconds`);
  const timer = setTimeout(() => stdin.destroy(late), MAX_EVENT_MS);
  try {
    for await (const chunk of stdin) {
      const part = Buffer.from(chunk as Uint8Array);
      bytes += part.byteLength;
      if (bytes > MAX_EVENT_BYTES) throw usageError(`The event is larger than ${MAX_EVENT_BYTES} bytes`);
      chunks.push(part);
    }
  } finally {
    clearTimeout(timer);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}

const SETTINGS_FLAGS = { settings: { type: 'string' }, 'dry-run': { type: 'boolean' } } as const;

async function runInstall(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = { ...POLICY_FLAGS, ...SETTINGS_FLAGS, enforce: { type: 'boolean' } } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const client = toClient(positionals);
  const path = toSettings(client, values.settings);
  const policy = resolve(findPolicyPath(values, io.env));
  const edit = withHooks(path, client, toCommand(positionals[0] ?? '', policy, values.enforce === true));
  if (values['dry-run'] === true) {
    io.stdout.writeLine(`${path} would be:`);
    io.stdout.write(edit.text.replace(/^/gm, '  '));
    return EXIT_OK;
  }
  installHooks(edit);
  io.stdout.writeLine(
    `${path} runs the hook, by ${policy}${values.enforce === true ? '' : ', which is not enforced'}`,
  );
  if (client.first !== undefined) io.stdout.writeLine(client.first);
  return EXIT_OK;
}

async function runUninstall(args: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readFlags(args, SETTINGS_FLAGS, true);
  const path = toSettings(toClient(positionals), values.settings);
  const isDry = values['dry-run'] === true;
  const done = uninstallHooks(path, isDry) ?? `${path} has no hooks of ours`;
  io.stdout.writeLine(isDry ? `Not done: ${done}` : done);
  return EXIT_OK;
}

function toSettings(client: HookClient, given: string | undefined): string {
  return findEditable(given === undefined ? join(homedir(), client.settings) : resolve(given));
}

/** A hook that cannot start would let the tool through, so that its failure is the code that denies. */
function toCommand(client: string, policy: string, isEnforced: boolean): string {
  const command = `${thisProgram()} hook ${client} --policy ${quote(policy)}`;
  return isEnforced ? `${command} --enforce || exit ${EXIT_DENIED}` : command;
}
