import { formatPerson, type WaitingLists, type WaitingRow } from '../../runs/index.ts';
import { useData } from './data.ts';
import { Empty, roughly, Trouble } from './parts.tsx';
import { brief } from './payload.tsx';
import { link, type Route } from './route.ts';
import { SqlButton } from './sql.tsx';
import { isOpen, REACH, StatusTag, TOOLS, WaitingRequest } from './waiting-request.tsx';
import { Watched } from './watched.tsx';

interface WaitingTools {
  readonly tools: readonly WaitingRow[];
}

/** Waiting: what a person has to decide, and on what grounds. */
export function WaitingView({ route }: { route: Route }) {
  const { data, error, asOfMs, retry } = useData<WaitingLists>('/api/waiting', 'always');
  const tools = useData<WaitingTools>(TOOLS, 'always');
  const quarantined = tools.data?.tools ?? [];
  const open = [...(data?.open ?? []), ...quarantined];
  const id = route.args[0] ?? open[0]?.id;
  const isNothing =
    data !== undefined &&
    id === undefined &&
    [open, data.standing, data.decided].every(({ length }) => length === 0);
  return (
    <>
      <div class="bar">
        <h1>Waits for a person {open.length > 0 && <span class="sub">{open.length}</span>}</h1>
        <span class="push" />
        <SqlButton
          sources={[
            { title: 'What waits, and what was decided', address: '/api/waiting' },
            { title: 'Tools that changed or are barred', address: TOOLS },
            ...(id === undefined ? [] : [{ title: 'The one that is open', address: `/api/waiting/${id}` }]),
          ]}
        />
      </div>
      {error !== undefined && <Trouble error={error} retry={retry} asOfMs={data && asOfMs} />}
      {error === undefined && tools.error !== undefined && (
        <p class="neg" role="alert">
          Tools that changed or are barred cannot be listed: {tools.error.message}
        </p>
      )}
      {isNothing && (
        <Empty title="Nothing waits">
          <p>Calls to approve and tools that changed appear here, and in the title of this tab.</p>
        </Empty>
      )}
      {data !== undefined && !isNothing && (
        <div class={route.args[0] === undefined ? 'waiting' : 'waiting has'}>
          <nav class="wlist" aria-label="What waits">
            {open.length === 0 && <p class="dim">Nothing waits.</p>}
            <List rows={data.open} chosen={id} />
            {quarantined.length > 0 && <h2>Tools</h2>}
            <List rows={quarantined} chosen={id} />
            {data.standing.length > 0 && <h2>Approved for more than one call</h2>}
            <List rows={data.standing} chosen={id} />
            {data.decided.length > 0 && <h2>Decided</h2>}
            <List rows={data.decided} chosen={id} />
          </nav>
          {id !== undefined && <WaitingRequest key={id} id={id} open={open} />}
        </div>
      )}
    </>
  );
}

function List({ rows, chosen }: { rows: readonly WaitingRow[]; chosen: string | undefined }) {
  return (
    <ul>
      {rows.map((row) => (
        <li key={row.id}>
          <a
            class="witem"
            href={link(`waiting/${row.id}`)}
            aria-current={row.id === chosen ? 'true' : undefined}
          >
            <StatusTag row={row} />
            <b>{row.tool ?? row.reason}</b>
            {row.args !== null && (
              <span class="wargs">
                <Watched text={brief(row.args)} />
              </span>
            )}
            <span class="dim">
              {formatWho(row)}
              {formatTime(row)}
              {row.standsMs !== null && row.scope !== null && `, ${REACH[row.scope]}`}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** How long it has waited and may wait, and for whom; or who has decided. */
function formatTime(row: WaitingRow): string {
  if (!isOpen(row)) return row.decidedBy === null ? '' : formatPerson(row.decidedBy);
  const asked = `${roughly(Date.now() - row.createdMs)} ago`;
  if (row.kind === 'tool') return asked;
  const left = `ends in ${roughly(row.expiresMs - Date.now())}`;
  const caller = row.isAwaited === null ? '' : row.isAwaited ? ', caller waits' : ', caller went on';
  return `${asked}, ${left}${caller}`;
}

/** Who asks, and where. */
function formatWho({ kind, caller, server }: WaitingRow): string {
  if (kind === 'tool') return server === null ? '' : `${server}, `;
  return `${caller ?? 'nobody named'}${server === null ? '' : ` on ${server}`}, `;
}

/** How many wait, for the title of the tab. */
export function useWaitingCount(): number {
  const calls = useData<WaitingLists>('/api/waiting', 'always').data?.open.length ?? 0;
  return calls + (useData<WaitingTools>(TOOLS, 'always').data?.tools.length ?? 0);
}
