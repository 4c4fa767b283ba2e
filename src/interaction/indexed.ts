import type { JsonObject } from '../json/index.ts';

/**
 * The attributes of one numbered group, by the rest of the name after the number: `message.role`, `message.content` ...
 */
export type IndexedGroup = ReadonlyMap<string, unknown>;

/** Longer numbers are not treated as indices. */
const MAX_DIGITS = 9;

/**
 * Collects numbered attributes (`llm.input_messages.0.message.role`) by prefix, each group in the order of its numbers.
 * One pass over the attributes; gaps and huge numbers cost nothing, because groups are keyed by number.
 *
 * @param prefixes with their trailing dot.
 */
export function collectIndexed<P extends string>(
  attributes: JsonObject,
  prefixes: readonly P[],
): ReadonlyMap<P, readonly IndexedGroup[]> {
  let found: Map<P, Map<number, Map<string, unknown>>> | undefined;
  for (const key in attributes) {
    const prefix = prefixOf(key, prefixes);
    if (prefix === undefined) continue;
    const dot = key.indexOf('.', prefix.length);
    const index = parseIndex(key, prefix.length, dot === -1 ? key.length : dot);
    if (index === undefined) continue;
    found ??= new Map();
    const groups = entry(found, prefix, () => new Map<number, Map<string, unknown>>());
    const group = entry(groups, index, () => new Map<string, unknown>());
    group.set(dot === -1 ? '' : key.slice(dot + 1), attributes[key]);
  }
  if (found === undefined) return NONE;
  return new Map([...found].map(([prefix, groups]) => [prefix, inOrder(groups)]));
}

function prefixOf<P extends string>(key: string, prefixes: readonly P[]): P | undefined {
  for (const prefix of prefixes) if (key.startsWith(prefix)) return prefix;
  return undefined;
}

const NONE: ReadonlyMap<never, readonly IndexedGroup[]> = new Map<never, readonly IndexedGroup[]>();

/** The numbered groups inside one group: `message.contents.` within a message. */
export function collectNested(group: IndexedGroup, prefix: string): readonly IndexedGroup[] {
  let nested: Record<string, unknown> | undefined;
  for (const [key, value] of group) {
    if (!key.startsWith(prefix)) continue;
    nested ??= Object.create(null) as Record<string, unknown>;
    nested[key] = value;
  }
  return nested === undefined ? [] : (collectIndexed(nested, [prefix]).get(prefix) ?? []);
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
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}
