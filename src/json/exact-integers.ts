/**
 * Integers that no double holds, such as the ids of Discord or Snowflake. JSON.parse rounds 1234567890123456789 to
 * another id. Here such an integer is the text of its digits, and what was an integer is remembered, so that it can be
 * written as one again.
 */
import { randomUUID } from 'node:crypto';
import { endOfJsonString, isObject, type JsonObject } from './lenient-json.ts';

/** Longer integers are read as JSON.parse reads them: comparing them takes quadratic time. */
const MAX_DIGITS = 400;
const DIGITS = /^-?[1-9]\d{15,}$/;
let mark = '';
/**
 * Stands before the digits while a text is parsed or written. No text from outside can hold it. Made when it is first
 * needed: workerd gives no random values while a program loads.
 */
function toMark(): string {
  mark ||= `integer ${randomUUID()} `;
  return mark;
}

/** The members of objects and lists that were integers. */
const integers = new WeakMap<object, Set<string>>();

/** Whether a value is the text of an integer that no double holds. */
export function isExactInteger(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= MAX_DIGITS &&
    value.length > 15 &&
    DIGITS.test(value) &&
    !Number.isSafeInteger(Number(value))
  );
}

/**
 * JSON.parse, with each integer that no double holds as the text of its digits.
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  const marked = markIntegers(text);
  const value: unknown = JSON.parse(marked);
  return marked === text ? value : unmark(value);
}

/** Encloses the integers in a JSON text that no double holds; the same text where there is none. */
function markIntegers(text: string): string {
  if (!/[1-9]\d{15}/.test(text)) return text;
  toMark();
  const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  let out = '';
  let done = 0;
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const end = quote < 0 ? text.length : quote;
    if (end - at > 15) {
      number.lastIndex = at;
      for (let found = number.exec(text); found !== null && found.index < end; found = number.exec(text)) {
        const [digits] = found;
        if (!isExactInteger(digits)) continue;
        out += `${text.slice(done, found.index)}"${mark}${digits}"`;
        done = found.index + digits.length;
      }
    }
    at = quote < 0 ? text.length : endOfJsonString(text, quote);
  }
  // A name is no number: with the digits as they are this is no JSON.
  return new RegExp(`"${mark}-?\\d+"\\s*:`).test(out + text.slice(done)) ? text : out + text.slice(done);
}

function unmark(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? value.slice(mark.length) : value;
  if (typeof value !== 'object' || value === null) return value;
  const container = value as Record<string, unknown>;
  for (const key of Object.keys(container)) {
    const member = container[key];
    if (typeof member === 'string' && member.startsWith(mark)) noteInteger(container, key);
    const read = unmark(member);
    if (read !== member) container[key] = read;
  }
  return value;
}

function noteInteger(container: object, key: string): void {
  const keys = integers.get(container) ?? new Set();
  integers.set(container, keys.add(key));
}

/**
 * Arguments with the integers that no double holds ready for {@link writeIntegers}: where the schema takes numbers and
 * no text; where it takes both or says nothing, what was an integer when it was read. The same object where there are
 * none.
 */
export function withIntegers(args: JsonObject, schema: unknown): JsonObject {
  return holdsInteger(args) ? (marked(args, [schema], schema) as JsonObject) : args;
}

/** A JSON text, or the value of a header, in which the integers of {@link withIntegers} are numbers. */
export function writeIntegers(text: string): string {
  if (mark === '' || !text.includes(mark)) return text;
  return text.replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1').replaceAll(mark, '');
}

function holdsInteger(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isExactInteger(value);
  return Object.values(value).some(holdsInteger);
}

function marked(value: unknown, schemas: readonly unknown[], root: unknown, wasInteger = false): unknown {
  if (isExactInteger(value)) {
    const types = new Set(readBranches(schemas, root).flatMap(({ type }) => type ?? []));
    const takesText = types.has('string');
    const takesNumber = types.has('integer') || types.has('number');
    return takesNumber === takesText
      ? wasInteger
        ? toMark() + value
        : value
      : takesNumber
        ? toMark() + value
        : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const noted = integers.get(value);
  const branches = readBranches(schemas, root);
  if (Array.isArray(value)) {
    return value.map((item: unknown, at) => {
      const inner = branches.map(
        ({ items, prefixItems }) => listed(prefixItems, at) ?? listed(items, at) ?? items,
      );
      return marked(item, inner, root, noted?.has(String(at)));
    });
  }
  const members = Object.entries(value).map(([key, member]: [string, unknown]) => {
    const inner = branches.map(({ properties, additionalProperties }) =>
      isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties,
    );
    return [key, marked(member, inner, root, noted?.has(key))] as const;
  });
  return Object.fromEntries(members);
}

function listed(list: unknown, at: number): unknown {
  return Array.isArray(list) ? (list as unknown[])[at] : undefined;
}

const MAX_BRANCHES = 64;

/** The schemas that apply to one value: these, what they refer to within the root, and their alternatives. */
function readBranches(schemas: readonly unknown[], root: unknown): readonly JsonObject[] {
  const found = new Set<JsonObject>();
  const queue: unknown[] = [...schemas];
  for (let at = 0; at < queue.length && found.size < MAX_BRANCHES; at += 1) {
    const schema = queue[at];
    if (!isObject(schema) || found.has(schema)) continue;
    found.add(schema);
    if (typeof schema.$ref === 'string') queue.push(pointed(root, schema.$ref));
    for (const key of ['allOf', 'anyOf', 'oneOf'])
      if (Array.isArray(schema[key])) queue.push(...(schema[key] as []));
  }
  return [...found];
}

/** What a reference within a document leads to. */
export function pointed(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let node = root;
  for (const part of reference.slice(2).split('/')) {
    if (part === '') continue;
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as JsonObject)[key];
  }
  return node;
}
