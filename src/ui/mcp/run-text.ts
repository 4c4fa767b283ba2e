import {
  explainRun,
  foldCalls,
  formatCounted,
  formatDuration,
  formatUsd,
  isPartOfCall,
  listHighlights,
  type RunRow,
  type RunSpan,
  sentenceText,
  type WaitingRow,
} from '../../runs/index.ts';
import { oneLine } from './bounded.ts';

const MAX_FAILURES = 5;
const MAX_CALLS = 60;
const MAX_DEPTH = 20;

/** One run of a list, in a line. */
export function runLine(run: RunRow): string {
  const facts = [
    formatCounted(run.toolCalls, 'call'),
    ...listHighlights(run).map(({ text }) => text),
    ...run.labels.map((label) => `label ${oneLine(label, 60)}`),
    formatDuration(run.endMs - run.startMs),
    run.costUsd === null ? (run.unpriced > 0 ? 'unpriced' : '') : formatUsd(run.costUsd),
    run.client ?? run.service ?? '',
    run.user === null ? '' : `for ${run.user}`,
  ];
  const started = new Date(run.startMs).toISOString().slice(0, 19);
  return `${run.id} ${started}Z ${run.status} ${oneLine(run.name, 80)}: ${facts
    .filter(Boolean)
    .map((fact) => oneLine(fact))
    .join(', ')}`;
}

/** A run: the sentence that explains it, the way to each failure, and its calls. */
export function runText(run: RunRow, spans: readonly RunSpan[], approvals: readonly WaitingRow[]): string[] {
  const failures = spans.filter(({ status }) => status !== 'ok');
  const calls = spans.filter(isPartOfCall);
  const lines = [
    `run ${run.id}: ${oneLine(run.name)}, ${run.status}`,
    oneLine(sentenceText(explainRun(spans, approvals, run.status)), 1000),
    `service ${oneLine(run.service ?? 'unknown')}, client ${oneLine(run.client ?? 'unknown')}, models ${run.models.map((model) => oneLine(model, 60)).join(', ') || 'none'}, ${formatCounted(spans.length, 'span')}`,
  ];
  if (run.labels.length > 0)
    lines.push(`labels: ${run.labels.map((label) => oneLine(label, 60)).join(', ')}`);
  if (run.note !== null)
    lines.push(`note of ${oneLine(run.notedBy ?? 'somebody')}: ${oneLine(run.note, 2000)}`);
  if (failures.length > 0) lines.push('', 'what failed, from the root to the failure:');
  for (const failure of failures.slice(0, MAX_FAILURES)) lines.push(...wayTo(failure, spans));
  if (failures.length > MAX_FAILURES) lines.push(`(${failures.length - MAX_FAILURES} more failed spans)`);
  if (
    failures.some(({ status }) => status === 'failed') &&
    failures.every(({ message }) => message === null)
  ) {
    lines.push('(no error messages are stored: the traced program captures no content)');
  }
  if (calls.length > 0) lines.push('', 'tool calls in order:');
  const groups = foldCalls(calls);
  for (const group of groups.slice(0, MAX_CALLS)) lines.push(`  ${groupLine(group)}`);
  const leftOut = groups.slice(MAX_CALLS).reduce((sum, group) => sum + group.length, 0);
  if (leftOut > 0) lines.push(`  (${leftOut} more calls are left out)`);
  return lines;
}

/** The spans around a failure, the outermost first. */
function wayTo(failure: RunSpan, spans: readonly RunSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.id, span]));
  const way: RunSpan[] = [];
  for (let at: RunSpan | undefined = failure; at !== undefined && way.length < MAX_DEPTH; ) {
    way.unshift(at);
    at = at.parentId === null ? undefined : byId.get(at.parentId);
  }
  return way.map((span, depth) => `${'  '.repeat(depth + 1)}${spanLine(span)}`);
}

function spanLine(span: RunSpan): string {
  const facts = [
    span.status === 'ok' ? '' : span.status,
    span.message === null ? '' : `message: ${oneLine(span.message, 300)}`,
    span.reason === null ? '' : `reason: ${oneLine(span.reason)}`,
    span.tool === null ? '' : `tool ${oneLine(span.tool, 80)}`,
    span.server === null ? '' : `of ${oneLine(span.server, 80)}`,
    formatDuration(Math.max(0, span.endMs - span.startMs)),
  ];
  return `span ${span.id} ${oneLine(span.name, 80)} [${span.kind}]: ${facts.filter(Boolean).join(', ')}`;
}

/** Equal calls that succeeded, in one line. */
function groupLine(calls: readonly RunSpan[]): string {
  const [first, ...more] = calls as [RunSpan];
  if (more.length === 0) return spanLine(first);
  const all = calls.reduce((sum, { startMs, endMs }) => sum + Math.max(0, endMs - startMs), 0);
  return `${spanLine(first)}, and ${more.length} more of it, all ok, ${formatDuration(all)} together`;
}
