import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { FILE_LIMITS, isObject, type JsonObject, parseStrictJson } from '../json/index.ts';
import { FieldReader, type HeaderSource, invalid, show, type Variables } from './config-fields.ts';
import { nameUnknownMembers, warn } from './config-members.ts';
import { readToolFilter, type ToolFilter } from './tool-filter.ts';
import { readReason } from './unavailable.ts';

/** The MCP client for a server: `v1` (protocols to 2025-11-25), `v2` (2026-07-28 too), or `auto`: v1 first, then v2. */
export type ProtocolChoice = 'auto' | 'v1' | 'v2';

interface AnyServerConfig {
  readonly name: string;
  /** Tools that are wanted. @defaultValue all */
  readonly tools?: ToolFilter | undefined;
  /** Longest time from the start of the server to its tool list, in milliseconds. */
  readonly connectTimeoutMs?: number | undefined;
  readonly protocol: ProtocolChoice;
}

/** A server that runs as a child process and communicates over its stdin and stdout. */
export interface StdioServerConfig extends AnyServerConfig {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment that a server inherits; see {@link serverEnvironment}. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** A server that is reached over HTTP. */
export interface RemoteServerConfig extends AnyServerConfig {
  readonly kind: 'remote';
  readonly url: URL;
  /** `auto` tries streamable HTTP and falls back to SSE when the server refuses with a 4xx status. */
  readonly transport: 'auto' | 'http' | 'sse';
  readonly headers: HeaderSource;
}

export type ServerConfig = StdioServerConfig | RemoteServerConfig;

export interface ParseConfigOptions {
  /** Replace `${NAME}`, `${env:NAME}` and `${NAME:-default}` in strings. @defaultValue true */
  readonly expandVariables?: boolean | undefined;
  /** The variables. @defaultValue process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Values for `${input:id}`, which VS Code asks its user for. @defaultValue none: a server that uses one is refused */
  readonly inputs?: Readonly<Record<string, string>> | undefined;
}

/** One entry of `mcpServers`, as it is written in a config file. See {@link loadServerConfig} for the fields. */
export type ServerEntry = (
  | {
      readonly command: string;
      readonly args?: readonly string[] | undefined;
      readonly env?: Readonly<Record<string, string>> | undefined;
      readonly cwd?: string | undefined;
    }
  | { readonly url: string; readonly headers?: HeaderSource | undefined }
) & {
  readonly type?: 'stdio' | 'http' | 'streamable-http' | 'sse' | undefined;
  readonly protocol?: ProtocolChoice | undefined;
  readonly disabled?: boolean | undefined;
  readonly enabled?: boolean | undefined;
  /** Tools that are used; `*` in a name stands for any characters. @defaultValue all */
  readonly includeTools?: readonly string[] | undefined;
  /** Tools that are left out. */
  readonly excludeTools?: readonly string[] | undefined;
  /** Longest time from the start of the server to its tool list, in seconds. @defaultValue 60 */
  readonly connect_timeout?: number | undefined;
};

/**
 * Reads a Claude Desktop style list of servers, given as the object itself or as the path of a JSON file:
 *
 * ```json
 * { "mcpServers": {
 *   "files":  { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "env": {}, "cwd": "." },
 *   "search": { "url": "https://example.com/mcp", "type": "http", "headers": { "authorization": "Bearer ${SEARCH_KEY}" } }
 * } }
 * ```
 *
 * In an object, `headers` may be a function that gives them ({@link HeaderSource}), for tokens that expire. The servers
 * may also be given without `mcpServers` around them, or as VS Code (`servers`), Zed (`context_servers`) and OpenCode
 * (`mcp`) name them. `type` (or `transport`) is `stdio`, `http`, `streamable-http` or `sse`; without it a server with a
 * `url` is tried over streamable HTTP, then SSE. `protocol` chooses the client ({@link ProtocolChoice}); a server with
 * `"disabled": true` or `"enabled": false` is left out. `includeTools` and `excludeTools`, or what other clients call
 * them, choose tools. In `command`, `args`, `env`, `cwd`, `url` and `headers`, `${NAME}` is replaced by an environment
 * variable, `${NAME:-default}` by one with a default, `${input:id}` by a value of `inputs`, and `$${` by a literal `${`.
 * A member that is not known is named in a warning, and refused where it looks like another one misspelled.
 *
 * @throws ObservatoryError `INVALID_SERVER_CONFIG`, naming the server, the field, the value and the remedy.
 */
export async function loadServerConfig(
  config: unknown,
  options: ParseConfigOptions = {},
): Promise<readonly ServerConfig[]> {
  return parseDocument(await readDocument(config), options);
}

/** As {@link loadServerConfig}, for an object that is already in memory. */
export function parseServerConfig(
  document: unknown,
  options: ParseConfigOptions = {},
): readonly ServerConfig[] {
  return parseDocument(toDocument(document), options);
}

/**
 * The entries of a server config by name, as they are written: neither checked nor expanded.
 * @throws ObservatoryError `INVALID_SERVER_CONFIG` when the file cannot be read or holds no entries.
 */
export async function readServerEntries(config: unknown): Promise<JsonObject> {
  return (await readDocument(config)).servers;
}

/** A config as it is written, and what its variables may refer to. */
interface ConfigDocument {
  readonly servers: JsonObject;
  readonly inputs: unknown;
  /** Folder of the workspace, for a file in its `.vscode` or `.cursor`. */
  readonly workspace?: string | undefined;
}

async function readDocument(config: unknown): Promise<ConfigDocument> {
  if (typeof config !== 'string') return toDocument(config);
  const file = `The server config file ${JSON.stringify(config)}`;
  let text: string;
  try {
    text = await readFile(config, 'utf8');
  } catch (cause) {
    throw invalid(`${file} cannot be read (${readReason(cause)}); give the path of a JSON file.`, cause);
  }
  let document: unknown;
  try {
    document = parseStrictJson(text.replace(/^\uFEFF/, ''), FILE_LIMITS);
  } catch (cause) {
    throw invalid(`${file} is not valid JSON (${readReason(cause)}).`, cause);
  }
  const folder = dirname(resolve(config));
  const isSettings = ['.vscode', '.cursor'].includes(basename(folder));
  return { ...toDocument(document), workspace: isSettings ? dirname(folder) : undefined };
}

/** Where clients keep their servers: Claude and Cursor, VS Code, Zed, OpenCode, Codex. */
const PLACES = ['mcpServers', 'servers', 'context_servers', 'mcp', 'mcp_servers'] as const;

function toDocument(document: unknown): ConfigDocument {
  if (!isObject(document)) throw invalid(`Expected a server config object, got ${show(document)}.`);
  const places = PLACES.filter((place) => isObject(document[place]));
  const lists = places.map((place) => document[place] as JsonObject);
  // The settings of VS Code have `mcp` around the form of its mcp.json.
  const [inner] = places.length === 1 && places[0] === 'mcp' ? lists : [];
  if (inner !== undefined && isObject(inner.servers)) return toDocument(inner);
  if (lists.length === 0 && isBareList(document)) return { servers: document, inputs: undefined };
  if (lists.length === 0) {
    throw invalid(
      `Expected "mcpServers" to be an object of servers by name, got ${show(document.mcpServers)}${besides(document)}; write { "mcpServers": { "name": { "command": "..." } } }.`,
    );
  }
  for (const [name, entry] of Object.entries(document)) {
    if (isStray(entry)) warn(`Server "${name}" stands beside "${places[0]}", so it is not used.`);
  }
  const settings = [document, ...lists];
  const servers: Record<string, unknown> = {};
  for (const [name, entry] of lists.flatMap((list) => Object.entries(list))) {
    const isList = Array.isArray(entry) && (LEFT_OUT.test(name) || CHOSEN.test(name));
    if (isList || !settings.every((members) => isChosen(name, members))) continue;
    if (Object.hasOwn(servers, name))
      throw invalid(`Server "${name}" is in more than one of ${places.join(', ')}; leave one of them.`);
    servers[name] = entry;
  }
  return { servers, inputs: document.inputs };
}

/** Lists of servers in the settings of Claude Code and Gemini CLI, beside the servers or within `mcp`. */
const LEFT_OUT = /^(?:disabled|excluded?)(?:mcp(?:json)?servers)?$/i;
const CHOSEN = /^allow(?:ed)?(?:mcpservers)?$/i;

function isChosen(server: string, settings: JsonObject): boolean {
  return Object.entries(settings).every(([member, names]) => {
    if (!Array.isArray(names)) return true;
    return names.includes(server) ? !LEFT_OUT.test(member) : !CHOSEN.test(member);
  });
}

/** Something with a command and its arguments, or a URL, that is no server where it stands. */
function isStray(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  return typeof entry.url === 'string' || (typeof entry.command === 'string' && Array.isArray(entry.args));
}

/** What an object has in place of the member that is wanted. */
function besides(given: JsonObject): string {
  const names = Object.keys(given).slice(0, 8).map(show);
  return names.length === 0 ? '' : ` (there is ${names.join(', ')})`;
}

function parseDocument(document: ConfigDocument, options: ParseConfigOptions): readonly ServerConfig[] {
  const { servers, inputs, workspace } = document;
  const variables: Variables | undefined =
    options.expandVariables === false
      ? undefined
      : { env: options.env ?? process.env, inputs: options.inputs ?? {}, asked: inputs, workspace };
  const parsed: ServerConfig[] = [];
  for (const [name, entry] of Object.entries(servers)) {
    if (name.trim() === '') throw invalid('A server needs a name; the empty string is not one.');
    if (!isObject(entry)) throw invalid(`Server "${name}": expected an object, got ${show(entry)}.`);
    const read = new FieldReader(name, entry, variables);
    if (isLeftOut(read)) continue;
    const server = parseServer(read, entry);
    nameUnknownMembers(read, entry);
    const tools = readToolFilter(entry, (member) =>
      read.error(`has ${show(entry[member])} as "${member}"; expected a list of names of tools`),
    );
    const connectTimeoutMs = read.milliseconds();
    parsed.push({
      ...server,
      ...(tools === undefined ? {} : { tools }),
      ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    });
  }
  return parsed;
}

/** `isActive` is Cherry Studio's word. */
function isLeftOut(read: FieldReader): boolean {
  const isOff = [read.flag('enabled'), read.flag('isActive')].includes(false);
  return isOff || read.flag('disabled') === true;
}

/** True for servers without `mcpServers` around them. */
function isBareList(document: JsonObject): boolean {
  return Object.values(document).some(
    (entry) => isObject(entry) && (entry.command !== undefined || entry.url !== undefined),
  );
}

function parseServer(read: FieldReader, entry: JsonObject): ServerConfig {
  const declared = read.transport();
  const protocol = read.oneOf(['protocol'], ['auto', 'v1', 'v2']) ?? 'auto';
  const [command, ...more] = read.command();
  const [member, url] = read.url();
  if ((command === undefined) === (url === undefined)) {
    throw read.error(
      command === undefined
        ? `has neither "command" nor "url"${besides(entry)}; give one of them`
        : 'has both "command" and "url"; give one of them',
    );
  }
  if (command !== undefined) {
    if (declared !== undefined && declared !== 'stdio') {
      throw read.error(
        `has a "command" and the type "${declared}"; use "stdio", or give a "url" in place of the command`,
      );
    }
    if (command.trim() === '') throw read.error('has an empty "command"; name the program to start');
    return {
      kind: 'stdio',
      name: read.server,
      command,
      args: [...more, ...read.strings('args')],
      env: { ...read.envFile(), ...read.record('environment'), ...read.record('env') },
      cwd: read.string('cwd'),
      protocol,
    };
  }
  if (declared === 'stdio') throw read.error('has a "url" and the type "stdio"; use "http" or "sse"');
  return {
    kind: 'remote',
    name: read.server,
    url: read.httpUrl(url ?? ''),
    // Gemini CLI has a member of its own for streamable HTTP.
    transport: declared ?? (member === 'httpUrl' ? 'http' : 'auto'),
    headers: read.headers(),
    protocol,
  };
}
