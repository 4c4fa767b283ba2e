import { useEffect } from 'preact/hooks';
import type { RelatedRuns, RunList, RunRow } from '../../runs/index.ts';
import { CompareRanges } from './compared-ranges.tsx';
import { type Compared, ComparedResult } from './compared-runs.tsx';
import { useData } from './data.ts';
import { Empty, formatTime, Trouble } from './parts.tsx';
import { here, type Route, replaceRoute } from './route.ts';
import { SqlButton } from './sql.tsx';

const KINDS = [
  ['runs', 'Two runs'],
  ['golden', 'With a golden'],
  ['ranges', 'Two ranges'],
  ['shadow', 'With its shadow'],
] as const;

/** Compare: what is different between two runs, a run and a golden, two ranges of time, a shadow and its primary. */
export function Compare({ route }: { route: Route }) {
  const kind = KINDS.find(([name]) => name === route.query.get('kind'))?.[0] ?? 'runs';
  return (
    <>
      <h1 class="vh">Compare</h1>
      <div class="bar">
        <fieldset class="seg">
          <legend class="vh">Compare</legend>
          {KINDS.map(([name, label]) => (
            <button
              key={name}
              type="button"
              aria-pressed={kind === name}
              onClick={() => {
                location.hash = here(route, { kind: name, a: '', b: '' });
              }}
            >
              {label}
            </button>
          ))}
        </fieldset>
        <span class="push" />
        {kind === 'runs' && (
          <a class="btn" href={here(route, { a: route.query.get('b'), b: route.query.get('a') })}>
            Swap A and B
          </a>
        )}
      </div>
      {kind === 'runs' && <CompareRuns route={route} />}
      {kind === 'golden' && <CompareGolden route={route} />}
      {kind === 'ranges' && <CompareRanges route={route} />}
      {kind === 'shadow' && <CompareShadow route={route} />}
    </>
  );
}

function CompareRuns({ route }: { route: Route }) {
  const [a, b] = [route.query.get('a') ?? '', route.query.get('b') ?? ''];
  const related = useData<RelatedRuns>(
    a === '' ? undefined : `/api/runs/${encodeURIComponent(a)}/related`,
    'once',
  );
  const prompt = related.data?.promptHash;
  const alike = useData<RunList>(prompt == null ? undefined : toAddress(`prompt:${prompt}`), 'once').data;
  const other = alike?.runs.find(({ id }) => id !== a)?.id;
  // A run is mostly compared with the last one of the same prompt; any other is two keys away.
  useEffect(() => {
    if (b === '' && other !== undefined) replaceRoute(here(route, { b: other }));
  }, [a, other]);
  return (
    <>
      <div class="cmps">
        <RunPick side="a" route={route} filter="" />
        <RunPick side="b" route={route} filter="" alike={alike?.runs} />
      </div>
      {a === '' || b === '' ? (
        <Empty title="Choose two runs">
          <p>Their figures, tool calls and answers are shown side by side.</p>
        </Empty>
      ) : (
        <Outcome address={`/api/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`} />
      )}
    </>
  );
}

function CompareGolden({ route }: { route: Route }) {
  const [a, b] = [route.query.get('a') ?? '', route.query.get('b') ?? ''];
  const { data } = useData<{ goldens: readonly string[] }>('/api/goldens', 'once');
  return (
    <>
      <div class="cmps">
        <Pick
          side="a"
          label="Golden"
          route={route}
          options={(data?.goldens ?? []).map((name) => [name, name])}
        />
        <RunPick side="b" route={route} filter="" />
      </div>
      {data?.goldens.length === 0 && (
        <Empty title="There are no goldens here">
          <p>
            The folder is <code>goldens</code>, where the page was started, or that of <code>--goldens</code>.
            Keep a run as a golden:
          </p>
          <pre class="code">npx mcp-observatory golden from-trace --help</pre>
        </Empty>
      )}
      {data !== undefined && data.goldens.length > 0 && (a === '' || b === '') && (
        <Empty title="Choose a golden and a run">
          <p>The calls of the run are aligned with those that were recorded.</p>
        </Empty>
      )}
      {a !== '' && b !== '' && (
        <Outcome address={`/api/compare/golden/${encodeURIComponent(b)}?golden=${encodeURIComponent(a)}`} />
      )}
    </>
  );
}

/** The run that a shadow accompanies is found by the shadow. */
function CompareShadow({ route }: { route: Route }) {
  const b = route.query.get('b') ?? '';
  const primary = useData<RelatedRuns>(
    b === '' ? undefined : `/api/runs/${encodeURIComponent(b)}/related`,
    'once',
  );
  return (
    <>
      <div class="cmps one">
        <RunPick side="b" route={route} filter="is:shadow" />
      </div>
      {b === '' && (
        <Empty title="Choose a shadow run">
          <p>It is compared with the run that it accompanies.</p>
        </Empty>
      )}
      {b !== '' &&
        (primary.data?.primary === null || primary.error !== undefined) &&
        (primary.error === undefined ? (
          <Empty title="This run is no shadow of another">
            <p>
              A shadow names its primary in <code>shadow_parent_trace_id</code>.
            </p>
          </Empty>
        ) : (
          <Trouble error={primary.error} retry={primary.retry} />
        ))}
      {b !== '' && primary.data?.primary != null && primary.error === undefined && (
        <Outcome address={`/api/compare/${primary.data.primary}/${encodeURIComponent(b)}`} />
      )}
    </>
  );
}

function Outcome({ address }: { address: string }) {
  const { data, error, retry } = useData<Compared>(address, 'once');
  if (error !== undefined) {
    if (error.status !== 404) return <Trouble error={error} retry={retry} />;
    return (
      <Empty title="One of them is not known">
        <p>A run may have been pruned, or belong to another store.</p>
      </Empty>
    );
  }
  if (data === undefined) return <p class="foot">Loading</p>;
  return (
    <>
      <ComparedResult data={data} />
      <div class="bar">
        <SqlButton sources={[{ title: 'Both sides', address }]} />
      </div>
    </>
  );
}

interface RunPickProps {
  readonly side: 'a' | 'b';
  readonly route: Route;
  readonly filter: string;
  /** Runs of the same prompt, which come first. */
  readonly alike?: readonly RunRow[] | undefined;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** As far back as a list goes. */
const MAX_DAYS = 399;

function toAddress(q: string, days = 7): string {
  const since = Math.floor((Date.now() - days * DAY_MS) / HOUR_MS) * HOUR_MS;
  return `/api/runs?${new URLSearchParams({ q, since: String(since), limit: '200' })}`;
}

function RunPick({ side, route, filter, alike = [] }: RunPickProps) {
  const { data } = useData<RunList>(toAddress(filter), 'once');
  const id = route.query.get(side);
  // The list takes longer, and may not reach back to it.
  const chosen = useData<RunList>(id ? toAddress(`run:${id}`, MAX_DAYS) : undefined, 'once').data;
  const same = new Map(alike.map((run) => [run.id, run]));
  const listed = [...alike, ...(chosen?.runs ?? []), ...(data?.runs ?? [])];
  const runs = new Map(listed.map((run) => [run.id, run]));
  const options = [...runs.values()].map((run): readonly [string, string] => [
    run.id,
    `${same.has(run.id) ? 'Same prompt · ' : ''}${formatTime(run.startMs)} · ${run.name} · ${run.models[0] ?? run.service ?? ''} · ${run.id.slice(0, 8)}`,
  ]);
  return <Pick side={side} label="Run" route={route} options={options} />;
}

/** Controls, and marks that turn the direction of the rest of the line. */
const DIRECTIONS = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

interface PickProps {
  readonly side: 'a' | 'b';
  readonly label: string;
  readonly route: Route;
  readonly options: readonly (readonly [value: string, label: string])[];
}

function Pick({ side, label, route, options }: PickProps) {
  const value = route.query.get(side) ?? '';
  const isKnown = value === '' || options.some(([one]) => one === value);
  return (
    <div class="cmp">
      <span class="ab" aria-hidden="true">
        {side.toUpperCase()}
      </span>
      <label class="vh" for={`pick-${side}`}>
        {label} {side.toUpperCase()}
      </label>
      <select
        id={`pick-${side}`}
        value={value}
        onChange={(event) => {
          location.hash = here(route, { [side]: event.currentTarget.value });
        }}
      >
        <option value="">Choose a {label.toLowerCase()}</option>
        {!isKnown && <option value={value}>{value}</option>}
        {options.map(([one, name]) => (
          <option key={one} value={one}>
            {name.replace(DIRECTIONS, '\ufffd')}
          </option>
        ))}
      </select>
    </div>
  );
}
