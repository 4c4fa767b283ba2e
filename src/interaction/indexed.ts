import type { JsonObject } from '../json/index.ts';

/**
 * The attributes of one numbered group, by the rest of the name after the number: `message.role`, `message.content` ...
 */
export type IndexedGroup = ReadonlyMap<string, unknown>;

/** Longer numbers are not treated as indices. */
const MAX_DIGITS = 9;

/** Where a numbered attribute belongs. */
interface Place<P extends string> {
  readonly prefix: P;
  readonly index: number;
  readonly rest: string;
}

/** Keys whose places are remembered, per list of prefixes: the spans of a program have the same keys again and again. */
const MAX_SEEN = 4_096;
const MAX_SEEN_CHARS = 96;

const seenOf = new WeakMap<readonly string[], Map<string, Place<string> | null>>();

/**
 * Collects numbered attributes (`llm.input_messages.0.message.role`) by prefix, each group in the order of its numbers.
 * One pass over the attributes; gaps and huge numbers cost nothing, because groups are keyed by number.
 *
 * @param prefixes with their trailing dot; the same list in each call, since the places of keys are remembered with it.
 */
export function collectIndexed<P extends string>(
  attributes: JsonObject,
  prefixes: readonly P[],
): ReadonlyMap<P, readonly IndexedGroup[]> {
  let seen = seenOf.get(prefixes) as Map<string, Place<P> | null> | undefined;
  if (seen === undefined) {
    seen = new Map();
    seenOf.set(prefixes, seen);
  }
  let found: Map<P, Map<number, Map<string, unknown>>> | undefined;
  for (const key in attributes) {
    let place = seen.get(key);
    if (place === undefined) {
      place = findPlace(key, prefixes) ?? null;
      if (seen.size >= MAX_SEEN) seen.clear();
      if (key.length <= MAX_SEEN_CHARS) seen.set(key, place);
    }
    if (place === null) continue;
    found ??= new Map();
    put(found, place, attributes[key]);
  }
  return found === undefined ? NONE : sorted(found);
}

function findPlace<P extends string>(key: string, prefixes: readonly P[]): Place<P> | undefined {
  const prefix = findPrefix(key, prefixes);
  if (prefix === undefined) return undefined;
  const dot = key.indexOf('.', prefix.length);
  const index = parseIndex(key, prefix.length, dot === -1 ? key.length : dot);
  return index === undefined ? undefined : { prefix, index, rest: dot === -1 ? '' : key.slice(dot + 1) };
}

function put<P extends string>(
  found: Map<P, Map<number, Map<string, unknown>>>,
  { prefix, index, rest }: Place<P>,
  value: unknown,
): void {
  const groups = entry(found, prefix, () => new Map<number, Map<string, unknown>>());
  entry(groups, index, () => new Map<string, unknown>()).set(rest, value);
}

function sorted<P extends string>(
  found: ReadonlyMap<P, ReadonlyMap<number, IndexedGroup>>,
): ReadonlyMap<P, readonly IndexedGroup[]> {
  const all = new Map<P, readonly IndexedGroup[]>();
  for (const [prefix, groups] of found) all.set(prefix, inOrder(groups));
  return all;
}

function findPrefix<P extends string>(key: string, prefixes: readonly P[]): P | undefined {
  for (const prefix of prefixes) if (key.startsWith(prefix)) return prefix;
  return undefined;
}

const NONE: ReadonlyMap<never, readonly IndexedGroup[]> = new Map<never, readonly IndexedGroup[]>();

/** The numbered groups inside one group: `message.contents.` within a message. */
export function collectNested(group: IndexedGroup, prefix: string): readonly IndexedGroup[] {
  let found: Map<string, Map<number, Map<string, unknown>>> | undefined;
  for (const [key, value] of group) {
    if (!key.startsWith(prefix)) continue;
    const place = findPlace(key, [prefix]);
    if (place === undefined) continue;
    found ??= new Map();
    put(found, place, value);
  }
  return found === undefined ? [] : (sorted(found).get(prefix) ?? []);
}

function parseIndex(key: string, start: number, end: number): number | undefined {
  if (end === start || end - start > MAX_DIGITS) return undefined;
  let index = 0;
  for (let at = start; at < end; at += 1) {
    const digit = key.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return undefined;
    index = index * 10 + digit;
  }
  return index;
}

function inOrder(groups: ReadonlyMap<number, IndexedGroup>): IndexedGroup[] {
  let last = -1;
  for (const index of groups.keys()) {
    if (index < last) return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
    last = index;
  }
  return [...groups.values()];
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}
