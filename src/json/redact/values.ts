/** What follows the name of a secret, and whether it is one. */
import { type Find, pickFind, type Reading } from './find.ts';
import { type NameKind, nameKind } from './names.ts';
import { isOpaque, isPlaceholder, isProse } from './opaque.ts';

const MAX_VALUE = 512;
const MAX_BARE = 128;
/** Values in each other of which none is secret, after which the rest of the run is taken for one. */
const MAX_NESTED = 8;

const BARE_VALUE = /[^\s"'`<>,;&(){}[\]|\\]{1,128}/y;
const REST_OF_LINE = /[^\r\n"'`\\]{1,512}/y;
const REST_OF_RUN = /[^\s"'`<>,;&]*/y;
const ENCODED_END = /%(?:25)?(?:2[2-7c]|0[ad]|3[be]|7d)|&(?:quot|#3[49]);/i;

/** How a name and its value are put together. */
export interface Assignment {
  readonly kind: NameKind;
  /** Whether the name is a key of JSON or the like, not a variable of code. */
  readonly isKey?: boolean;
  /** Whether only the operator is between the two: `name: value` is prose more often than `name=value`. */
  readonly isTight?: boolean;
  /** Whether it may be a list of words, or a comparison: only what looks like a secret is one. */
  readonly isLoose?: boolean;
  readonly reading?: Reading;
  /** Whether a word without digits is a value too: an argument of a command, a variable. */
  readonly isWord?: () => boolean;
}

/** The value at `from`, after its opening quote if it has one. */
export function findValue(
  text: string,
  from: number,
  quote: string | undefined,
  assignment: Assignment,
): Find | undefined {
  return quote === undefined ? findBare(text, from, assignment) : findQuoted(text, from, quote, assignment);
}

function findQuoted(text: string, from: number, quote: string, assignment: Assignment): Find | undefined {
  const to = closingQuote(text, from, quote);
  if (to === undefined) return findBare(text, from, { kind: assignment.kind });
  const value = text.slice(from, to);
  const isKey = assignment.isKey === true || assignment.isWord?.() === true;
  if (!isSecretMember(assignment.kind, value, isKey)) return undefined;
  if (assignment.isLoose === true && !isOpaque(value.replace(SCHEME, '$1'), 8)) return undefined;
  if (isKey && assignment.kind === 'weak' && LOGPROB.test(text.slice(to, to + 40))) return undefined;
  return { start: from, end: to, kind: 'secret' };
}

/** What follows a token of a model's answer. */
const LOGPROB = /^\\{0,7}["'],\s{0,20}\\{0,7}["'](?:logprob|bytes)/;

/** Where a quoted value ends; undefined if not within bounds. */
function closingQuote(text: string, from: number, quote: string): number | undefined {
  const near = text.slice(from, from + MAX_VALUE + quote.length);
  let at = near.indexOf(quote);
  // A quote that is escaped more often than the first belongs to the value.
  while (at > 0 && near.charAt(at - 1) === '\\') at = near.indexOf(quote, at + 1);
  return at < 1 ? undefined : from + at;
}

/**
 * Whether the whole value under a name is secret.
 * @param isKey whether the name is a key of JSON or the like, not a variable of code.
 */
export function isSecretMember(kind: NameKind, value: string, isKey: boolean): boolean {
  if (value === '' || isPlaceholder(value)) return false;
  if (isSecretName(value)) return false;
  if (kind === 'header') return isHeaderValue(value);
  if (kind === 'strong') return value.length >= (isKey ? 1 : 4) && !isProse(value);
  return value.length >= 8 && !/\s/.test(value) && ((isKey && kind === 'weak') || isOpaque(value, 8));
}

export function isSecretName(value: string): boolean {
  return value.length <= 64 && !/\d/.test(value) && nameKind(value) !== undefined;
}

const SCHEME =
  /^(?:bearer|basic|token|api-?key|ssws|digest|negotiate|ntlm|bot|key|genie-?key|oauth|aws4-hmac-sha256)\s+(.*)$/i;

/** `Bearer ...`, `Basic ...`, a bare token, `name=value; ...`. */
function isHeaderValue(value: string): boolean {
  const rest = SCHEME.exec(value)?.[1];
  if (rest !== undefined) return rest.length >= 8 && !isPlaceholder(rest) && !isProse(rest);
  if (/^[\w.-]{1,64}=[^\s;]{4}/.test(value)) return true;
  return value.length >= 8 && !/\s/.test(value);
}

function findBare(text: string, from: number, assignment: Assignment): Find | undefined {
  const { kind, isTight = false, isWord } = assignment;
  const form = kind === 'header' ? REST_OF_LINE : BARE_VALUE;
  form.lastIndex = from;
  let value = form.exec(text)?.[0].trimEnd();
  if (value === undefined) return undefined;
  if (value.includes('%') || text.charAt(from + value.length) === '&') {
    const encoded = value.search(ENCODED_END);
    if (encoded > 0) value = value.slice(0, encoded);
  }
  const to = from + value.length;
  if (kind === 'header') {
    const isSecret =
      isHeaderValue(value) && !isPlaceholder(value) && (value.includes(' ') || isOpaque(value, 8));
    return isSecret || isNested(from, to, assignment) ? { start: from, end: to, kind: 'secret' } : undefined;
  }
  const next = text.charAt(to);
  if (next === '(' || next === '[' || isSecretName(value)) return undefined;
  const isSecret =
    isOpaque(value, kind === 'strong' ? 6 : 8) ||
    (kind === 'strong' &&
      value.length >= 3 &&
      ((assignment.isKey === true && /^\d{4,40}$/.test(value)) ||
        (((isTight && isParameter(value, text, to)) || (value.length <= 64 && isWord?.() === true)) &&
          !isPlaceholder(value))));
  if (!isSecret && !isNested(from, to, assignment)) return undefined;
  if (value.length < MAX_BARE) return { start: from, end: to, kind: 'secret' };
  REST_OF_RUN.lastIndex = to;
  return { start: from, end: to + (REST_OF_RUN.exec(text)?.[0].length ?? 0), kind: 'secret' };
}

/** Whether a value that is no secret is the last of too many that begin in each other: a text made to be read often. */
function isNested(from: number, to: number, { reading }: Assignment): boolean {
  return reading !== undefined && reading.readValue(from, to) >= MAX_NESTED;
}

/** `password=letters` of a query, a connection string, an environment or a log line, not an argument of code. */
function isParameter(value: string, text: string, to: number): boolean {
  const next = text.charAt(to);
  if (!/^[&;\r\n"<\\ ]?$/.test(next)) return false;
  if (next === ' ' && !/^ {1,2}[a-z_][\w.-]{0,30}=[^=\s]/i.test(text.slice(to, to + 36))) return false;
  return /^[\w!@#$%^*+./=~-]+$/.test(value);
}

const LIST_ITEM = /[\s,]{0,40}(\\{0,7}["'`])/y;

/** Items of which none is secret, after which a list is left. */
const MAX_OTHERS = 3;

/** The values of a list under a name: `["a", "b"]`. */
export function findList(text: string, from: number, { kind }: Assignment): Find | undefined {
  const finds: Find[] = [];
  let at = from + 1;
  for (let count = 0; count < 64; count += 1) {
    LIST_ITEM.lastIndex = at;
    const quote = LIST_ITEM.exec(text)?.[1];
    if (quote === undefined) break;
    const start = LIST_ITEM.lastIndex;
    const isKey = kind === 'strong' && !text.startsWith('-', start);
    const found = findValue(text, start, quote, { kind, isKey });
    if (found !== undefined) finds.push(found);
    else if (finds.length === 0 && count >= MAX_OTHERS) break;
    at = (closingQuote(text, start, quote) ?? start) + quote.length;
  }
  return pickFind(finds);
}

/** A value in a sentence: longer than a word, with letters and digits, not words with hyphens. */
export function isTelling(value: string, kind: NameKind): boolean {
  const bare = value.replace(/[.,!?:;)]{1,3}$/, '');
  if (!isOpaque(bare, kind === 'strong' ? 6 : 12)) return false;
  return (
    !/^(?:[A-Za-z]+|[A-Za-z]{0,4}\d{1,4}|\d{1,4}[a-z]{0,3})(?:[-/.](?:[A-Za-z]+|[A-Za-z]{0,4}\d{1,4}|\d{1,4}[a-z]{0,3}))*$/.test(
      bare,
    ) ||
    (/^(?=.{8})[a-z]+\d+$/i.test(bare) && kind === 'strong')
  );
}
