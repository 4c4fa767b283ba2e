import { ObservatoryError, withoutUserInfo } from '../base/index.ts';
import { isObject, type JsonObject } from '../json/index.ts';

type Variables = Readonly<Record<string, string | undefined>>;

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
    if (!isObject(value)) throw this.error(`has ${show(value)} as "${field}"; expected an object of strings`);
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
    if (missing.length > 0) {
      throw this.error(
        `uses $\{${missing[0]}} in ${label}, and that variable is not set; set it, or write $\{${missing[0]}:-default}`,
      );
    }
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

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, or the escaped `$${`. */
const VARIABLE = /\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces variables in a config string, in the forms of Claude Code (`${NAME}`, `${NAME:-default}`) and VS Code
 * (`${env:NAME}`). Everything else stays as it is. An empty variable takes the default, as in a shell.
 */
function expandVariables(text: string, variables: Variables): { text: string; missing: string[] } {
  const missing: string[] = [];
  // Behind the last brace no variable can end. Without the cut each `${A:-` there would be searched to the end.
  const end = text.lastIndexOf('}') + 1;
  const expanded = text
    .slice(0, end)
    .replace(VARIABLE, (whole, name: string | undefined, fallback: string | undefined) => {
      if (name === undefined) return '${'; // the escape
      const value = variables[name];
      if (value !== undefined && (value !== '' || fallback === undefined)) return value;
      if (fallback !== undefined) return fallback;
      missing.push(name);
      return whole;
    });
  return { text: expanded + text.slice(end).replaceAll('$${', () => '${'), missing };
}
