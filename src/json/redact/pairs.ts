/** A name and a value that are members of one thing: `{name: 'password', value: '...'}`, `<input name=... value=...>`. */
import { type Find, findOf } from './find.ts';
import { type NameKind, nameKind } from './names.ts';
import { findValue } from './values.ts';

/** Members that hold a name, and members that hold its value. */
const NAME_WORDS =
  'name|key|field|id|label|header|param|parameter|variable|setting|property|title|type|envvar|k|n';
const VALUE_WORDS = 'value|val|content|data|default|stringvalue|string_value|plaintext|text|v';
const NAME_KEYS: ReadonlySet<string> = new Set(NAME_WORDS.split('|'));
const VALUE_KEYS: ReadonlySet<string> = new Set(VALUE_WORDS.split('|'));

export const isValueKey = (key: string): boolean => key.length < 13 && VALUE_KEYS.has(key.toLowerCase());

const QUOTE = `(?:\\\\{0,7}["'\`]|&quot;|%22)`;
const VALUE_AHEAD = new RegExp(
  `(?:^|[^A-Za-z0-9_-])(?:${VALUE_WORDS}|secret)${QUOTE}?\\s{0,8}(?:=>|[:=])\\s{0,8}(?:\\{\\s{0,8}${QUOTE}\\w{1,16}${QUOTE}\\s{0,4}:\\s{0,4})?(${QUOTE})?`,
  'i',
);
const NEXT_NAME = new RegExp(
  `[^A-Za-z0-9](?:${NAME_WORDS})${QUOTE}?\\s{0,4}(?:=>|[:=])(?!\\s{0,4}${QUOTE}?(?:text|string|password|hidden|env|secret|header|query)\\b)|\\n\\s{0,20}- `,
  'i',
);

/** How far apart the two may be. */
const NEAR = 240;

/** The value beside a name that is a value itself. */
export function findPair(text: string, start: number, end: number, kind: NameKind): Find | undefined {
  const key = keyBefore(text, start);
  if (key === undefined) return undefined;
  if (key.name === 'type' && kind !== 'strong') return undefined;
  if (!key.isQuoted && !/[\s,]|^$/.test(text.charAt(end))) return undefined;
  return ahead(text, end, kind) ?? behind(text, key.start, kind) ?? multipart(text, start, end, kind);
}

const isQuoteSign = (char: string): boolean => char === '"' || char === "'" || char === '`' || char === '\\';

/** The key that the name at `start` is the value of, if it is one for names. */
function keyBefore(
  text: string,
  start: number,
): { readonly name: string; readonly start: number; readonly isQuoted: boolean } | undefined {
  let at = start;
  const skip = (is: (char: string) => boolean, most: number): number => {
    const from = at;
    while (at > 0 && from - at < most && is(text.charAt(at - 1))) at -= 1;
    return from - at;
  };
  const isBlank = (char: string): boolean => char === ' ';
  let isQuoted = skip(isQuoteSign, 8) > 0;
  if (!isQuoted && QUOTES_BEFORE.test(text.slice(Math.max(0, at - 6), at))) {
    isQuoted = true;
    at -= text.charAt(at - 1) === ';' ? 6 : 3;
  }
  skip(isBlank, 4);
  if (skip((char) => char === '=' || char === ':' || char === '>', 2) === 0) return undefined;
  skip(isBlank, 4);
  if (skip(isQuoteSign, 8) === 0 && QUOTES_BEFORE.test(text.slice(Math.max(0, at - 6), at))) {
    at -= text.charAt(at - 1) === ';' ? 6 : 3;
  }
  const to = at;
  if (skip(isLetter, 10) === 0) return undefined;
  const name = text.slice(at, to).toLowerCase();
  return NAME_KEYS.has(name) ? { name, start: at, isQuoted } : undefined;
}

const isLetter = (char: string): boolean => (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');

const QUOTES_BEFORE = /(?:&quot;|%22)$/;

function ahead(text: string, end: number, kind: NameKind): Find | undefined {
  const near = text.slice(end, end + NEAR);
  const stop = near.search(/[}>]/);
  const match = VALUE_AHEAD.exec(stop === -1 ? near : near.slice(0, stop));
  if (match === null || NEXT_NAME.test(near.slice(0, match.index))) return undefined;
  const from = end + match.index + match[0].length;
  return findValue(text, from, match[1], { kind, isKey: true, isSetting: () => isPlainLine(text, from) });
}

/** A word that is all of the rest of its line, as YAML has it. */
function isPlainLine(text: string, from: number): boolean {
  return /^[\w!@#$%^*+./=~-]{6,128}[ \t]*(?:\r?\n|$)/.test(text.slice(from, from + 140));
}

const VALUE_BEHIND = new RegExp(
  `(?:^|[^A-Za-z0-9_-])(?:${VALUE_WORDS})${QUOTE}?\\s{0,4}(?:=>|[:=])\\s{0,4}(${QUOTE})$`,
  'i',
);

/** `{value: '...', name: 'password'}`, with at most one other member between them. */
function behind(text: string, end: number, kind: NameKind): Find | undefined {
  const from = Math.max(0, end - NEAR);
  const near = text.slice(from, end).replace(/[\\"'`]{1,8}$/, '');
  let close = near.length;
  for (let strings = 0; strings < 4; strings += 1) {
    // A string in quotes, from its end to its beginning.
    close = lastQuote(near, close);
    const open = close < 1 ? -1 : near.lastIndexOf(near.charAt(close), close - 1);
    if (open === -1) return undefined;
    const match = VALUE_BEHIND.exec(near.slice(Math.max(0, open - 40), open + 1));
    if (match !== null) {
      const found = findValue(text, from + open + 1, match[1], { kind, isKey: true });
      return found !== undefined && found.end <= end ? found : undefined;
    }
    close = open;
  }
  return undefined;
}

/** Where the last quote before `end` stands; -1 if a sign that ends an object or a line is nearer. */
function lastQuote(text: string, end: number): number {
  for (let at = end - 1; at >= 0; at -= 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x27 || code === 0x60) return at;
    if (code === 0x0a || code === 0x3c || code === 0x3e || code === 0x7b || code === 0x7d) return -1;
  }
  return -1;
}

const PART =
  /"?;?[^\r\n]{0,80}\r?\n(?:[A-Za-z-]{1,40}:[^\r\n]{0,80}\r?\n){0,3}\r?\n([^\r\n]{4,512})(?=\r?\n--|$)/y;

/** `Content-Disposition: form-data; name="password"` and its part. */
function multipart(text: string, start: number, end: number, kind: NameKind): Find | undefined {
  if (!/form-data; {0,2}name="?$/i.test(text.slice(Math.max(0, start - 20), start))) return undefined;
  PART.lastIndex = end;
  const value = PART.exec(text)?.[1];
  if (value === undefined || kind === 'faint') return undefined;
  return { start: PART.lastIndex - value.length, end: PART.lastIndex, kind: 'secret' };
}

const SENSITIVE = /sensitive["']?\s{0,4}[:=]\s{0,4}true\b/iy;
const VALUES = /(?:^|[^A-Za-z0-9_-])(?:value|default)["']?\s{0,8}[:=]\s{0,8}(["'])/gi;

/** The value next to `sensitive = true`. */
export function findSensitive(text: string, at: number): Find | undefined {
  SENSITIVE.lastIndex = at;
  if (!SENSITIVE.test(text)) return undefined;
  const start = Math.max(0, at - NEAR);
  const before = text.slice(start, at);
  const from = start + Math.max(0, before.lastIndexOf('{'), before.lastIndexOf('}'));
  const close = text.slice(at, at + NEAR).search(/[{}]/);
  const near = text.slice(from, close === -1 ? at + NEAR : at + close + 1);
  const finds: Find[] = [];
  for (const match of near.matchAll(VALUES)) {
    const found = findValue(text, from + match.index + match[0].length, match[1], {
      kind: 'strong',
      isKey: true,
    });
    if (found !== undefined && (finds.at(-1)?.end ?? 0) < found.start) finds.push(found);
  }
  return findOf(finds);
}

/** What an object says about those of its members that hold a value. */
export function pairKind(object: object): NameKind | undefined {
  let kind: NameKind | undefined;
  for (const key in object) {
    if (key.length > 12 || !Object.hasOwn(object, key)) continue;
    const member: unknown = object[key as keyof typeof object];
    if (member === true && (key === 'sensitive' || key === 'secret' || key === 'isSecret')) return 'strong';
    if (typeof member !== 'string' || member.length > 64 || !NAME_KEYS.has(key.toLowerCase())) continue;
    const named = nameKind(member);
    if (named !== undefined && (named === 'strong' || !/^type$/i.test(key))) kind ??= named;
  }
  return kind;
}
