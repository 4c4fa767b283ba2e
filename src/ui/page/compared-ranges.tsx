import {
  filterValue,
  formatCount,
  formatCounted,
  formatDuration,
  formatUsd,
  type RunMetrics,
  type ToolRow,
} from '../../runs/index.ts';
import { useData } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Empty, Time, Trouble } from './parts.tsx';
import { RangeSelect } from './range.tsx';
import { here, link, type Route, readRange, replaceRoute } from './route.ts';
import { readSort, SortHead, sortRows } from './sort.tsx';
import { SqlButton } from './sql.tsx';

interface Side {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly figures: RunMetrics;
  readonly tools: readonly ToolRow[];
}

const MINUTE_MS = 60_000;

/** A range of time and the one of the same length before it. */
export function CompareRanges({ route }: { route: Route }) {
  const filter = route.query.get('q') ?? '';
  const { lastMs: lengthMs, untilMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS } = readRange(route);
  const now = untilMs;
  const question = new URLSearchParams({
    q: filter,
    a_since: String(now - 2 * lengthMs),
    a_until: String(now - lengthMs),
    b_since: String(now - lengthMs),
    b_until: String(now),
  });
  const address = `/api/compare/ranges?${question}`;
  const { data, error, retry } = useData<{ a: Side; b: Side }>(address, 'once');
  return (
    <>
      <div class="bar">
        <FilterLine value={filter} seen={{}} onChange={(q) => replaceRoute(here(route, { q }))} />
        <RangeSelect route={route} />
        <SqlButton sources={[{ title: 'Both ranges', address }]} />
      </div>
      {data === undefined && error === undefined && <p class="foot">Loading</p>}
      {error !== undefined && <Trouble error={error} retry={retry} />}
      {data !== undefined && <Result a={data.a} b={data.b} route={route} />}
    </>
  );
}

type Show = (value: number) => string;

function Result({ a, b, route }: { a: Side; b: Side; route: Route }) {
  const rows: readonly (readonly [string, (figures: RunMetrics) => number | null, Show])[] = [
    ['Runs', ({ runs }) => runs, formatCount],
    ['Failed', ({ failed }) => failed, formatCount],
    ['Answers contradicted', ({ contradicted }) => contradicted, formatCount],
    ['Answers unsupported', ({ unsupported }) => unsupported, formatCount],
    ['Held for approval', ({ held }) => held, formatCount],
    ['Duration p50', ({ durationP50Ms }) => durationP50Ms, formatDuration],
    ['Duration p95', ({ durationP95Ms }) => durationP95Ms, formatDuration],
    ['Cost', ({ costUsd }) => costUsd, formatUsd],
    ['Calls unpriced', ({ unpriced }) => unpriced, formatCount],
  ];
  return (
    <div class="cgrid">
      <section>
        <h2>Figures of the runs</h2>
        <table class="tbl rngt">
          <thead>
            <tr>
              <th>Figure</th>
              <th class="num">
                A, <Time ms={a.sinceMs} />
              </th>
              <th class="num">
                B, <Time ms={b.sinceMs} />
              </th>
              <th class="num">B − A</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, of, show]) => (
              <tr key={name}>
                <td>{name}</td>
                <Figures a={of(a.figures)} b={of(b.figures)} show={show} />
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h2>Tools, whole hours</h2>
        <Tools a={a.tools} b={b.tools} route={route} />
      </section>
    </div>
  );
}

const MAX_TOOLS = 60;

type Pair = readonly [before: ToolRow | undefined, after: ToolRow | undefined];

const subtract = ([one, other]: Pair, of: (tool: ToolRow) => number | null) => {
  const [before, after] = [one === undefined ? 0 : of(one), other === undefined ? 0 : of(other)];
  return before === null || after === null ? null : after - before;
};

/** The columns, and what rows are sorted by under them. */
const COLUMNS: readonly (readonly [string, (pair: Pair) => number | string | null])[] = [
  ['Calls A', ([one]) => one?.calls ?? 0],
  ['Calls B', ([, other]) => other?.calls ?? 0],
  ['B − A', (pair) => Math.abs(subtract(pair, ({ calls }) => calls) ?? 0)],
  ['Failed A', ([one]) => one?.errors ?? 0],
  ['Failed B', ([, other]) => other?.errors ?? 0],
  ['p95 A', ([one]) => one?.p95Ms ?? null],
  ['p95 B', ([, other]) => other?.p95Ms ?? null],
  ['Change', (pair) => (pair.includes(undefined) ? null : subtract(pair, ({ p95Ms }) => p95Ms))],
];

/** What got slower comes first. */
const FIRST = 'Change';

function Tools({ a, b, route }: { a: readonly ToolRow[]; b: readonly ToolRow[]; route: Route }) {
  const toKey = ({ server, tool }: ToolRow) => JSON.stringify([server, tool]);
  const before = new Map(a.map((tool) => [toKey(tool), tool]));
  const after = new Map(b.map((tool) => [toKey(tool), tool]));
  const sort = readSort(route, FIRST);
  const of = COLUMNS.find(([name]) => name === sort.by)?.[1];
  const keys = sortRows(
    [...new Set([...after.keys(), ...before.keys()])],
    sort,
    of && ((key) => of([before.get(key), after.get(key)])),
  );
  if (keys.length === 0) {
    return (
      <Empty title="No tool was called">
        <p>Choose longer ranges.</p>
      </Empty>
    );
  }
  return (
    <div class="scroll">
      <table class="tbl rngt of-tools">
        <thead>
          <tr>
            <th>Tool</th>
            {COLUMNS.map(([name]) => (
              <SortHead key={name} route={route} sort={sort} by={name} isFirst={name === FIRST} />
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.slice(0, MAX_TOOLS).map((key) => {
            const [one, other] = [before.get(key), after.get(key)];
            const { server, tool } = (other ?? one) as ToolRow;
            const ms = (value: number | null | undefined) => (value == null ? '–' : formatDuration(value));
            return (
              <tr key={key}>
                <td>
                  <a class="mono" href={link('runs', { q: `tool:${filterValue(tool)}` })}>
                    {server === '' ? '' : <span class="dim">{server}.</span>}
                    {tool}
                  </a>
                </td>
                <Figures a={one?.calls ?? 0} b={other?.calls ?? 0} show={formatCount} />
                <td class="num">{one?.errors || ''}</td>
                <td class="num">{other?.errors || ''}</td>
                <td class="num">{ms(one?.p95Ms)}</td>
                <td class="num">{ms(other?.p95Ms)}</td>
                <td class="num">
                  <Delta
                    change={one && other && subtract([one, other], ({ p95Ms }) => p95Ms)}
                    show={formatDuration}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {keys.length > MAX_TOOLS && (
        <p class="foot">Left out: {formatCounted(keys.length - MAX_TOOLS, 'tool')} that changed less.</p>
      )}
    </div>
  );
}

function Figures({ a, b, show }: { a: number | null; b: number | null; show: Show }) {
  const change = a === null || b === null ? undefined : b - a;
  return (
    <>
      <td class="num">{a === null ? '–' : show(a)}</td>
      <td class="num">{b === null ? '–' : show(b)}</td>
      <td class="num">
        <Delta change={change} show={show} />
      </td>
    </>
  );
}

function Delta({ change, show }: { change: number | null | undefined; show: Show }) {
  if (change == null) return <>–</>;
  return <>{change === 0 ? 'same' : `${change > 0 ? '+' : '−'}${show(Math.abs(change))}`}</>;
}
