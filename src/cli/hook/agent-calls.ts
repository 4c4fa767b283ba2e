/** The calls that a policy decides about, of one use of a tool by an agent. */
import { lstatSync, readdirSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { matchesParts } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { type CommandAction, readCommand, readRealPath, type ToolDefinition } from '../../policy/index.ts';
import type { AgentTool } from './clients.ts';

export interface ActionCall {
  readonly server: string;
  readonly definition: ToolDefinition;
  readonly args: JsonObject;
  /** Of a call that may be meant, and may not: what a person is asked about unless the rules allow it. */
  readonly unsure?: ActionCall;
  /** Of a folder that is read with all that is in it: the calls that would read that. */
  readonly holds?: readonly ActionCall[];
}

const TEXT = { type: 'string' };
const WORDS = { type: 'array', items: TEXT };
const RUN = { program: TEXT, subcommand: TEXT, words: WORDS };

/** The arguments that rules may name, by server and tool. */
const TOOLS: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
  shell: { run: RUN, run_expanded: RUN, set: { name: TEXT }, unreadable: { why: TEXT } },
  files: { read: { path: TEXT }, write: { path: TEXT } },
  web: { fetch: { url: TEXT }, connect: { address: TEXT } },
};

/** Longest name of a file on common file systems. */
const MAX_NAME = 255;
/** Files of one use of a tool, and those of a pattern of the shell. */
const MAX_PATHS = 200;
const MAX_MATCHES = 1000;
/** Names in a folder that is read as a whole, those least deep first: what is deeper than these is not looked at. */
const MAX_HELD = 5000;
/** Those of all such folders of one use of a tool. */
const MAX_ALL_HELD = 20_000;

/** What a use of a tool does, as calls. */
export function listCalls(tool: AgentTool, cwd: string): readonly ActionCall[] {
  switch (tool.kind) {
    case 'shell':
      return listCommandCalls(tool.command, tool.folder ?? '.', cwd);
    case 'read':
    case 'write':
      if (tool.paths.length > MAX_PATHS) return [unreadableCall(`it is about more than ${MAX_PATHS} files`)];
      return tool.paths.flatMap((path) =>
        typeof path === 'string' && READ_OTHERWISE.test(path)
          ? unreadableCall('agents differ about its path')
          : callsOfPath(tool.kind, path, cwd),
      );
    case 'fetch':
      return [own('web', 'fetch', { url: typeof tool.url === 'string' ? tool.url : '' })];
    case 'mcp':
      return [foreign(tool.server, tool.tool, tool.args)];
    default:
      return [foreign('agent', tool.tool, tool.args)];
  }
}

/** Agents expand a tilde, trim white space, or decode a URL, each in its own way. */
const READ_OTHERWISE = /^[~\s]|\s$|^file:|%[\da-f]{2}/i;

function listCommandCalls(command: unknown, folder: unknown, cwd: string): readonly ActionCall[] {
  if (typeof command !== 'string' || typeof folder !== 'string') return [unreadableCall('it is no text')];
  const place = resolve(cwd, folder);
  const held = new Held();
  return readCommand(command).flatMap((action) => {
    if (!('path' in action) || action.names === undefined) return callsOfAction(action, place, held);
    const { names, path } = action;
    const files = listMatches(names, resolve(place, path));
    if (files === undefined) return [unreadableCall('a pattern of it matches too many files')];
    const matched = files.map((name) => ({ ...action, path: join(path, name) }));
    return [{ ...action, isTree: false }, ...matched].flatMap((one) => callsOfAction(one, place, held));
  });
}

function callsOfAction(action: CommandAction, cwd: string, held: Held): readonly ActionCall[] {
  if (action.kind === 'name_url') {
    const unsure = unreadableCall(`a program may open '${action.url.slice(0, 200)}'`);
    return [{ ...own('web', 'fetch', { url: action.url }), unsure }];
  }
  if (!('path' in action)) return [callOfAction(action)];
  const calls =
    action.kind === 'name_file'
      ? callsOfName(action.path, cwd, action.isRead === true ? ['read'] : ['read', 'write'])
      : callsOfPath(action.kind === 'read_file' ? 'read' : 'write', action.path, cwd);
  const [first, ...others] = calls;
  if (first === undefined) return calls;
  const top = String(first.args.path);
  const holds = action.isTree === true ? held.list(top) : [];
  if (holds === undefined) return [...calls, unreadableCall('it reads more files than can be looked at')];
  const { copiedTo } = action;
  if (copiedTo === undefined) return [{ ...first, holds }, ...others];
  const names = [basename(action.path), ...holds.map(({ args }) => relative(top, String(args.path)))];
  const hidden = names.filter((name) => findHidden(name) !== undefined).slice(0, MAX_PATHS);
  return [
    { ...first, holds },
    ...others,
    ...hidden.flatMap((name) => callsOfPath('write', join(copiedTo, name), cwd)),
  ];
}

/** The first hidden name in a path: what agents, editors and hooks obey has one. */
export function findHidden(path: string, known: readonly string[] = []): string | undefined {
  return path.split(/[\\/]/).find((name) => /^\.+[^.]/.test(name) && !known.includes(name));
}

/** What a command reads of folders as wholes. */
class Held {
  readonly #seen = new Set<string>();
  #left = MAX_ALL_HELD;

  /** What would be read of a folder that was not listed before. Links in it are names only. @returns undefined for too many. */
  list(top: string): readonly ActionCall[] | undefined {
    const paths: string[] = [];
    const folders = [top];
    for (const folder of folders) {
      if (paths.length >= MAX_HELD) break;
      if (this.#seen.has(folder)) continue;
      if (this.#left <= 0) return undefined;
      this.#seen.add(folder);
      this.#left -= 1;
      try {
        for (const entry of readdirSync(folder, { withFileTypes: true })) {
          paths.push(join(folder, entry.name));
          if (entry.isDirectory()) folders.push(join(folder, entry.name));
        }
      } catch {
        // No folder: what the path names is decided about.
      }
    }
    const first = paths.slice(0, MAX_HELD);
    this.#left -= first.length;
    return first.map((path) => own('files', 'read', { path }));
  }
}

/** The names in a folder that match a pattern of the shell, which finds no hidden ones unless it begins with a dot. */
function listMatches(pattern: string, folder: string): readonly string[] | undefined {
  const parts = pattern.replaceAll('?', '*').split('*');
  const isMatch = (name: string) =>
    (pattern.startsWith('.') || !name.startsWith('.')) && matchesParts(name, parts);
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder).filter(isMatch);
  } catch {
    // What is not there has no names; the folder itself is decided about.
  }
  return names.length > MAX_MATCHES ? undefined : names;
}

/** A path, or the name of something that is there, may be read and written. */
function callsOfName(path: string, cwd: string, tools: readonly ('read' | 'write')[]): readonly ActionCall[] {
  const [first = ''] = path.split('/', 1);
  const isThere = (name: string) => lstatSync(resolve(cwd, name), { throwIfNoEntry: false }) !== undefined;
  // A folder of a hidden name may be made on the way.
  const isHidden = path.includes('/') && findHidden(path) !== undefined;
  const isPath = isHidden || /^(?:\/|$)|(?:^|\/)\.\.(?:\/|$)/.test(path);
  if (!isPath && (first.length > MAX_NAME || first.includes('\0') || !isThere(first))) return [];
  return tools.flatMap((tool) => {
    const unsure = unreadableCall(`a program may ${tool} '${path.slice(0, 200)}'`);
    const calls = path === '' ? [own('files', tool, { path })] : callsOfPath(tool, path, cwd);
    return calls.map((call) => ({ ...call, unsure }));
  });
}

export function unreadableCall(why: string): ActionCall {
  return own('shell', 'unreadable', { why });
}

function callOfAction(action: Exclude<CommandAction, { path: string } | { kind: 'name_url' }>): ActionCall {
  switch (action.kind) {
    case 'run':
    case 'run_expanded': {
      const { program, words } = action;
      const [first] = words;
      const subcommand = first === undefined || first.startsWith('-') ? {} : { subcommand: first };
      return own('shell', action.kind, { program, ...subcommand, words });
    }
    case 'set':
      return own('shell', 'set', { name: action.name });
    case 'connect':
      return own('web', 'connect', { address: action.address });
    default:
      return unreadableCall(action.why);
  }
}

/** A rule that denies a file is about those in git's folder too. */
function callsOfPath(tool: 'read' | 'write', path: unknown, cwd: string): readonly ActionCall[] {
  const call = callOfPath(tool, path, cwd);
  const isRun = tool === 'write' && /\/\.git(?:\/|$)/i.test(String(call.args.path ?? ''));
  return isRun ? [call, unreadableCall('git may run files in its folder')] : [call];
}

function callOfPath(tool: 'read' | 'write', path: unknown, cwd: string): ActionCall {
  const real = typeof path === 'string' && path !== '' ? readRealPath(cwd, path) : undefined;
  return real === undefined
    ? unreadableCall(`the file it would ${tool} is not known`)
    : own('files', tool, { path: real });
}

function own(server: string, tool: string, args: JsonObject): ActionCall {
  const properties = TOOLS[server]?.[tool] ?? {};
  return { server, args, definition: { name: tool, inputSchema: { type: 'object', properties } } };
}

/** Tools whose schema the agent keeps for itself: what it gives them are their arguments. */
function foreign(server: string, tool: string, args: JsonObject): ActionCall {
  const properties = Object.fromEntries(Object.keys(args).map((name) => [name, {}]));
  const inputSchema = { type: 'object', properties, additionalProperties: true };
  return { server, args, definition: { name: tool.slice(0, 256) || 'unnamed', inputSchema } };
}
