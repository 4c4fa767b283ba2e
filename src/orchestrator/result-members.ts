/** The named values of a tool's result, whether it is JSON or text, within bounds. */
import { isObject, parseBoundedContainer } from '../json/index.ts';

export type MemberValue = string | number | boolean;

export interface Member {
  readonly key: string;
  /** Name of the object or list around it; empty at the top. */
  readonly parent: string;
  readonly value: MemberValue;
}

/** One object of a result: its own values and those of objects inside it that have no name of their own. */
export interface MemberGroup {
  /** Name of the object or of the list it is in; empty at the top. */
  readonly name: string;
  readonly members: readonly Member[];
}

const MAX_CHARS = 20_000;
/** Characters of JSON inside texts that are parsed. */
const MAX_PARSED = 100_000;
/** Objects, lists and texts that are looked into. */
const MAX_VISITS = 2_000;
/** Characters of a name and of a value that are kept. */
const MAX_KEY_CHARS = 100;
const MAX_VALUE_CHARS = 2_001;
const MAX_GROUPS = 100;
const MAX_NAMED_VALUES = 300;
const MAX_DEPTH = 8;
const MAX_TEXT_VALUE = 80;
/** A key by which an object is a thing of its own, and not a part of the one around it. */
const OWN_NAME = /^(?:id|uuid|guid|key|code|name)$/i;

/** @param result what a tool gave: structured content, parsed JSON, a text, or content blocks. */
export function memberGroups(result: unknown): MemberGroup[] {
  const groups: MemberGroup[] = [];
  let left = MAX_NAMED_VALUES;
  let toParse = MAX_PARSED;
  let toRead = MAX_CHARS;
  let visits = 0;
  const visit = (value: unknown, name: string, depth: number): void => {
    visits += 1;
    if (groups.length >= MAX_GROUPS || left <= 0 || depth > MAX_DEPTH || visits > MAX_VISITS) return;
    if (typeof value === 'string') {
      const isParsed = value.length <= Math.min(MAX_CHARS, toParse);
      if (isParsed) toParse -= value.length;
      const parsed = isParsed ? parseBoundedContainer(value) : undefined;
      if (parsed !== undefined) visit(parsed, name, depth + 1);
      else if (depth === 0) {
        const members = textMembers(value.slice(0, toRead), left);
        toRead -= Math.min(toRead, value.length);
        left -= members.length;
        groups.push({ name, members });
      }
    } else if (Array.isArray(value)) {
      for (const item of value.slice(0, MAX_GROUPS)) {
        const text = textOfBlock(item);
        if (text !== undefined) visit(text, name, 0);
        else if (isPlain(item) && left > 0)
          groups.push({ name, members: [{ key: name, parent: '', value: cut(item) }] });
        else visit(item, name, depth + 1);
      }
    } else if (isObject(value)) {
      const members: Member[] = [];
      groups.push({ name, members });
      collect(value, name, members, depth);
    }
  };
  const collect = (object: object, parent: string, members: Member[], depth: number): void => {
    for (const [name, value] of Object.entries(object)) {
      if (left <= 0 || depth > MAX_DEPTH) return;
      const key = name.slice(0, MAX_KEY_CHARS);
      if (isPlain(value)) {
        left -= 1;
        members.push({ key, parent, value: cut(value) });
        // A text may hold a document of its own, as some servers wrap JSON in a string.
        if (typeof value === 'string' && /^\s{0,100}[[{]/.test(value)) visit(value, key, depth + 1);
      } else if (Array.isArray(value)) visit(value, key, depth + 1);
      else if (isObject(value)) {
        if (Object.keys(value).some((one) => OWN_NAME.test(one))) visit(value, key, depth + 1);
        else collect(value, key, members, depth + 1);
      }
    }
  };
  visit(result, '', 0);
  return groups;
}

function isPlain(value: unknown): value is MemberValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function cut(value: MemberValue): MemberValue {
  return typeof value === 'string' ? value.slice(0, MAX_VALUE_CHARS) : value;
}

function textOfBlock(item: unknown): string | undefined {
  return isObject(item) && item.type === 'text' && typeof item.text === 'string' ? item.text : undefined;
}

/** The `key: value` and `key=value` pairs of a text. */
function textMembers(text: string, most: number): Member[] {
  const members: Member[] = [];
  for (let at = 0; at < text.length && members.length < most; at += 1) {
    if (text[at] !== ':' && text[at] !== '=') continue;
    // Both sides are looked at in short pieces, so the work grows with the text alone.
    const key = /([A-Za-z][\w -]*)["'`*]{0,3}\s?$/.exec(text.slice(Math.max(0, at - 40), at))?.[1];
    const value = /^[\s"'`*]{0,4}([^"'`,;|)\]}*\n]+)/.exec(text.slice(at + 1, at + MAX_TEXT_VALUE))?.[1];
    if (key !== undefined && value !== undefined) members.push({ key, parent: '', value: value.trim() });
  }
  return members;
}

/** A name in the form in which two spellings of it are equal: `orderIds`, `order_id` and `Order ID` are `orderid`. */
export function plainKey(key: string): string {
  const plain = key.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return plain.length > 2 && plain.endsWith('s') && !plain.endsWith('ss') ? plain.slice(0, -1) : plain;
}

const WORD = /[\p{L}\p{N}_]/u;
const MAX_TRIES = 50;

const CHARS_PER_COMPARISON = 16;

/**
 * Work of looking for a value in a text, in characters read. A long value in a text that nearly repeats it is compared
 * again at every place.
 */
export function searchWork(text: string, value: string): number {
  return text.length * (1 + value.length / CHARS_PER_COMPARISON);
}

/** Whether a text holds a value as a word of its own: `17` is in `id 17`, not in `2017`. */
export function holdsWord(text: string, value: string): boolean {
  if (value === '') return false;
  const [first, last] = [WORD.test(value[0] ?? ''), WORD.test(value.at(-1) ?? '')];
  let at = text.indexOf(value);
  for (let tries = 0; at >= 0 && tries < MAX_TRIES; tries += 1) {
    const end = at + value.length;
    const startsWord = !first || at === 0 || !WORD.test(text[at - 1] ?? '');
    const endsWord = !last || end === text.length || !WORD.test(text[end] ?? '');
    if (startsWord && endsWord) return true;
    at = text.indexOf(value, at + 1);
  }
  return false;
}
