import { isPartOfCall, isStop, type RunSpan } from '../../runs/index.ts';

/** What a span is, for its icon and its color. */
export type SpanSort = 'model' | 'tool' | 'agent' | 'step';

export function findSort(span: RunSpan): SpanSort {
  if (isPartOfCall(span) || isStop(span)) return 'tool';
  if (span.isModelCall) return 'model';
  return span.parentId === null || span.operation === 'invoke_agent' ? 'agent' : 'step';
}

/** Whether a span is a call, to a model or of a tool. */
export const isWork = (span: RunSpan): boolean => ['model', 'tool'].includes(findSort(span));

/** The spans with what only repeats them left out: the server's side of a call whose client is there. */
export function withoutServers(spans: readonly RunSpan[]): readonly RunSpan[] {
  const byId = new Map(spans.map((span) => [span.id, span]));
  return spans.filter((span) => {
    const parent = span.parentId === null ? undefined : byId.get(span.parentId);
    return !(span.kind === 'server' && parent?.method === span.method && span.method !== null);
  });
}
