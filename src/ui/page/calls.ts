import { isPartOfCall, isStop, type RunSpan } from '../../runs/index.ts';

/** What a span is, for its icon and its color. */
export type SpanSort = 'model' | 'tool' | 'agent';

export function findSort(span: RunSpan): SpanSort {
  if (isPartOfCall(span) || isStop(span)) return 'tool';
  return span.costSource !== null || span.promptTokens !== null ? 'model' : 'agent';
}

/** Fewest equal calls in a row that fold into one line. */
export const FOLD_FROM = 3;

/** Whether two spans call the same tool of the same server. */
export function isSameCall(a: RunSpan, b: RunSpan): boolean {
  return (
    findSort(a) === 'tool' &&
    findSort(b) === 'tool' &&
    a.tool === b.tool &&
    a.server === b.server &&
    a.kind === b.kind
  );
}

/** Equal successive calls that succeeded, folded; what failed, was denied or held stands alone. */
export function folded(spans: readonly RunSpan[]): readonly (readonly RunSpan[])[] {
  const groups: RunSpan[][] = [];
  for (const span of spans) {
    const last = groups.at(-1);
    const before = last?.[0];
    const isSame =
      before !== undefined && isSameCall(span, before) && span.status === 'ok' && before.status === 'ok';
    if (isSame) last?.push(span);
    else groups.push([span]);
  }
  return groups.flatMap((group) => (group.length >= FOLD_FROM ? [group] : group.map((span) => [span])));
}

/** The spans with what only repeats them left out: the server's side of a call whose client is there. */
export function withoutServers(spans: readonly RunSpan[]): readonly RunSpan[] {
  const byId = new Map(spans.map((span) => [span.id, span]));
  return spans.filter((span) => {
    const parent = span.parentId === null ? undefined : byId.get(span.parentId);
    return !(span.kind === 'server' && parent?.method === span.method && span.method !== null);
  });
}
