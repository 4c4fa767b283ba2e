import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import {
  filterValue,
  formatCount,
  formatCounted,
  type RunList,
  type RunRow,
  type SessionGroup,
  type SessionList,
  type ShapePart,
} from '../../runs/index.ts';
import { isTyping } from './keys.ts';
import { Empty, Usd } from './parts.tsx';
import { here, link, type Route } from './route.ts';
import { Row } from './run-row.tsx';
import { readSort, SortHead } from './sort.tsx';
import { Start } from './start.tsx';

/** Runs with what they did over their time. */
export type Listed = RunList & { readonly shapes: Readonly<Record<string, readonly ShapePart[]>> };

/** More are not asked for at once. */
const MAX_ROWS = 500;

interface RunTableProps {
  readonly list: Listed;
  readonly route: Route;
  readonly hasFilter: boolean;
  readonly total: number | undefined;
  readonly onMore: () => void;
}

/** The runs, newest first. */
export function RunTable({ list, route, hasFilter, total, onMore }: RunTableProps) {
  const { runs, shapes, next } = list;
  const selected = useSelection(runs);
  if (runs.length === 0) return hasFilter ? <NoMatch route={route} /> : <Start />;
  return (
    <>
      <div class="scroll">
        <table class="tbl runs">
          <Heads second="Client, user" route={route} />
          <tbody>
            {runs.map((run, i) => (
              <Row key={run.id} run={run} parts={shapes[run.id] ?? []} isSelected={i === selected} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="foot">
        {total !== undefined && total > runs.length ? `${runs.length} of ` : ''}
        {formatCounted(Math.max(total ?? 0, runs.length), 'run')}.{' '}
        {(next !== null || (total !== undefined && total > runs.length && runs.length < MAX_ROWS)) && (
          <button type="button" class="lnk" onClick={onMore}>
            Show more
          </button>
        )}
        <Legend />
      </p>
    </>
  );
}

/** Sessions with what their runs did over their time. */
export type ListedSessions = SessionList & Pick<Listed, 'shapes'>;

interface SessionTableProps {
  readonly list: ListedSessions;
  readonly route: Route;
  readonly hasFilter: boolean;
}

/** The same rows under a line for each session. */
export function SessionTable({ list: { sessions, leftOut, shapes }, route, hasFilter }: SessionTableProps) {
  const runs = sessions.flatMap(({ newest }) => newest);
  const selected = useSelection(runs);
  if (runs.length === 0) return hasFilter ? <NoMatch route={route} /> : <Start />;
  return (
    <>
      <div class="scroll">
        <table class="tbl runs">
          <Heads second="Model" />
          {sessions.map((group) => (
            <tbody key={group.key}>
              <tr class="grp">
                <td colSpan={10}>
                  <SessionHead group={group} route={route} />
                </td>
              </tr>
              {group.newest.map((run) => (
                <Row
                  key={run.id}
                  run={run}
                  parts={shapes[run.id] ?? []}
                  isSelected={run === runs[selected]}
                  hasModel
                />
              ))}
            </tbody>
          ))}
        </table>
      </div>
      <p class="foot">
        {formatCounted(sessions.length, 'session')}
        {leftOut !== 0 &&
          `, ${leftOut === null ? 'older ones' : `${formatCount(leftOut)} older ones`} left out: narrow the range or the filter`}
        .
        <Legend />
      </p>
    </>
  );
}

function SessionHead({ group, route }: { group: SessionGroup; route: Route }) {
  const { session, client, user, runs, failed, costUsd, newest } = group;
  const first = newest[0];
  const terms = [
    first?.session != null && `session:${filterValue(first.session)}`,
    first?.session == null &&
      first?.conversation != null &&
      `conversation:${filterValue(first.conversation)}`,
    session === null &&
      client !== null &&
      `${first?.client === null ? 'service' : 'client'}:${filterValue(client)}`,
    session === null && user !== null && `user:${filterValue(user)}`,
  ].filter(Boolean);
  return (
    <div class="gh">
      <b>{[client ?? 'client not known', user].filter((name) => name !== null).join(' · ')}</b>
      <span class="sub mono ell">{session ?? ''}</span>
      {session === null && <span class="sub">no session known</span>}
      <span class="gt">
        {formatCounted(runs, 'run')}
        {failed > 0 && (
          <>
            , <span class="neg">{formatCount(failed)} failed</span>
          </>
        )}
        {costUsd !== null && (
          <>
            , <Usd of={costUsd} />
          </>
        )}
        {runs > newest.length && terms.length > 0 && (
          <>
            {' · '}
            <a href={here(route, { by: '', q: terms.join(' ') })}>all of them</a>
          </>
        )}
      </span>
    </div>
  );
}

/** The row that the keys have chosen; Enter opens it. */
function useSelection(runs: readonly RunRow[]): number {
  const [selected, setSelected] = useState(0);
  // With the rows, not after they are painted: a key that comes right then would be lost.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'j') setSelected((i) => Math.min(runs.length - 1, i + 1));
      else if (event.key === 'k') setSelected((i) => Math.max(0, i - 1));
      else if (event.key === 'Enter' && event.target === document.body) {
        const run = runs[selected];
        if (run !== undefined) location.hash = link(`run/${run.id}`);
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [runs, selected]);
  useEffect(() => {
    if (selected > 0) document.querySelector('tr[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  return selected;
}

function NoMatch({ route }: { route: Route }) {
  const words = (route.query.get('q') ?? '').split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/);
  return (
    <Empty title="No run matches">
      <p>One of the terms may be too narrow, or the range too short.</p>
      <p class="btns">
        {words.map((word) => (
          <a
            key={word}
            class="btn"
            href={here(route, { q: words.filter((other) => other !== word).join(' ') })}
          >
            remove <code>{word}</code>
          </a>
        ))}
      </p>
    </Empty>
  );
}

const SORTED = [
  ['calls', 'Calls', 'num c-k'],
  ['failed', 'Failed', 'num c-f'],
  ['duration', 'Duration', 'num c-d'],
  ['cost', 'Cost', 'num c-m'],
] as const;

/** The heads; with a route, those that the rows can be sorted by are buttons. */
function Heads({ second, route }: { second: string; route?: Route }) {
  const sort = route && readSort(route, 'started');
  return (
    <thead>
      <tr>
        <th class="c-s">
          <span class="vh">Status</span>
        </th>
        {route === undefined || sort === undefined ? (
          <th class="c-t">Started</th>
        ) : (
          <SortHead route={route} sort={sort} by="started" label="Started" class="c-t" isFirst />
        )}
        <th>Run</th>
        <th class="c-c">{second}</th>
        <th class="c-h">Shape</th>
        {SORTED.map(([by, label, look]) =>
          route === undefined || sort === undefined ? (
            <th key={by} class={look}>
              {label}
            </th>
          ) : (
            <SortHead key={by} route={route} sort={sort} by={by} label={label} class={look} />
          ),
        )}
        <th class="c-o">What stands out</th>
      </tr>
    </thead>
  );
}

function Legend() {
  return (
    <span class="legend">
      Shape: <i class="k m" />
      model <i class="k t" />
      tool <i class="k w" />
      held <i class="k e" />
      failed or denied
    </span>
  );
}
