import { useEffect, useState } from 'preact/hooks';
import type { RunMetrics, RunRow, SeenNames } from '../../runs/index.ts';
import { useData } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Trouble } from './parts.tsx';
import { here, RANGE_NAMES, type Route, rangeOf, replaceRoute } from './route.ts';
import { type Listed, type ListedSessions, RunTable, SessionTable } from './run-table.tsx';
import { SqlButton } from './sql.tsx';
import { Strip } from './strip.tsx';

const PAGE = 50;

/** Runs: what happened, and where to look. */
export function Runs({ route }: { route: Route }) {
  const filter = route.query.get('q') ?? '';
  const rangeMs = rangeOf(route);
  const limit = Math.min(500, Math.max(PAGE, Number(route.query.get('limit') ?? PAGE) || PAGE));
  const bySession = route.query.get('by') === 'session';
  const since = useSince(rangeMs);
  const question = new URLSearchParams({ q: filter, since: String(since) });
  const runsAddress = `/api/runs?${question}&limit=${limit}`;
  const sessionsAddress = `/api/sessions?${question}`;
  const metricsAddress = `/api/metrics?${question}`;
  const list = useData<Listed>(bySession ? undefined : `${runsAddress}&fresh`);
  const sessions = useData<ListedSessions>(bySession ? `${sessionsAddress}&fresh` : undefined);
  const metrics = useData<RunMetrics>(metricsAddress);
  const shown = bySession ? sessions : list;
  const set = (parameters: Record<string, string | undefined>) => replaceRoute(here(route, parameters));
  const runs = bySession
    ? (sessions.data?.sessions.flatMap(({ newest }) => newest) ?? [])
    : (list.data?.runs ?? []);
  return (
    <>
      <h1 class="vh">Runs</h1>
      <div class="bar">
        <FilterLine value={filter} seen={seenIn(runs)} onChange={(q) => set({ q, limit: '' })} />
        <fieldset class="seg">
          <legend class="vh">Group by</legend>
          {(['', 'session'] as const).map((by) => (
            <button
              key={by}
              type="button"
              aria-pressed={bySession === (by !== '')}
              onClick={() => {
                location.hash = here(route, { by });
              }}
            >
              {by === '' ? 'Runs' : 'Sessions'}
            </button>
          ))}
        </fieldset>
        <RangeSelect route={route} />
        <SqlButton
          sources={[
            bySession
              ? { title: 'The sessions', address: sessionsAddress }
              : { title: 'The runs', address: runsAddress },
            { title: 'The figures above them', address: metricsAddress },
          ]}
        />
      </div>
      <div class={shown.isLoading && shown.data !== undefined ? 'loading' : ''}>
        {metrics.data !== undefined && shown.error === undefined && (
          <Strip metrics={metrics.data} route={route} />
        )}
        {shown.error !== undefined && <Trouble error={shown.error} retry={shown.retry} />}
        {bySession && sessions.data !== undefined && (
          <SessionTable list={sessions.data} route={route} hasFilter={filter !== ''} />
        )}
        {!bySession && list.data !== undefined && (
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
