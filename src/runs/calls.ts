import type { SpanStatus } from './status.ts';

/** What of a span tells which call it is part of. */
export interface CallSpan {
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: string;
  readonly tool: string | null;
  readonly method: string | null;
  readonly operation: string | null;
  readonly status: SpanStatus;
  readonly decision: string | null;
  readonly isBlocked: boolean;
}

/** Whether a span is a tool call, or one side of it. */
export function isPartOfCall({ method, operation }: Pick<CallSpan, 'method' | 'operation'>): boolean {
  return method === 'tools/call' || operation === 'execute_tool';
}

/** Whether a span is the decision of a gate about a call. */
export function isGate({ decision, tool }: Pick<CallSpan, 'decision' | 'tool'>): boolean {
  return decision !== null && tool !== null;
}

/** Whether a span is that of a gate that stopped a call, which has no other span then. */
export function isStop(span: Pick<CallSpan, 'decision' | 'tool' | 'isBlocked'>): boolean {
  return isGate(span) && span.isBlocked;
}

/** Whether a span is one side of a call, or the gate in front of one that it stopped. */
export function isSide(span: CallSpan): boolean {
  return isPartOfCall(span) || isStop(span);
}

/**
 * The tool calls among the spans of a run, in order, each by one span: of a call that both sides recorded, or a gate or a
 * framework around the client, the innermost client span; of one that a gate refused, the gate's. `gate` is the gate that
 * stopped the call or its result.
 */
export function pairCalls<T extends CallSpan>(
  spans: readonly T[],
): readonly { readonly span: T; readonly gate: T | undefined }[] {
  const byId = new Map(spans.map((span) => [span.id, span]));
  const findParent = (span: T): T | undefined => {
    const parent = span.parentId === null ? undefined : byId.get(span.parentId);
    // A gate that let the call through stands between its sides.
    return parent !== undefined && isGate(parent) && !isSide(parent) && parent.parentId !== null
      ? byId.get(parent.parentId)
      : parent;
  };
  const outer = new Set<T>();
  const inner = new Set<T>();
  const gates = new Map<T, T>();
  for (const span of spans) {
    const parent = findParent(span);
    if (!isSide(span) || parent === undefined || !isSide(parent) || !meansTool(parent.tool, span.tool))
      continue;
    if (span.kind === 'server') inner.add(span);
    else {
      outer.add(parent);
      if (isGate(parent) && parent.status !== 'ok' && parent.status !== 'failed') gates.set(span, parent);
    }
  }
  return spans
    .filter((span) => isSide(span) && !outer.has(span) && !inner.has(span))
    .map((span) => ({ span, gate: gates.get(span) }));
}

/** Whether a tool is one of a server under the name that a framework gives it: `shop/pay` or `mcp_shop_pay` is `pay`. */
export function meansTool(given: string | null, tool: string | null): boolean {
  if (given === tool || given === null || tool === null) return given === tool;
  return given.endsWith(tool) && /[^a-z\d]$/iu.test(given.slice(0, -tool.length));
}

/** Fewest equal calls in a row that fold into one line. */
const FOLD_FROM = 3;

type FoldSpan = CallSpan & { readonly server: string | null };

/** Whether two spans call the same tool of the same server. */
function isSameCall(a: FoldSpan, b: FoldSpan): boolean {
  return isSide(a) && isSide(b) && a.tool === b.tool && a.server === b.server && a.kind === b.kind;
}

/** Equal successive calls that went well, folded; what failed, was denied or held stands alone. */
export function foldCalls<T extends FoldSpan>(
  spans: readonly T[],
  isWell: (span: T) => boolean = ({ status }) => status === 'ok',
): readonly (readonly T[])[] {
  const groups: T[][] = [];
  for (const span of spans) {
    const before = groups.at(-1)?.[0];
    if (before !== undefined && isSameCall(span, before) && isWell(span) && isWell(before))
      groups.at(-1)?.push(span);
    else groups.push([span]);
  }
  return groups.flatMap((group) => (group.length >= FOLD_FROM ? [group] : group.map((span) => [span])));
}
