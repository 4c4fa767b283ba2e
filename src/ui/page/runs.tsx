import type { RunMetrics, RunRow, SeenNames } from '../../runs/index.ts';
import { useAnswers } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Time, Trouble } from './parts.tsx';
import { RangeSelect } from './range.tsx';
import { askRange, here, type Route, readRange, replaceRoute } from './route.ts';
import { type Listed, type ListedSessions, RunTable, SessionTable } from './run-table.tsx';
import { SavedViews } from './saved-views.tsx';
import { SqlButton } from './sql.tsx';
import { Strip } from './strip.tsx';

const PAGE = 50;

/** Runs: what happened, and where to look. */
export function Runs({ route }: { route: Route }) {
  const filter = route.query.get('q') ?? '';
  const range = readRange(route);
  const sort = route.query.get('sort') ?? '';
  const limit = Math.min(500, Math.max(PAGE, Number(route.query.get('limit') ?? PAGE) || PAGE));
  const bySession = route.query.get('by') === 'session';
  const question = new URLSearchParams({ q: filter, ...askRange(range) });
  const runsAddress = `/api/runs?${question}&limit=${limit}${sort === '' ? '' : `&sort=${encodeURIComponent(sort)}`}`;
  const sessionsAddress = `/api/sessions?${question}`;
  const metricsAddress = `/api/metrics?${question}`;
  // Rows and the figures above them are of one moment.
  const shown = useAnswers<readonly [Listed | ListedSessions, RunMetrics]>([
    `${bySession ? sessionsAddress : runsAddress}&fresh`,
    metricsAddress,
  ]);
  const [answer, metrics] = shown.data ?? [];
  const sessions = answer !== undefined && 'sessions' in answer ? answer : undefined;
  const list = answer !== undefined && 'runs' in answer ? answer : undefined;
  const set = (parameters: Record<string, string | undefined>) => replaceRoute(here(route, parameters));
  const runs = list?.runs ?? sessions?.sessions.flatMap(({ newest }) => newest) ?? [];
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
        <SavedViews route={route} />
        <SqlButton
          sources={[
            bySession
              ? { title: 'The sessions', address: sessionsAddress }
              : { title: 'The runs', address: runsAddress },
            { title: 'The figures above them', address: metricsAddress },
          ]}
        />
      </div>
      {shown.data === undefined && shown.error === undefined && <p class="foot">Loading</p>}
      {shown.error !== undefined && (
        <Trouble error={shown.error} retry={shown.retry} asOfMs={shown.data && shown.asOfMs} />
      )}
      <div class={shown.isLoading && shown.data !== undefined ? 'loading' : ''}>
        {answer?.lookedMs !== undefined && (
          <p class="foot">
            The texts of runs since <Time ms={answer.lookedMs} /> were looked through.{' '}
            <a
              href={here(route, {
                since: range.sinceMs ?? Date.now() - range.lastMs,
                until: answer.lookedMs,
              })}
            >
              Look further back
            </a>
          </p>
        )}
        {metrics !== undefined && <Strip metrics={metrics} route={route} />}
        {sessions !== undefined && <SessionTable list={sessions} route={route} hasFilter={filter !== ''} />}
        {list !== undefined && (
          <RunTable
            list={list}
            route={route}
            hasFilter={filter !== ''}
            total={metrics?.runs}
            onMore={() => set({ limit: String(limit + PAGE * 2) })}
          />
        )}
      </div>
    </>
  );
}

/** Names in the rows, for completion. */
export function seenIn(runs: readonly RunRow[]): SeenNames {
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
