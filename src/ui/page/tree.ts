import { foldCalls, type RunSpan } from '../../runs/index.ts';

/** One line of the waterfall: a span, or equal successive calls that succeeded. */
export interface TreeLine {
  readonly span: RunSpan;
  readonly depth: number;
  /** The calls of a fold; one call otherwise. */
  readonly calls: readonly RunSpan[];
  /** Spans below it, and whether they are shown. */
  readonly below: number;
  readonly isOpen: boolean;
}

/** Spans from which a run opens with what is well closed. */
const LONG_RUN = 200;

/**
 * Parents before their children, siblings by their start; a span whose parent is missing is a root. In a long run,
 * subtrees in which all is well are closed, so that the path to a failure is what one sees. `toggled` are the ids of
 * lines that are not as they would be.
 */
export function treeLines(spans: readonly RunSpan[], toggled: ReadonlySet<string>): readonly TreeLine[] {
  const tree = buildTree(spans);
  const lines: TreeLine[] = [];
  const stack: { spans: readonly RunSpan[]; depth: number; isMember: boolean }[] = [];
  const push = (siblings: readonly RunSpan[], depth: number) => {
    const groups = foldCalls(siblings, ({ id }) => !tree.troubled.has(id));
    for (let i = groups.length - 1; i >= 0; i -= 1)
      stack.push({ spans: groups[i] as readonly RunSpan[], depth, isMember: false });
  };
  push(tree.roots, 0);
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { spans: calls, depth, isMember } = next;
    const span = calls[0] as RunSpan;
    if (calls.length > 1) {
      const isOpen = toggled.has(span.id);
      lines.push({ span, depth, calls, below: calls.length, isOpen });
      if (!isOpen) continue;
      for (let i = calls.length - 1; i >= 0; i -= 1)
        stack.push({ spans: [calls[i] as RunSpan], depth: depth + 1, isMember: true });
      continue;
    }
    const children = tree.children.get(span.id) ?? [];
    const isUsuallyOpen = spans.length <= LONG_RUN || depth === 0 || tree.troubled.has(span.id);
    // The first call of an open fold has the id of the fold.
    const isOpen = children.length > 0 && (isMember || !toggled.has(span.id)) === isUsuallyOpen;
    lines.push({ span, depth, calls, below: children.length, isOpen });
    if (isOpen) push(children, depth + 1);
  }
  return lines;
}

interface Tree {
  readonly roots: readonly RunSpan[];
  readonly children: ReadonlyMap<string, readonly RunSpan[]>;
  /** Spans that failed, were denied or held, and those above them. */
  readonly troubled: ReadonlySet<string>;
}

function buildTree(spans: readonly RunSpan[]): Tree {
  const byId = new Map(spans.map((span) => [span.id, span]));
  const children = new Map<string, RunSpan[]>();
  const roots: RunSpan[] = [];
  const findParent = ({ parentId }: RunSpan) => (parentId === null ? undefined : byId.get(parentId));
  for (const span of spans) {
    const parent = findParent(span);
    const list = parent === undefined ? roots : (children.get(parent.id) ?? []);
    list.push(span);
    if (parent !== undefined) children.set(parent.id, list);
  }
  const troubled = new Set<string>();
  for (const span of spans) {
    if (span.status === 'ok') continue;
    for (
      let one: RunSpan | undefined = span;
      one !== undefined && !troubled.has(one.id);
      one = findParent(one)
    )
      troubled.add(one.id);
  }
  return { roots, children, troubled };
}
