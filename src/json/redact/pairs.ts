/** A name and a value that are members of one thing: `{"name": "password", "value": "..."}`. */
import type { Find } from './find.ts';
import { type NameKind, nameKind } from './names.ts';
import { findValue } from './values.ts';

const NAME_KEYS: ReadonlySet<string> = new Set(['name', 'key', 'field', 'header', 'variable']);
const VALUE_KEYS: ReadonlySet<string> = new Set(['value', 'val', 'content', 'stringvalue', 'string_value']);

export const isValueKey = (key: string): boolean => key.length < 13 && VALUE_KEYS.has(key.toLowerCase());

/** Line breaks, also as JSON writes them. */
export const NEW_LINE = '(?:[\\r\\n]|\\\\{1,7}[rn]){1,4}';
const QUOTE = `\\\\{0,7}["'\`]`;
const NAME_BEFORE = new RegExp(`\\b(?:name|key)(?:${QUOTE})?\\s{0,4}[:=]\\s{0,4}(?:${QUOTE})?$`, 'i');
/** At most one other member, then the key of the value; the value may be in an object, as in OTLP. */
const VALUE_AFTER = new RegExp(
  [
    `(?:${QUOTE})?(?:\\s{0,4},\\s{0,20}|${NEW_LINE}[ \\t]{1,20})`,
    `(?:(?:${QUOTE})?\\w{1,20}(?:${QUOTE})?\\s{0,4}:\\s{0,4}(?:${QUOTE})?[\\w./-]{1,40}(?:${QUOTE})?\\s{0,4},\\s{0,20})?`,
    `(?:${QUOTE})?value(?:${QUOTE})?\\s{0,4}[:=]\\s{0,4}`,
    `(?:\\{\\s{0,8}${QUOTE}\\w{1,16}${QUOTE}\\s{0,4}:\\s{0,4})?(${QUOTE})?`,
  ].join(''),
  'iy',
);

/** The value that follows a name, which is a value itself: in JSON, or in two lines of YAML. */
export function findPair(text: string, start: number, end: number, kind: NameKind): Find | undefined {
  if (!NAME_BEFORE.test(text.slice(Math.max(0, start - 24), start))) return undefined;
  VALUE_AFTER.lastIndex = end;
  const match = VALUE_AFTER.exec(text);
  if (match === null) return undefined;
  const from = VALUE_AFTER.lastIndex;
  return findValue(text, from, match[1], { kind, isKey: true, isWord: () => isPlainLine(text, from) });
}

const PLAIN_LINE = new RegExp(`^[\\w!@#$%^*+./=~-]{6,128}[ \\t]*(?:${NEW_LINE}|\\\\*["'\`]|[;&]|$)`);

/** A word that is all of the rest of its line, as YAML has it. */
export function isPlainLine(text: string, from: number): boolean {
  return PLAIN_LINE.test(text.slice(from, from + 140));
}

/** What an object says about those of its members that hold a value. */
export function pairKind(object: object): NameKind | undefined {
  for (const key in object) {
    if (key.length > 12 || !Object.hasOwn(object, key)) continue;
    const member: unknown = object[key as keyof typeof object];
    if (typeof member !== 'string' || member.length > 64 || !NAME_KEYS.has(key.toLowerCase())) continue;
    const named = nameKind(member);
    if (named !== undefined) return named;
  }
  return undefined;
}
