import { useEffect, useState } from 'preact/hooks';
import type { SeenNames } from '../filter/index.ts';
import type { RunMetrics, RunRow } from '../store/index.ts';
import { useData } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Trouble } from './parts.tsx';
import { here, RANGE_NAMES, type Route, rangeOf, replaceRoute } from './route.ts';
import { type Listed, RunTable } from './run-table.tsx';
import { Strip } from './strip.tsx';

const PAGE = 50;

/** Runs: what happened, and where to look. */
export function Runs({ route }: { route: Route }) {
  const filter = route.query.get('q') ?? '';
  const rangeMs = rangeOf(route);
  const limit = Math.min(500, Math.max(PAGE, Number(route.query.get('limit') ?? PAGE) || PAGE));
  const since = useSince(rangeMs);
  const question = new URLSearchParams({ q: filter, since: String(since) });
  const list = useData<Listed>(`/api/runs?${question}&limit=${limit}&fresh`);
  const metrics = useData<RunMetrics>(`/api/metrics?${question}`);
  const set = (parameters: Record<string, string | undefined>) => replaceRoute(here(route, parameters));
  return (
    <>
      <h1 class="vh">Runs</h1>
      <div class="bar">
        <FilterLine
          value={filter}
          seen={seenIn(list.data?.runs ?? [])}
          onChange={(q) => set({ q, limit: '' })}
        />
        <RangeSelect route={route} />
      </div>
      <div class={list.isLoading && list.data !== undefined ? 'loading' : ''}>
        {metrics.data !== undefined && <Strip metrics={metrics.data} route={route} />}
        {list.error !== undefined && <Trouble error={list.error} />}
        {list.data !== undefined && (
          <RunTable
            list={list.data}
            route={route}
            hasFilter={filter !== ''}
            total={metrics.data?.runs}
            onMore={() => set({ limit: String(limit + PAGE * 2) })}
          />
        )}
      </div>
    </>
  );
}

/** Start of the range; it moves on with the clock in steps, so that not every look is another question. */
function useSince(rangeMs: number): number {
  const step = Math.max(1000, Math.min(60_000, rangeMs / 200));
  const [now, setNow] = useState(() => Math.floor(Date.now() / step) * step);
  useEffect(() => {
    const timer = setInterval(() => setNow(Math.floor(Date.now() / step) * step), step);
    return () => clearInterval(timer);
  }, [step]);
  return Math.round(now - rangeMs);
}

export function RangeSelect({ route }: { route: Route }) {
  return (
    <label class="sel">
      <span class="vh">Time range</span>
      <select
        value={route.query.get('range') ?? '24h'}
        onChange={(event) => replaceRoute(here(route, { range: event.currentTarget.value }))}
      >
        {RANGE_NAMES.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Names in the rows, for completion. */
function seenIn(runs: readonly RunRow[]): SeenNames {
  const seen: Record<string, Map<string, number>> = {};
  const add = (field: string, names: readonly (string | null)[]) => {
    seen[field] ??= new Map();
    for (const name of names) {
      if (name !== null && name !== '') seen[field]?.set(name, (seen[field]?.get(name) ?? 0) + 1);
    }
  };
  for (const run of runs) {
    add('tool', run.tools);
    add('server', run.servers);
    add('model', run.models);
    add('client', [run.client]);
    add('service', [run.service]);
    add('user', [run.user]);
    add('session', [run.session]);
  }
  return seen;
}
