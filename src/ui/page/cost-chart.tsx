import type { CostRow } from '../../runs/index.ts';
import { Usd } from './parts.tsx';

/** Series drawn apart; the rest is one. */
export const MAX_SERIES = 5;
const OTHERS = '\u0000others';

export interface Total extends Omit<CostRow, 'timeMs'> {
  readonly parts: ReadonlyMap<number, number>;
}

/** Cost over time, stacked in the order of the table below, which is its legend. */
export function Chart({ totals, name }: { totals: readonly Total[]; name: string }) {
  const times = [...new Set(totals.flatMap(({ parts }) => [...parts.keys()]))].sort((a, b) => a - b);
  const step = Math.max(
    3_600_000,
    Math.min(...times.slice(1).map((time, i) => time - (times[i] ?? 0)), 86_400_000),
  );
  const first = times[0] ?? 0;
  const slots = Math.min(800, Math.round(((times.at(-1) ?? 0) - first) / step) + 1);
  const drawn = totals.slice(0, MAX_SERIES);
  const rest = totals.slice(MAX_SERIES);
  const series = [...drawn, ...(rest.length > 0 ? [{ name: OTHERS, parts: merged(rest) }] : [])];
  const heights = Array.from({ length: slots }, (_, i) =>
    series.map(({ parts }) => parts.get(first + i * step) ?? 0),
  );
  const most = Math.max(...heights.map((values) => values.reduce((a, b) => a + b, 0)), 1e-9);
  const width = 960 / slots;
  // Of one day alone, too, a bar is not a wall.
  const drawnWidth = Math.min(96, width * 0.8);
  const label = (ms: number) =>
    new Date(ms).toLocaleString(
      'en-GB',
      step < 86_400_000
        ? { weekday: 'short', hour: '2-digit', minute: '2-digit' }
        : { day: 'numeric', month: 'short' },
    );
  return (
    <figure class="chart">
      <div class="ya">
        <span>
          <Usd of={most} />
        </span>
        <span>$0</span>
      </div>
      <div class="ca">
        <svg
          class="stack"
          viewBox="0 0 960 150"
          preserveAspectRatio="none"
          role="img"
          aria-label={`Cost over time by ${name}; the table below has the figures`}
        >
          {heights.map((values, i) => {
            let y = 150;
            return values.map((value, j) => {
              const height = (150 * value) / most;
              y -= height;
              return (
                <rect
                  key={`${i}-${j}`}
                  x={i * width + width * 0.1}
                  width={drawnWidth}
                  y={y}
                  height={Math.max(0, height - 0.6)}
                  class={`q${Math.min(j, MAX_SERIES)}`}
                >
                  <title>{`${series[j]?.name === OTHERS ? 'others' : series[j]?.name || 'unknown'}: $${value.toFixed(4)}, ${label(first + i * step)}`}</title>
                </rect>
              );
            });
          })}
        </svg>
        <div class="xa">
          <span>{label(first)}</span>
          {slots > 1 && <span>{label(first + (slots - 1) * step)}</span>}
        </div>
      </div>
    </figure>
  );
}

function merged(totals: readonly Total[]): ReadonlyMap<number, number> {
  const parts = new Map<number, number>();
  for (const total of totals)
    for (const [time, cost] of total.parts) parts.set(time, (parts.get(time) ?? 0) + cost);
  return parts;
}
