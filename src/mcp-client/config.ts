import { readFile } from 'node:fs/promises';
import { FILE_LIMITS, isObject, type JsonObject, parseStrictJson } from '../json/index.ts';
import { FieldReader, type HeaderSource, invalid, show } from './config-fields.ts';
import { reasonOf } from './unavailable.ts';

/** The MCP client for a server: `v1` (protocols to 2025-11-25), `v2` (2026-07-28 too), or `auto`: v1 first, then v2. */
export type ProtocolChoice = 'auto' | 'v1' | 'v2';

/** A server that runs as a child process and communicates over its stdin and stdout. */
export interface StdioServerConfig {
  readonly kind: 'stdio';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment that a server inherits; see {@link serverEnvironment}. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly protocol: ProtocolChoice;
}

/** A server that is reached over HTTP. */
export interface RemoteServerConfig {
  readonly kind: 'remote';
  readonly name: string;
  readonly url: URL;
  /** `auto` tries streamable HTTP and falls back to SSE when the server refuses with a 4xx status. */
  readonly transport: 'auto' | 'http' | 'sse';
  readonly headers: HeaderSource;
  readonly protocol: ProtocolChoice;
}

export type ServerConfig = StdioServerConfig | RemoteServerConfig;

export interface ParseConfigOptions {
  /** Replace `${NAME}`, `${env:NAME}` and `${NAME:-default}` in strings. @defaultValue true */
  readonly expandVariables?: boolean | undefined;
  /** The variables. @defaultValue process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
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
 * may also be given without `mcpServers` around them. `type` (or `transport`) is `stdio`, `http`,
 * `streamable-http` or `sse`; without it a server with a `url` is tried over streamable HTTP, then SSE. `protocol`
 * chooses the client ({@link ProtocolChoice}); a server with `"disabled": true` is left out. In `command`, `args`,
 * `env`, `cwd`, `url` and `headers`, `${NAME}` is replaced by an environment variable, `${NAME:-default}` by one with
 * a default, and `$${` by a literal `${`.
 *
 * @throws ObservatoryError `INVALID_SERVER_CONFIG`, naming the server, the field, the value and the remedy.
 */
export async function loadServerConfig(
  config: unknown,
  options: ParseConfigOptions = {},
): Promise<readonly ServerConfig[]> {
  return parseEntries(await readServerEntries(config), options);
}

/** As {@link loadServerConfig}, for an object that is already in memory. */
export function parseServerConfig(
  document: unknown,
  options: ParseConfigOptions = {},
): readonly ServerConfig[] {
  return parseEntries(entriesOf(document), options);
}

/**
 * The entries of a server config by name, as they are written: neither checked nor expanded.
 * @throws ObservatoryError `INVALID_SERVER_CONFIG` when the file cannot be read or holds no entries.
 */
export async function readServerEntries(config: unknown): Promise<JsonObject> {
  if (typeof config !== 'string') return entriesOf(config);
  const file = `The server config file ${JSON.stringify(config)}`;
  let text: string;
  try {
    text = await readFile(config, 'utf8');
  } catch (cause) {
    throw invalid(`${file} cannot be read (${reasonOf(cause)}); give the path of a JSON file.`, cause);
  }
  let document: unknown;
  try {
    document = parseStrictJson(text.replace(/^\uFEFF/, ''), FILE_LIMITS);
  } catch (cause) {
    throw invalid(`${file} is not valid JSON (${reasonOf(cause)}).`, cause);
  }
  return entriesOf(document);
}

function entriesOf(document: unknown): JsonObject {
  if (!isObject(document)) throw invalid(`Expected a server config object, got ${show(document)}.`);
  const servers = document.mcpServers ?? (isBareList(document) ? document : undefined);
  if (isObject(servers)) return servers;
  throw invalid(
    `Expected "mcpServers" to be an object of servers by name, got ${show(servers)}; write { "mcpServers": { "name": { "command": "..." } } }.`,
  );
}

function parseEntries(servers: JsonObject, options: ParseConfigOptions): readonly ServerConfig[] {
  const variables = options.expandVariables === false ? undefined : (options.env ?? process.env);
  const parsed: ServerConfig[] = [];
  for (const [name, entry] of Object.entries(servers)) {
    if (name.trim() === '') throw invalid('A server needs a name; the empty string is not one.');
    if (!isObject(entry)) throw invalid(`Server "${name}": expected an object, got ${show(entry)}.`);
    if (entry.disabled === true) continue;
    parsed.push(parseServer(new FieldReader(name, entry, variables)));
  }
  return parsed;
}

/** True for servers without `mcpServers` around them. */
function isBareList(document: JsonObject): boolean {
  return Object.values(document).some(
    (entry) => isObject(entry) && (entry.command !== undefined || entry.url !== undefined),
  );
}

function parseServer(read: FieldReader): ServerConfig {
  const declared = read.oneOf(['type', 'transport'], ['stdio', 'http', 'streamable-http', 'sse']);
  const protocol = read.oneOf(['protocol'], ['auto', 'v1', 'v2']) ?? 'auto';
  const command = read.string('command');
  const url = read.string('url');
  if ((command === undefined) === (url === undefined)) {
    throw read.error(
      command === undefined
        ? 'has neither "command" nor "url"; give one of them'
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
      args: read.strings('args'),
      env: read.record('env'),
      cwd: read.string('cwd'),
      protocol,
    };
  }
  if (declared === 'stdio') throw read.error('has a "url" and the type "stdio"; use "http" or "sse"');
  return {
    kind: 'remote',
    name: read.server,
    url: read.httpUrl(url ?? ''),
    transport: declared === undefined ? 'auto' : declared === 'sse' ? 'sse' : 'http',
    headers: read.headers(),
    protocol,
  };
}
