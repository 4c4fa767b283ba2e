import { type CompiledSchema, compileSchema, type SchemaReading, SchemaRefusedError } from '../json/index.ts';
import { readRealPath } from './real-path.ts';

/**
 * Compiles a schema an operator wrote. Unknown keywords such as `maxLenght` are refused, and there are four more for
 * addresses and paths. `emailDomainIn: ["example.com"]` takes one address of exactly these domains; `urlHostIn` a http(s) URL of
 * exactly these hosts; `pathWithin` an absolute path of one of these folders, or below it, as it is written;
 * `localPathWithin` the same of this machine, with links and `..` followed. All take only strings; a hand-written regular
 * expression such as `[^example.com$]` gets this wrong.
 *
 * @param reading `narrow` where what fits is let through, `wide` where what fits is stopped: either way a value that
 * cannot be judged by a limit, since it is of another type or readers differ about it, is not let through.
 * @throws SchemaRefusedError
 */
export function compileOperatorSchema(schema: object | boolean, reading?: SchemaReading): CompiledSchema {
  return compileSchema(schema, {
    strictWith: { emailDomainIn, urlHostIn, pathWithin, localPathWithin },
    reading,
  });
}

/**
 * A plain address: a local part without quotes, comments and white space, and without what mail systems took for a route
 * (`%`, `!`, `:`, `=`, `@`) or a shell for an option or command. Mail servers that follow routes send the rest elsewhere.
 */
const PLAIN_EMAIL =
  /^[A-Za-z0-9_][A-Za-z0-9_+'-]{0,63}(?:\.[A-Za-z0-9_+'-]{1,64}){0,32}@([A-Za-z0-9.-]{1,255})$/;

function emailDomainIn(given: unknown): (value: unknown) => boolean | undefined {
  const domains = new Set(readTexts(given, 'emailDomainIn').map((domain) => domain.toLowerCase()));
  return (value) => {
    if (typeof value !== 'string' || value.length > MAX_EMAIL_CHARS) return undefined;
    const domain = PLAIN_EMAIL.exec(value)?.[1];
    // Readers differ about an address with a dot at its end.
    return domain === undefined || domain.endsWith('.') ? undefined : domains.has(domain.toLowerCase());
  };
}

const MAX_EMAIL_CHARS = 320;

/** Labels of letters, digits and hyphens (RFC 1123), and a port where the rule names one. */
const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[1-9][0-9]{0,4})?$/;
const MAX_HOST_CHARS = 259;

/**
 * What curl, Python's urllib and the WHATWG parser read alike: a lower-case scheme, `//`, no user, a plain host in any
 * case, and after it only the characters of RFC 3986. Their readings differ for backslashes, tabs, full-width letters, missing
 * slashes and `@`, so that one checks a host and another connects elsewhere.
 */
const PLAIN_URL =
  /^(https?):\/\/([A-Za-z0-9.:-]{1,259})(?:[/?#](?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
const MAX_URL_CHARS = 8_192;

function urlHostIn(given: unknown): (value: unknown) => boolean | undefined {
  const hosts = new Set(readTexts(given, 'urlHostIn').map((host) => host.toLowerCase()));
  for (const host of hosts) {
    if (host.length > MAX_HOST_CHARS || !HOST.test(host)) {
      throw new SchemaRefusedError(
        `'urlHostIn' takes ASCII hosts such as "example.com" or "example.com:8443", not ${JSON.stringify(host.slice(0, 80))}`,
      );
    }
  }
  return (value) => {
    const { host, port, isDefaultPort } = readHost(value) ?? {};
    if (host === undefined) {
      // A rule about other hosts does not concern it, and one about this host cannot be sure.
      const other = hostOfLooseUrl(value);
      return other === undefined || hosts.has(other) ? undefined : false;
    }
    if (hosts.has(`${host}:${port}`) || (isDefaultPort === true && hosts.has(host))) return true;
    // It is the host, by a port of which the rule says nothing.
    return hosts.has(host) ? undefined : false;
  };
}

/** Where a URL leads that all parsers read alike; undefined for others. */
function readHost(
  value: unknown,
): { readonly host: string; readonly port: string; readonly isDefaultPort: boolean } | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL_CHARS) return undefined;
  const [, scheme = '', authority = ''] = PLAIN_URL.exec(value) ?? [];
  const [host = '', port = DEFAULT_PORTS[scheme] ?? '', ...rest] = authority.toLowerCase().split(':');
  if (rest.length > 0 || !HOST.test(`${host}:${port}`)) return undefined;
  // Numbers that are addresses, and labels that are no names.
  if (!URL.canParse(value) || new URL(value).hostname !== host) return undefined;
  return { host, port, isDefaultPort: port === DEFAULT_PORTS[scheme] };
}

/** As {@link PLAIN_URL}, with any printable characters in the path. Where the host ends is as clear. */
const LOOSE_URL = /^https?:\/\/([A-Za-z0-9.-]{1,253})(?::\d{1,5})?(?:\/[^\p{C}\\]*|[?#][^\p{C}\\@]*)$/u;

function hostOfLooseUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_URL_CHARS || value.includes('://', 8)) return undefined;
  const host = LOOSE_URL.exec(value)?.[1]?.toLowerCase();
  if (host === undefined || !HOST.test(host) || !URL.canParse(value)) return undefined;
  return new URL(value).hostname === host ? host : undefined;
}

/** An absolute path without empty parts and controls. */
const PLAIN_PATH = /^(?:\/[^/\p{C}]{1,255}){1,128}$/u;

/** Links are for who gives the path: one with `..` has no reading here. */
function pathWithin(given: unknown): (value: unknown) => boolean | undefined {
  const folders = readFolders(given, 'pathWithin');
  return (value) => {
    const path = readPlainPath(value);
    if (path === undefined || path.split('/').includes('..')) return undefined;
    return folders.some((folder) => isWithin(path, folder));
  };
}

function localPathWithin(given: unknown): (value: unknown) => boolean | undefined {
  const folders = readFolders(given, 'localPathWithin');
  return (value) => {
    const path = readPlainPath(value) === undefined ? undefined : readRealPath('/', value as string);
    if (path === undefined) return undefined;
    return folders.some((folder) => isWithin(path, readRealPath('/', folder) ?? folder));
  };
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

function readFolders(given: unknown, keyword: string): readonly string[] {
  return readTexts(given, keyword).map((folder) => {
    const path = readPlainPath(folder);
    if (path !== undefined && !/\/\.\.?(?:\/|$)/.test(folder)) return path;
    const shown = JSON.stringify(folder.slice(0, 80));
    throw new SchemaRefusedError(`'${keyword}' takes absolute folders without '.' and '..', not ${shown}`);
  });
}

const MAX_PATH_CHARS = 32_768;

/** The path without `.`, doubled slashes and one at its end. What begins with two is up to the system. */
function readPlainPath(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_PATH_CHARS || value.startsWith('//')) return undefined;
  const parts = value.split('/').filter((part) => part !== '' && part !== '.');
  const path = `/${parts.join('/')}`;
  return value.startsWith('/') && (path === '/' || PLAIN_PATH.test(path)) ? path : undefined;
}

function readTexts(given: unknown, keyword: string): readonly string[] {
  const isList = Array.isArray(given) && given.length > 0;
  if (!isList || !given.every((item) => typeof item === 'string' && item !== '')) {
    throw new SchemaRefusedError(`'${keyword}' takes a list of at least one text`);
  }
  return given as readonly string[];
}
