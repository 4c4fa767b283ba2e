/**
 * The formats that are checked, each in one pass over the text. A regular expression here has no two adjacent repeats
 * that match the same character, so it cannot backtrack over the text.
 */
import { isIPv4, isIPv6 } from 'node:net';

type FormatCheck = (value: string) => boolean;

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(z|([+-])(\d\d):(\d\d))?$/i;
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** RFC 3339 full-date. */
function isDate(text: string): boolean {
  const match = DATE.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (month === 2 && !isLeap ? 28 : (DAYS[month - 1] ?? 0));
}

/** RFC 3339 full-time. A leap second is one at 23:59:60 UTC. */
function isTime(text: string, needsZone: boolean): boolean {
  const match = TIME.exec(text);
  if (match === null) return false;
  const [hour, minute, second] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (match[4] === undefined && needsZone) return false;
  const [zoneHour, zoneMinute] = [Number(match[6] ?? 0), Number(match[7] ?? 0)];
  if (hour > 23 || minute > 59 || zoneHour > 23 || zoneMinute > 59) return false;
  if (second < 60) return true;
  const offset = (match[5] === '-' ? -1 : 1) * (zoneHour * 60 + zoneMinute);
  return second === 60 && (((hour * 60 + minute - offset) % 1_440) + 1_440) % 1_440 === 1_439;
}

function isDateTime(text: string, needsZone: boolean): boolean {
  return isDate(text.slice(0, 10)) && /[Tt ]/.test(text.charAt(10)) && isTime(text.slice(11), needsZone);
}

const DURATION = /^P(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/;
/** ISO 8601 has no gaps: hours and seconds need minutes between them, years and days months. */
const DURATION_GAP = /^P(?:\d+Y\d+D|.*T\d+H\d+S)/;

const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => LABEL.test(label));
}

const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const QUOTED_LOCAL = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])+"$/;

/** RFC 5321 section 4.1.2: mailbox with a domain or an address literal. */
function isEmail(text: string): boolean {
  if (text.length > 320) return false;
  const at = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || local.length > 64 || !(LOCAL.test(local) || QUOTED_LOCAL.test(local))) return false;
  if (!domain.startsWith('[')) return isHostname(domain);
  if (!domain.endsWith(']')) return false;
  const literal = domain.slice(1, -1);
  return isAddress(literal) || (/^IPv6:/i.test(literal) && isIp6(literal.slice(5)));
}

function isAddress(text: string): boolean {
  return text.length <= 15 && isIPv4(text);
}

function isIp6(text: string): boolean {
  return text.length <= 45 && !text.includes('%') && isIPv6(text);
}

/** Characters of RFC 3986 and percent-encoding; `#` at most once. */
const URI_CHARS =
  /^(?:[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*(?:#(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?$/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/** RFC 3986. */
function isUri(text: string): boolean {
  const scheme = SCHEME.exec(text);
  return scheme !== null && URI_CHARS.test(text) && isHierarchy(text.slice(scheme[0].length));
}

function isUriReference(text: string): boolean {
  if (isUri(text)) return true;
  const end = text.search(/[/?#]/);
  const hasColon = text.slice(0, end < 0 ? text.length : end).includes(':');
  return !hasColon && URI_CHARS.test(text) && isHierarchy(text);
}

/** What follows the scheme: brackets only around the address of a host, a port of digits. */
function isHierarchy(text: string): boolean {
  if (!text.startsWith('//')) return !/[[\]]/.test(text);
  const end = text.slice(2).search(/[/?#]/);
  const authority = end < 0 ? text.slice(2) : text.slice(2, end + 2);
  if (end >= 0 && /[[\]]/.test(text.slice(end + 2))) return false;
  const at = authority.lastIndexOf('@');
  if (authority.slice(0, Math.max(at, 0)).match(/[@[\]]/) !== null) return false;
  const host = authority.slice(at + 1);
  const literal = /^\[([0-9A-Za-z:.]+)\](?::\d*)?$/.exec(host);
  if (literal !== null) return isIp6(literal[1] ?? '') || /^v[0-9a-f]+\.[\w:.-]+$/i.test(literal[1] ?? '');
  return /^[^:[\]]*(?::\d*)?$/.test(host);
}

const URI_TEMPLATE =
  /^(?:[^\p{Cc} "<>%\\^`{|}]|%[0-9A-Fa-f]{2}|\{[+#./;?&=,!@|]?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})*(?::[1-9]\d{0,3}|\*)?(?:,(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})*(?::[1-9]\d{0,3}|\*)?)*\})*$/u;

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** Longest text read as a regular expression. */
const MAX_REGEX = 2_048;

function isRegex(text: string): boolean {
  if (text.length > MAX_REGEX) return false;
  try {
    return new RegExp(text, 'u') !== undefined;
  } catch {
    return false;
  }
}

const always: FormatCheck = () => true;

export const TEXT_FORMATS: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['date', isDate],
  ['time', (text) => isTime(text, true)],
  ['date-time', (text) => isDateTime(text, true)],
  ['iso-time', (text) => isTime(text, false)],
  ['iso-date-time', (text) => isDateTime(text, false)],
  ['duration', (text) => DURATION.test(text) && !/[PT]$/.test(text) && !DURATION_GAP.test(text)],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isAddress],
  ['ipv6', isIp6],
  ['uri', isUri],
  ['uri-reference', isUriReference],
  ['url', (text) => /^(?:https?|ftp):\/\/[^/?#:]/i.test(text) && isUri(text)],
  ['uri-template', (text) => URI_TEMPLATE.test(text)],
  ['uuid', (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)],
  ['json-pointer', (text) => POINTER.test(text)],
  [
    'json-pointer-uri-fragment',
    (text) => text.startsWith('#') && isUriReference(text) && POINTER.test(text.slice(1)),
  ],
  ['relative-json-pointer', (text) => /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/.test(text)],
  ['regex', isRegex],
  ['byte', (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)],
  ['password', always],
  ['binary', always],
]);

const isInt = (value: number, max: number): boolean =>
  Number.isInteger(value) && value <= max && value >= -max - 1;

export const NUMBER_FORMATS: ReadonlyMap<string, (value: number) => boolean> = new Map([
  ['int32', (value: number) => isInt(value, 2 ** 31 - 1)],
  ['int64', Number.isInteger],
  ['float', Number.isFinite],
  ['double', Number.isFinite],
]);
