/**
 * The source of evidence: the decoded string leaves of a tool's typed result, each with its path, and those of JSON in
 * such a string; besides them numbers and truth values, each with its key. No quote reaches from one leaf into another.
 */
import { parseBoundedContainer } from '../../json/index.ts';

/**
 * Keys and indices from the root of the result to a leaf. They go on into JSON in a string.
 */
export type LeafPath = readonly (string | number)[];

export interface Leaf {
  readonly path: LeafPath;
  readonly text: string;
  /** The words before the JSON that holds the leaf, in one text with it. */
  readonly lead?: string;
}

/** A leaf that can only be quoted whole: a number, a truth value, or a text under its key. */
export interface ValueLeaf extends Leaf {
  readonly key: string;
  readonly isString: boolean;
}

/** Names under which search tools give the caller's own words back. */
const ECHO_KEYS: ReadonlySet<string> = new Set([
  'query',
  'q',
  'search_query',
  'user_query',
  'prompt',
  'question',
  'request',
]);

/** What the caller itself said, which is no evidence when it comes back. */
export interface Echo {
  readonly args?: unknown;
  readonly request?: string | undefined;
}

export interface SourceLeaves {
  readonly evidence: readonly Leaf[];
  /** Texts that hold JSON, as they are written; their members are in `evidence`. */
  readonly written: readonly Leaf[];
  readonly values: readonly ValueLeaf[];
  /** Leaves that only repeat the caller. */
  readonly echoes: readonly Leaf[];
}

const MAX_DEPTH = 64;

/** Collects the leaves of a source in document order. */
export function readLeaves(source: unknown, echo: Echo = {}): SourceLeaves {
  const said = new Set<string>();
  if (echo.request !== undefined) said.add(echo.request.trim());
  visit(echo.args, [], 0, (leaf) => said.add(leaf.text.trim()));
  const leaves = {
    evidence: [] as Leaf[],
    written: [] as Leaf[],
    values: [] as ValueLeaf[],
    echoes: [] as Leaf[],
  };
  visit(source, [], 0, (leaf, kind) => {
    const { path, text } = leaf;
    const [first] = path;
    if (said.has(text.trim()) || (path.length === 1 && ECHO_KEYS.has(String(first)))) {
      leaves.echoes.push(leaf);
      return;
    }
    const key = path.at(-1);
    if (kind !== 'value') leaves[kind].push(leaf);
    if (kind !== 'written')
      leaves.values.push({ ...leaf, key: String(key ?? ''), isString: kind === 'evidence' });
  });
  return leaves;
}

type Kind = 'evidence' | 'written' | 'value';

function visit(value: unknown, path: LeafPath, depth: number, take: (leaf: Leaf, kind: Kind) => void): void {
  if (typeof value === 'string') {
    const inner = depth < MAX_DEPTH ? jsonIn(value) : undefined;
    if (inner !== undefined)
      visit(inner.value, path, depth + 1, (leaf, kind) =>
        take({ ...leaf, lead: inner.lead + (leaf.lead ?? '') }, kind),
      );
    take({ path, text: value }, inner === undefined ? 'evidence' : 'written');
  } else if (typeof value === 'number' || typeof value === 'boolean') {
    take({ path, text: String(value) }, 'value');
  } else if (depth < MAX_DEPTH && Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(item, [...path, index], depth + 1, take);
  } else if (depth < MAX_DEPTH && typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) visit(member, [...path, key], depth + 1, take);
  }
}

/** JSON in a text, with the words before it. */
interface Inner {
  readonly value: unknown;
  readonly lead: string;
}

/** The JSON object or list in a text: all of it, all after a line of words, in a code fence, or one a line. */
function jsonIn(text: string): Inner | undefined {
  const from = text.search(/^[ \t]*[[{]/m);
  if (from < 0) return undefined;
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1;
  const value = parseBoundedContainer(text.slice(from, to)) ?? jsonLines(text.slice(from, to));
  return value === undefined ? undefined : { value, lead: text.slice(0, from).replace(FENCE, '') };
}

/** The line that opens a block of code, at the end of a text. */
const FENCE = /```\w{0,16}\r?\n$/;
const MAX_LINES = 1_000;

/** JSON Lines: an object or list in each line. */
function jsonLines(text: string): readonly unknown[] | undefined {
  const lines = text.split('\n', MAX_LINES + 1);
  if (lines.length < 2 || lines.length > MAX_LINES) return undefined;
  const values: unknown[] = [];
  for (const line of lines) {
    if (line.trim() === '') continue;
    const value = parseBoundedContainer(line);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values;
}
