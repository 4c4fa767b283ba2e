import { printableLine, type TraceRow } from '../../base/index.ts';
import type { SpanStatus } from '../../runs/index.ts';
import type { Paint } from './output.ts';

const BAR_WIDTH = 24;

type WaterfallRow = Pick<TraceRow, 'span_id' | 'parent_span_id' | 'span_name' | 'start_time' | 'end_time'> & {
  readonly status: SpanStatus;
};

/**
 * Draws a trace as a tree, each span with its duration and position in time. Spans whose parent is missing become
 * roots.
 */
export function formatWaterfall(rows: readonly WaterfallRow[], paint: Paint): string {
  const byId = new Map(rows.map((row) => [row.span_id, row]));
  const children = new Map<string | null, WaterfallRow[]>();
  for (const row of rows) {
    const parent = row.parent_span_id !== null && byId.has(row.parent_span_id) ? row.parent_span_id : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(row);
    children.set(parent, siblings);
  }
  for (const siblings of children.values()) siblings.sort((a, b) => toStart(a) - toStart(b));

  const from = Math.min(...rows.map(toStart));
  const to = Math.max(...rows.map(findEnd));
  const lines: { label: string; row: WaterfallRow }[] = [];
  // An explicit stack, because a trace may be deeper than the call stack.
  const stack = (children.get(null) ?? []).map((row) => ({ row, lead: '', tail: '' })).reverse();
  while (stack.length > 0) {
    const { row, lead, tail } = stack.pop() as { row: WaterfallRow; lead: string; tail: string };
    lines.push({ label: `${lead}${printableLine(row.span_name)}`, row });
    const kids = children.get(row.span_id) ?? [];
    for (let i = kids.length - 1; i >= 0; i -= 1) {
      const last = i === kids.length - 1;
      stack.push({
        row: kids[i] as WaterfallRow,
        lead: `${tail}${last ? '└─ ' : '├─ '}`,
        tail: `${tail}${last ? '   ' : '│  '}`,
      });
    }
  }
  const width = Math.max(...lines.map(({ label }) => label.length));
  return lines.map(({ label, row }) => formatLine(label.padEnd(width), row, from, to, paint)).join('\n');
}

function formatLine(label: string, row: WaterfallRow, from: number, to: number, paint: Paint): string {
  const scale = BAR_WIDTH / Math.max(1, to - from);
  const begin = Math.min(BAR_WIDTH - 1, Math.floor((toStart(row) - from) * scale));
  const length = Math.max(1, Math.min(BAR_WIDTH - begin, Math.round((findEnd(row) - toStart(row)) * scale)));
  const bar = `${' '.repeat(begin)}${'█'.repeat(length)}`.padEnd(BAR_WIDTH);
  const isFailed = row.status === 'failed';
  const mark = row.status === 'ok' ? '' : paint(isFailed ? 'red' : 'yellow', row.status);
  const duration = `${(findEnd(row) - toStart(row)).toFixed(0)} ms`.padStart(8);
  return `${label}  ${paint(isFailed ? 'red' : 'cyan', bar)} ${duration}  ${mark}`.trimEnd();
}

function toStart(row: WaterfallRow): number {
  return Date.parse(row.start_time);
}

function findEnd(row: WaterfallRow): number {
  return Date.parse(row.end_time);
}
