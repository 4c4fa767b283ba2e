import { readFile } from 'node:fs/promises';
import { ObservatoryError } from '../base/index.ts';
import { expandVariables } from './variables.ts';

/** Which MCP client speaks to a server: SDK v1 (to spec 2025-11-25), client v2 (2026-07-28 too), or v1 first, then v2. */
export type ProtocolChoice = 'auto' | 'v1' | 'v2';

/** A server that is started as a child process and spoken to over its stdin and stdout. */
export interface StdioServerConfig {
  readonly kind: 'stdio';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the small environment a server inherits; see {@link serverEnvironment}. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly protocol: ProtocolChoice;
}

/** A server that is reached over HTTP. */
export interface RemoteServerConfig {
  readonly kind: 'remote';
  readonly name: string;
  readonly url: URL;
  /** `auto` tries streamable HTTP first and falls back to SSE where the server refuses it with a 4xx status. */
  readonly transport: 'auto' | 'http' | 'sse';
  readonly headers: Readonly<Record<string, string>>;
  readonly protocol: ProtocolChoice;
}

export type ServerConfig = StdioServerConfig | RemoteServerConfig;

export interface ParseConfigOptions {
  /** Replace `${NAME}`, `${env:NAME}` and `${NAME:-default}` in strings. @defaultValue true */
  readonly expandVariables?: boolean | undefined;
  /** Where the variables are looked up. @defaultValue process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a Claude-Desktop style list of servers, given as the object itself or as the path of a JSON file:
 *
 * ```json
 * { "mcpServers": {
 *   "files":  { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "env": {}, "cwd": "." },
 *   "search": { "url": "https://example.com/mcp", "type": "http", "headers": { "authorization": "Bearer ${SEARCH_KEY}" } }
 * } }
 * ```
 *
 * `type` (or `transport`) may be `stdio`, `http`, `streamable-http` or `sse`; without it a server with `url` is tried
 * over streamable HTTP, then SSE. `protocol` chooses the client ({@link ProtocolChoice}); a server with
 * `"disabled": true` is left out. In `command`, `args`, `env`, `cwd`, `url` and `headers`, `${NAME}` stands for an
 * environment variable, `${NAME:-default}` for one with a default, `$${` for a literal `${`.
 *
 * @throws ObservatoryError `INVALID_SERVER_CONFIG`, naming the server, the field, the value and the remedy.
 */
export async function loadServerConfig(
  config: unknown,
  options: ParseConfigOptions = {},
): Promise<readonly ServerConfig[]> {
  if (typeof config !== 'string') return parseServerConfig(config, options);
  let text: string;
  try {
    text = await readFile(config, 'utf8');
  } catch (cause) {
    throw invalid(
      `The server config file ${JSON.stringify(config)} cannot be read (${reason(cause)}); give the path of a JSON file.`,
      cause,
    );
  }
  let document: unknown;
  try {
    document = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw invalid(
      `The server config file ${JSON.stringify(config)} is not valid JSON (${reason(cause)}).`,
      cause,
    );
  }
  return parseServerConfig(document, options);
}

/** As {@link loadServerConfig}, for an object that is already in memory. */
export function parseServerConfig(
  document: unknown,
  options: ParseConfigOptions = {},
): readonly ServerConfig[] {
  if (!isFields(document)) throw invalid(`Expected a server config object, got ${show(document)}.`);
  const servers = document.mcpServers;
  if (!isFields(servers)) {
    throw invalid(
      `Expected "mcpServers" to be an object of servers by name, got ${show(servers)}; write { "mcpServers": { "name": { "command": "..." } } }.`,
    );
  }
  const lookup = options.env ?? process.env;
  const expand =
    options.expandVariables === false ? undefined : (text: string) => expandVariables(text, lookup);
  const parsed: ServerConfig[] = [];
  for (const [name, entry] of Object.entries(servers)) {
    if (name.trim() === '') throw invalid('A server needs a name; the empty string is not one.');
    if (!isFields(entry)) throw invalid(`Server "${name}": expected an object, got ${show(entry)}.`);
    if (entry.disabled === true) continue;
    parsed.push(parseServer(new FieldReader(name, entry, expand)));
  }
  return parsed;
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

/** Reads the fields of one server, so that every complaint names the server and the field. */
class FieldReader {
  readonly server: string;
  readonly #fields: Fields;
  readonly #expand: ((text: string) => { text: string; missing: string[] }) | undefined;

  constructor(
    server: string,
    fields: Fields,
    expand: ((text: string) => { text: string; missing: string[] }) | undefined,
  ) {
    this.server = server;
    this.#fields = fields;
    this.#expand = expand;
  }

  error(what: string): ObservatoryError {
    return invalid(`Server "${this.server}" ${what}.`);
  }

  string(field: string): string | undefined {
    const value = this.#fields[field];
    return value === undefined || value === null ? undefined : this.#text(`"${field}"`, value);
  }

  strings(field: string): string[] {
    const value = this.#fields[field] ?? [];
    if (!Array.isArray(value))
      throw this.error(`has ${show(value)} as "${field}"; expected a list of strings`);
    return value.map((item, index) => this.#text(`"${field}[${index}]"`, item));
  }

  record(field: string): Record<string, string> {
    const value = this.#fields[field] ?? {};
    if (!isFields(value)) throw this.error(`has ${show(value)} as "${field}"; expected an object of strings`);
    const entries = Object.entries(value).map(([key, item]) => {
      // Numbers and booleans are a frequent slip in hand-written files and mean one thing only.
      const text = typeof item === 'number' || typeof item === 'boolean' ? String(item) : item;
      // The type alone: environments and headers carry secrets.
      if (typeof text !== 'string') {
        throw this.error(`has a value of type ${typeof text} as "${field}.${key}"; expected a string`);
      }
      return [key, this.#text(`"${field}.${key}"`, text)] as const;
    });
    return Object.fromEntries(entries);
  }

  headers(): Record<string, string> {
    const headers = this.record('headers');
    try {
      new Headers(headers);
    } catch {
      // Neither the cause nor a value goes into the message: headers carry credentials.
      throw this.error(
        'has "headers" that HTTP does not allow; look for spaces and line breaks in their names and values',
      );
    }
    return headers;
  }

  oneOf<const T extends string>(fields: readonly string[], allowed: readonly T[]): T | undefined {
    for (const field of fields) {
      const value = this.#fields[field];
      if (value === undefined || value === null) continue;
      const found = allowed.find((item) => item === value);
      if (found === undefined) {
        throw this.error(`has ${show(value)} as "${field}"; use one of ${allowed.join(', ')}`);
      }
      return found;
    }
    return undefined;
  }

  httpUrl(text: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      throw this.error(
        `has ${show(text)} as "url"; expected an address that starts with http:// or https://`,
      );
    }
    return url;
  }

  #text(label: string, value: unknown): string {
    if (typeof value !== 'string') throw this.error(`has ${show(value)} as ${label}; expected a string`);
    if (this.#expand === undefined) return value;
    const { text, missing } = this.#expand(value);
    if (missing.length > 0) {
      throw this.error(
        `uses $\{${missing[0]}} in ${label}, and that variable is not set; set it, or write $\{${missing[0]}:-default}`,
      );
    }
    if (text.includes('\0')) throw this.error(`has a NUL character in ${label}; remove it`);
    return text;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function invalid(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_SERVER_CONFIG', message, { cause });
}
