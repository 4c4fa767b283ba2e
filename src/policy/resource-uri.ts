/** URIs of resources against the patterns of a policy. A URI that readers take for different resources matches no pattern. */
import { compileLinear } from '../json/index.ts';
import { invalidPolicy } from './policy-file.ts';

/** Longest URI that is looked at, in UTF-16 units. */
export const MAX_URI = 4_096;

/** Most times that a URI may be percent-encoded over. */
const MAX_ENCODINGS = 4;

/** Schemes whose hosts are names of the DNS, in any case, and their ports. */
const PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443', ftp: '21' };

/** A URI or pattern as it is compared: the host in lower case, without the scheme's own port and the user. */
interface Comparable {
  readonly user: string | undefined;
  readonly text: string;
}

/**
 * Compiles patterns: `*` matches any characters of one segment, or of the host, `**` any characters. Patterns without either
 * are exact.
 */
export function uriMatcher(server: string, patterns: readonly string[]): (uri: string) => boolean {
  const exact = new Set(patterns);
  const globs = patterns.map((pattern) => {
    const { user, text } = comparable(pattern);
    try {
      return { user, form: compileLinear(`^${globSource(text)}$`) };
    } catch (cause) {
      throw invalidPolicy(`The resource pattern '${pattern}' of '${server}' cannot be used`, cause);
    }
  });
  return (uri) => {
    if (exact.has(uri)) return true;
    if (!isPlainUri(uri)) return false;
    const { user, text } = comparable(uri);
    // A user is part of what is read: only a pattern that names it means it.
    return globs.some((glob) => glob.user === user && glob.form.test(text));
  };
}

/** Whether a URI names a user, as `https://user@host/`: what looks like a host to one reader is the user to another. */
export function namesUser(uri: string): boolean {
  return comparable(uri).user !== undefined;
}

/** Whether a URI in its normal form can match the pattern; one without `*` matches what is written. */
export function canMatch(pattern: string): boolean {
  return !pattern.includes('*') || isPlainUri(pattern.replace(/\*+/g, 'x'));
}

function globSource(pattern: string): string {
  const path = /^[^:]*:(?:\/\/[^/?#]*)?/.exec(pattern)?.[0].length ?? 0;
  return pattern.replace(/\*+|[\\^$.+?()[\]{}|/]/g, (found, at: number) => {
    if (!found.startsWith('*')) return `\\${found}`;
    if (found.length > 1) return '[^\\n]*';
    return at < path ? '[^/?#@:]*' : '[^/?#]*';
  });
}

const PARTS = /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?([^/?#]*)(.*)$/s;

function comparable(uri: string): Comparable {
  const [, scheme = '', user, host = '', rest = ''] = PARTS.exec(uri) ?? [];
  if (scheme === '') return { user: undefined, text: uri };
  const path = rest === '' && PORTS[scheme] !== undefined ? '/' : rest;
  return { user, text: `${scheme}://${comparableHost(scheme, host)}${path}` };
}

function comparableHost(scheme: string, host: string): string {
  const port = PORTS[scheme];
  if (port === undefined) return scheme === 'file' ? host.toLowerCase() : host;
  const lower = host.toLowerCase();
  return lower.endsWith(`:${port}`) ? lower.slice(0, -port.length - 1) : lower;
}

/**
 * Whether every reader takes the URI for the same resource: it is in the normal form of the URL standard, but for the case
 * of a DNS name and the scheme's own port, and however often its escapes are read, no reader finds a dot segment, an empty
 * one, a backslash, white space or an invisible character in it.
 */
export function isPlainUri(uri: string): boolean {
  if (uri.length > MAX_URI || !/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) return false;
  if (!isNormal(uri)) return false;
  const after = uri.slice(uri.indexOf(':') + 1).replace(/^\/\//, '');
  const segments = after.split('/').length;
  return (
    after !== '' && findReadings(after).every((text) => text !== undefined && isPlainText(text, segments))
  );
}

function isNormal(uri: string): boolean {
  const { protocol, hostname, href } = new URL(uri);
  if (href === uri || href === `${uri}/`) return !/^\.|\.\.|\.$/.test(hostname) || !isDns(protocol);
  const [, scheme = '', user, host = ''] = PARTS.exec(uri) ?? [];
  if (PORTS[scheme] === undefined || user !== undefined) return false;
  const { text } = comparable(uri);
  const name = comparableHost(scheme, host).replace(/:\d+$/, '');
  return href === text && hostname === name && !/^\.|\.\.|\.$/.test(name);
}

const isDns = (protocol: string): boolean => PORTS[protocol.slice(0, -1)] !== undefined;

/** The text as it is, and as it is after its escapes were read once, twice and so on; undefined for one that cannot be. */
function findReadings(text: string): readonly (string | undefined)[] {
  const readings: (string | undefined)[] = [text];
  for (let last = text; last.includes('%'); ) {
    const next = unescaped(last, readings.length === 1);
    if (next === last) break;
    readings.push(readings.length > MAX_ENCODINGS ? undefined : next);
    if (next === undefined || readings.length > MAX_ENCODINGS + 1) break;
    last = next;
  }
  return readings;
}

/** Undefined where readers differ: bytes that are no UTF-8, `%u002e`, and in what was sent a `%` that escapes nothing. */
function unescaped(text: string, isSent: boolean): string | undefined {
  if (/%u[0-9a-f]{4}/i.test(text) || (isSent && /%(?![0-9a-f]{2})/i.test(text))) return undefined;
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => decodeURIComponent(escapes));
  } catch {
    return undefined;
  }
}

/**
 * Whether a reading has only segments that stay where they are. Also as it looks to readers that fold full-width forms, take
 * `;` for the end of a segment, or drop blanks and dots at its end.
 */
function isPlainText(text: string, segments: number): boolean {
  const seen = text.normalize('NFKC');
  if (/[\\\p{C}\p{Zl}\p{Zp}]/u.test(seen) || /^\s|\s$/.test(seen)) return false;
  const path = seen.split(/[?#]/, 1)[0] as string;
  if (path.includes('//') || seen.split('/').length !== segments) return false;
  return seen.split(/[/?#]/).every((segment) => !/^[\s.]*\.[\s.]*(?:;|$)/.test(segment));
}
