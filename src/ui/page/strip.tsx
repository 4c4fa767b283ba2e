import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatCounted, formatDuration, type RunMetrics } from '../../runs/index.ts';
import { Count, Duration, Usd } from './parts.tsx';
import { here, link, type Route, readRange, readTimes, replaceRoute } from './route.ts';

type RunBucket = RunMetrics['buckets'][number];

/** Figures over the runs shown, each with its course over the range. */
export function Strip({ metrics, route }: { metrics: RunMetrics; route: Route }) {
  const {
    runs,
    failed,
    contradicted,
    unsupported,
    durationP50Ms,
    durationP95Ms,
    costUsd,
    unpriced,
    held,
    buckets,
  } = metrics;
  const filtered = (term: string) =>
    here(route, { q: `${route.query.get('q') ?? ''} ${term}`.trim(), limit: '' });
  const share = runs === 0 ? '' : `${((100 * failed) / runs).toFixed(1)} %`;
  const of = (read: (bucket: RunBucket) => number) => buckets.map(read);
  const { lastMs, untilMs = Date.now() } = readRange(route);
  const toTime = (part: number) => Math.round(untilMs - lastMs + (part * lastMs) / buckets.length);
  const parts: BarParts = {
    name: (i) => `${formatPart(toTime(i))} to ${formatPart(toTime(i + 1))}`,
    zoom: (i) => replaceRoute(here(route, { since: toTime(i), until: toTime(i + 1), range: '' })),
  };
  return (
    <section class="strip" aria-label="Figures of the runs shown">
      <Metric
        parts={parts}
        label="Runs"
        value={<Count of={runs} />}
        note="handshakes left out"
        bars={of((b) => b.runs)}
        show={formatCount}
      />
      <Metric
        parts={parts}
        label="Failed"
        href={filtered('status:failed')}
        value={<Count of={failed} />}
        note={failed === 0 ? '' : `${share}, not recovered`}
        bars={of((b) => b.failed)}
        tone="bad"
        show={formatCount}
      />
      <Metric
        parts={parts}
        label="Answers contradicted"
        href={filtered('finding:contradicted')}
        value={<Count of={contradicted} />}
        note={`${formatCount(unsupported)} more without support`}
        bars={of((b) => b.contradicted)}
        tone="bad"
        show={formatCount}
      />
      <Metric
        parts={parts}
        label="Duration p95"
        value={durationP95Ms === null ? '–' : <Duration ms={durationP95Ms} />}
        note={durationP50Ms === null ? '' : `p50 ${formatDuration(durationP50Ms)}`}
        bars={of((b) => b.durationP95Ms)}
        show={formatDuration}
      />
      <Metric
        parts={parts}
        label="Cost"
        href={link('cost', { q: route.query.get('q'), ...readTimes(route.query) })}
        value={<Usd of={costUsd} />}
        note={unpriced > 0 ? `${formatCounted(unpriced, 'call')} unpriced` : 'all calls priced'}
        bars={of((b) => b.costUsd)}
        show={(usd) => `$${usd.toFixed(4)}`}
      />
      <Metric
        parts={parts}
        label="Held for approval"
        href={filtered('status:held')}
        value={<Count of={held} />}
        note="runs with a call not made"
        bars={of((b) => b.held)}
        tone="warn"
        show={formatCount}
      />
    </section>
  );
}

const formatPart = (ms: number) =>
  new Date(ms).toLocaleString('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' });

/** What a bar stands for. */
interface BarParts {
  readonly name: (bar: number) => string;
  /** Narrows the range to it. */
  readonly zoom: (bar: number) => void;
}

interface MetricProps {
  readonly parts: BarParts;
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note: string;
  readonly bars: readonly number[];
  readonly tone?: 'bad' | 'warn';
  readonly href?: string;
  readonly show: (value: number) => string;
}

function Metric({ parts, label, value, note, bars, tone, href, show }: MetricProps) {
  const [at, setAt] = useState<number | undefined>(undefined);
  const most = Math.max(...bars, 0.000001);
  const width = 100 / bars.length;
  const pointed = at === undefined ? undefined : bars[at];
  return (
    <div class="cell">
      {href === undefined ? (
        <span class="ml">{label}</span>
      ) : (
        <a class="ml" href={href}>
          {label}
        </a>
      )}
      <div class="mv">{value}</div>
      <div class="md">
        {pointed === undefined || at === undefined ? note || '\u00a0' : `${show(pointed)}, ${parts.name(at)}`}
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: by keys a range is chosen in the bar above */}
      <svg
        class="spark"
        viewBox="0 0 100 26"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label} over the range: ${bars.map(show).join(', ')}`}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setAt(
            Math.min(bars.length - 1, Math.floor(((event.clientX - box.left) / box.width) * bars.length)),
          );
        }}
        onMouseLeave={() => setAt(undefined)}
        onClick={() => at !== undefined && parts.zoom(at)}
      >
        {bars.map((bar, i) => {
          const height = (26 * bar) / most;
          return (
            <rect
              key={i}
              x={i * width}
              y={26 - height}
              width={width * 0.72}
              height={height}
              class={i === at ? 'hot' : (tone ?? '')}
            />
          );
        })}
      </svg>
    </div>
  );
}
