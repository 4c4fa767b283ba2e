import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, resolve, sep } from 'node:path';
import { parseEnv } from 'node:util';
import { ObservatoryError, withoutUserInfo } from '../base/index.ts';
import { isObject, type JsonObject, readList, stringAt } from '../json/index.ts';
import { readReason } from './unavailable.ts';

/** What the variables of a config stand for. */
export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values of `${input:id}`. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The `inputs` of VS Code's file, which say what each is for. */
  readonly asked: unknown;
  readonly workspace: string | undefined;
}

/** Headers of each request, or a function that gives them: asked before each request, and once more after a 401. */
export type HeaderSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** Reads the fields of one server; every error names the server and the field. */
export class FieldReader {
  readonly server: string;
  readonly #fields: JsonObject;
  readonly #variables: Variables | undefined;

  constructor(server: string, fields: JsonObject, variables: Variables | undefined) {
    this.server = server;
    this.#fields = fields;
    this.#variables = variables;
  }

  error(what: string): ObservatoryError {
    return invalid(`Server "${this.server}" ${what}${what.endsWith('?') ? '' : '.'}`);
  }

  string(field: string): string | undefined {
    const value = this.#fields[field];
    return value === undefined || value === null ? undefined : this.#text(`"${field}"`, value);
  }

  /** A switch; the words for it count too. */
  flag(field: string): boolean | undefined {
    const value = this.#fields[field];
    if (value === undefined || value === null) return undefined;
    const text = String(value).trim().toLowerCase();
    if (text === 'true' || text === 'false') return text === 'true';
    throw this.error(`has ${show(value)} as "${field}"; use true or false`);
  }

  /** The program, and the arguments beside it where a list has both. */
  command(): readonly string[] {
    const { command } = this.#fields;
    if (Array.isArray(command)) return this.strings('command');
    const text = this.string('command');
    return text === undefined ? [] : [text];
  }

  /** The address, and the member it is in; `httpUrl` is Gemini CLI's name for it, `serverUrl` that of Windsurf. */
  url(): readonly [string, string | undefined] {
    const member = ['url', 'httpUrl', 'serverUrl'].find((name) => this.#fields[name] !== undefined) ?? 'url';
    return [member, this.string(member)];
  }

  /** `connect_timeout` in seconds, or what Codex calls it. */
  milliseconds(): number | undefined {
    for (const [field, unit] of [
      ['connect_timeout', 1_000],
      ['startup_timeout_sec', 1_000],
      ['startup_timeout_ms', 1],
    ] as const) {
      const value = this.#fields[field];
      if (value === undefined || value === null) continue;
      const number = typeof value === 'string' ? Number(value) : value;
      if (typeof number === 'number' && number > 0 && number * unit < MAX_TIMER_MS) return number * unit;
      throw this.error(`has ${show(value)} as "${field}"; expected a number above 0`);
    }
    return undefined;
  }

  /** `type`, in any spelling that clients have for it; undefined where it does not say which. */
  transport(): 'stdio' | 'http' | 'sse' | undefined {
    const field = ['type', 'transport'].find((name) => this.#fields[name] !== undefined) ?? 'type';
    const value = this.#fields[field];
    if (value === undefined || value === null) return undefined;
    const plain = typeof value === 'string' ? value.toLowerCase().replace(/[^a-z]/g, '') : '';
    const found = TRANSPORTS.get(plain);
    if (found === undefined)
      throw this.error(`has ${show(value)} as "${field}"; use one of stdio, http, streamable-http, sse`);
    return found === 'remote' ? undefined : found;
  }

  /** The variables of VS Code's `envFile`. */
  envFile(): Record<string, string> {
    const path = this.string('envFile');
    if (path === undefined) return {};
    const file = resolve(this.#variables?.workspace ?? '.', path);
    try {
      if (statSync(file).size > MAX_ENV_FILE) throw new Error('it is too large');
      return parseEnv(readFileSync(file, 'utf8')) as Record<string, string>;
    } catch (cause) {
      throw this.error(`has ${show(path)} as "envFile", which cannot be read (${readReason(cause)})`);
    }
  }

  strings(field: string): string[] {
    const value = this.#fields[field] ?? [];
    if (!Array.isArray(value))
      throw this.error(`has ${show(value)} as "${field}"; expected a list of strings`);
    return value.map((item, index) => this.#text(`"${field}[${index}]"`, item));
  }

  record(field: string): Record<string, string> {
    const value = this.#fields[field] ?? {};
    if (!isObject(value)) throw this.error(`has ${show(value)} as "${field}"; expected an object of strings`);
    // In VS Code null says that a variable is not set.
    const given = Object.entries(value).filter(([, item]) => item !== null);
    const entries = given.map(([key, item]) => {
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

  headers(): HeaderSource {
    const given = this.#fields.headers;
    if (typeof given === 'function') return given as HeaderSource;
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
        `has ${show(withoutUserInfo(text))} as "url"; expected an address that starts with http:// or https://`,
      );
    }
    return url;
  }

  #text(label: string, value: unknown): string {
    if (typeof value !== 'string') throw this.error(`has ${show(value)} as ${label}; expected a string`);
    if (this.#variables === undefined) return value;
    const { text, missing } = expandVariables(value, this.#variables);
    const [first] = missing;
    if (first !== undefined) throw this.error(whatIsMissing(first, label, this.#variables));
    if (text.includes('\0')) throw this.error(`has a NUL character in ${label}; remove it`);
    return text;
  }
}

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

export function invalid(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_SERVER_CONFIG', message, { cause });
}

const MAX_ENV_FILE = 1_048_576;
/** The longest time of a timer in Node. */
const MAX_TIMER_MS = 2 ** 31;

const TRANSPORTS: ReadonlyMap<string, 'stdio' | 'http' | 'sse' | 'remote'> = new Map([
  ['stdio', 'stdio'],
  ['local', 'stdio'],
  ['http', 'http'],
  ['https', 'http'],
  ['streamablehttp', 'http'],
  ['httpstream', 'http'],
  ['sse', 'sse'],
  ['remote', 'remote'],
]);

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, `${kind:name}`, `${/}`, OpenCode's `{env:NAME}`, or the escaped `$${`. */
const VARIABLE =
  /\$\$\{|(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*|\/)(?::-([^}]*))?\}|\$\{([A-Za-z]{1,30}:[\w .:/-]{1,200})\}/g;

/**
 * Replaces variables in a config string, in the forms of Claude Code (`${NAME}`, `${NAME:-default}`), VS Code and Cursor
 * (`${env:NAME}`, `${input:id}`, `${userHome}`, `${workspaceFolder}`) and OpenCode (`{env:NAME}`). Everything else stays as it is. An empty variable
 * takes the default, as in a shell.
 */
function expandVariables(text: string, variables: Variables): { text: string; missing: string[] } {
  const missing: string[] = [];
  // Behind the last brace no variable can end. Without the cut each `${A:-` there would be searched to the end.
  const end = text.lastIndexOf('}') + 1;
  const replaced = (whole: string, name?: string, fallback?: string, kind?: string): string => {
    const asked = name ?? kind;
    if (asked === undefined) return '${'; // the escape
    const value = kind === undefined ? namedValue(asked, variables) : inputValue(kind, variables);
    if (value !== undefined && (value !== '' || fallback === undefined)) return value;
    if (fallback !== undefined) return fallback;
    missing.push(asked);
    return whole;
  };
  const expanded = text.slice(0, end).replace(VARIABLE, replaced);
  return { text: expanded + text.slice(end).replaceAll('$${', () => '${'), missing };
}

function namedValue(name: string, { env, workspace }: Variables): string | undefined {
  const own = Object.hasOwn(env, name) ? env[name] : undefined;
  if (own !== undefined) return own;
  switch (name) {
    case 'userHome':
      return homedir();
    case 'pathSeparator':
    case '/':
      return sep;
    case 'workspaceFolder':
      return workspace;
    case 'workspaceFolderBasename':
      return workspace && basename(workspace);
    default:
      return undefined;
  }
}

function inputValue(name: string, { inputs }: Variables): string | undefined {
  const id = name.startsWith('input:') ? name.slice('input:'.length) : '';
  return Object.hasOwn(inputs, id) ? inputs[id] : undefined;
}

function whatIsMissing(name: string, label: string, { asked }: Variables): string {
  const used = `uses $\{${name}} in ${label}`;
  if (name.startsWith('workspaceFolder'))
    return `${used}, and the workspace is known only for a file in .vscode or .cursor; write the path`;
  if (!name.includes(':'))
    return `${used}, and that variable is not set; set it, or write $\{${name}:-default}`;
  if (!name.startsWith('input:'))
    return `${used}, which only its own client can replace; write the value, or $\{NAME} for an environment variable`;
  const id = name.slice('input:'.length);
  const about = readList(asked).find((input) => stringAt(input, 'id') === id);
  const description = stringAt(about, 'description');
  const meant = description === undefined ? '' : ` (${description})`;
  return `${used}, an input${meant} that was not given; give it as \`inputs: { "${id}": ... }\`, or write $\{NAME} for an environment variable in its place`;
}
