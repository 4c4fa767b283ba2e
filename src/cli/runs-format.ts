import { snakeKeys } from '../base/index.ts';
import {
  type Comparison,
  formatCount,
  formatDuration,
  formatUsd,
  listHighlights,
  type RunRow,
  type RunSpan,
} from '../runs/index.ts';
import { formatTable, formatWaterfall, type Paint, printableLine } from './terminal/index.ts';

/** A run as a wire document: ids and words as in SQL, times in ISO 8601. */
export function runJson({ id, startMs, endMs, ...row }: RunRow): object {
  return { trace_id: id, start_time: iso(startMs), end_time: iso(endMs), ...snakeKeys(row) };
}

/** A span as a wire document; what it does not have is left out. */
export function spanJson({ id, parentId, startMs, endMs, ...span }: RunSpan): object {
  const known = Object.fromEntries(
    Object.entries(span).filter(([, value]) => value !== null && value !== false),
  );
  return {
    span_id: id,
    ...(parentId !== null && { parent_span_id: parentId }),
    start_time: iso(startMs),
    duration_ms: endMs - startMs,
    ...snakeKeys(known),
  };
}

/** Runs as a table. */
export function formatRuns(runs: readonly RunRow[], next: string | null): string {
  if (runs.length === 0) return 'No run matches';
  const table = formatTable<RunRow>(
    [
      { title: 'id', value: ({ id }) => id.slice(0, 12) },
      { title: 'started', value: ({ startMs }) => iso(startMs).slice(0, 19).replace('T', ' ') },
      { title: 'status', value: ({ status }) => status },
      { title: 'run', value: ({ name }) => clipped(name, 40) },
      {
        title: 'caller',
        value: ({ client, service, user }) =>
          clipped([client ?? service, user].filter(Boolean).join(' '), 28),
      },
      { title: 'calls', align: 'right', value: ({ toolCalls }) => formatCount(toolCalls) },
      {
        title: 'failed',
        align: 'right',
        value: ({ failedCalls }) => (failedCalls === 0 ? '' : formatCount(failedCalls)),
      },
      { title: 'duration', align: 'right', value: ({ startMs, endMs }) => formatDuration(endMs - startMs) },
      {
        title: 'cost',
        align: 'right',
        value: ({ costUsd, unpriced }) =>
          costUsd === null ? (unpriced > 0 ? 'unpriced' : '') : formatUsd(costUsd),
      },
      {
        title: 'what stands out',
        value: (run) =>
          listHighlights(run)
            .slice(0, 2)
            .map(({ text }) => text)
            .join(', '),
      },
    ],
    runs,
  );
  return next === null ? table : `${table}\n\nMore: --after ${next}`;
}

export function formatSpans(spans: readonly RunSpan[], paint: Paint): string {
  if (spans.length === 0) return 'Its spans have been pruned.';
  const rows = spans.map((span) => ({
    span_id: span.id,
    parent_span_id: span.parentId,
    span_name: clipped(span.name, 60),
    start_time: iso(span.startMs),
    end_time: iso(span.endMs),
    status: span.status,
  }));
  return formatWaterfall(rows, paint);
}

/** Two runs side by side. */
export function formatComparison(a: RunRow, b: RunRow, { figures, calls, leftOut }: Comparison): string {
  const unit = (name: string, value: number | null) => {
    if (value === null) return name === 'cost_usd' ? 'unpriced' : 'not known';
    if (name === 'cost_usd') return formatUsd(value);
    return name === 'duration_ms' ? formatDuration(value) : formatCount(value);
  };
  const table = formatTable(
    [
      { title: '', value: ({ name }) => name },
      { title: a.id.slice(0, 12), align: 'right', value: (figure) => unit(figure.name, figure.a) },
      { title: b.id.slice(0, 12), align: 'right', value: (figure) => unit(figure.name, figure.b) },
    ],
    figures,
  );
  const lines = calls.map(({ mark, a: one, b: other }) => {
    const call = one ?? other;
    const states = [one, other].map((side) => (side === undefined ? '' : side.status));
    const state = states[0] === states[1] ? states[0] : states.filter(Boolean).join(' -> ');
    const server = call?.span.server == null ? '' : `${call.span.server}.`;
    return printableLine(`${mark} ${server}${call?.tool}  ${state}`);
  });
  const rest = leftOut > 0 ? [`${leftOut} more calls are not compared`] : [];
  return [table, '', ...(lines.length === 0 ? ['No tool calls'] : lines), ...rest].join('\n');
}

export function comparisonJson(a: RunRow, b: RunRow, { figures, calls, leftOut }: Comparison): object {
  const call = (side: Comparison['calls'][number]['a']) =>
    side === undefined ? null : { span_id: side.span.id, status: side.status };
  return {
    a: a.id,
    b: b.id,
    figures: figures.map((figure) => ({ name: figure.name, a: figure.a, b: figure.b })),
    calls: calls.map(({ mark, a: one, b: other }) => ({
      mark,
      server: (one ?? other)?.span.server ?? null,
      tool: (one ?? other)?.tool ?? null,
      a: call(one),
      b: call(other),
    })),
    calls_left_out: leftOut,
  };
}

function clipped(text: string, max: number): string {
  const points = [...text.slice(0, 4 * max)];
  return points.length > max ? `${points.slice(0, max - 1).join('')}…` : points.join('');
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
