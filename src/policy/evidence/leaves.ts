/**
 * The source of evidence: the decoded string leaves of a tool's typed result, each with its path. JSON syntax, keys and
 * numbers are not evidence, and no quote reaches from one leaf into another.
 */

/** Keys and indices from the root of the result to a leaf. */
export type LeafPath = readonly (string | number)[];

export interface Leaf {
  readonly path: LeafPath;
  readonly text: string;
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
  /** Arguments of the call. */
  readonly args?: unknown;
  /** The user's request. */
  readonly request?: string | undefined;
}

export interface SourceLeaves {
  readonly evidence: readonly Leaf[];
  /** Leaves that only repeat the caller. */
  readonly echoes: readonly Leaf[];
}

const MAX_DEPTH = 64;

/** Collects the string leaves of a source in document order. */
export function leavesOf(source: unknown, echo: Echo = {}): SourceLeaves {
  const said = new Set<string>();
  if (echo.request !== undefined) said.add(echo.request.trim());
  visit(echo.args, [], 0, (leaf) => said.add(leaf.text.trim()));
  const evidence: Leaf[] = [];
  const echoes: Leaf[] = [];
  visit(source, [], 0, (leaf) => {
    const [first] = leaf.path;
    const isEcho = said.has(leaf.text.trim()) || (leaf.path.length === 1 && ECHO_KEYS.has(String(first)));
    (isEcho ? echoes : evidence).push(leaf);
  });
  return { evidence, echoes };
}

function visit(value: unknown, path: LeafPath, depth: number, take: (leaf: Leaf) => void): void {
  if (typeof value === 'string') {
    take({ path, text: value });
  } else if (depth < MAX_DEPTH && Array.isArray(value)) {
    for (const [index, item] of value.entries()) visit(item, [...path, index], depth + 1, take);
  } else if (depth < MAX_DEPTH && typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) visit(member, [...path, key], depth + 1, take);
  }
}
