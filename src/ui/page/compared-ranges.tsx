import {
  filterValue,
  formatCount,
  formatDuration,
  formatUsd,
  type RunMetrics,
  type ToolRow,
} from '../../runs/index.ts';
import { useData } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Empty, Time, Trouble } from './parts.tsx';
import { here, link, type Route, readRange, replaceRoute } from './route.ts';
import { RangeSelect } from './runs.tsx';
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
  const lengthMs = readRange(route);
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
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
      {error !== undefined && <Trouble error={error} retry={retry} />}
      {data !== undefined && <Result a={data.a} b={data.b} />}
    </>
  );
}

type Show = (value: number) => string;

function Result({ a, b }: { a: Side; b: Side }) {
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
        <table class="tbl">
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
        <h2>Tools, whole hours, whatever the filter</h2>
        <Tools a={a.tools} b={b.tools} />
      </section>
    </div>
  );
}

const MAX_TOOLS = 60;

function Tools({ a, b }: { a: readonly ToolRow[]; b: readonly ToolRow[] }) {
  const toKey = ({ server, tool }: ToolRow) => JSON.stringify([server, tool]);
  const before = new Map(a.map((tool) => [toKey(tool), tool]));
  const after = new Map(b.map((tool) => [toKey(tool), tool]));
  const change = (key: string) => Math.abs((after.get(key)?.calls ?? 0) - (before.get(key)?.calls ?? 0));
  const keys = [...new Set([...after.keys(), ...before.keys()])].sort((x, y) => change(y) - change(x));
  if (keys.length === 0) {
    return (
      <Empty title="No tool was called">
        <p>Choose longer ranges.</p>
      </Empty>
    );
  }
  return (
    <div class="scroll">
      <table class="tbl">
        <thead>
          <tr>
            <th>Tool</th>
            <th class="num">Calls A</th>
            <th class="num">Calls B</th>
            <th class="num">B − A</th>
            <th class="num">Failed A</th>
            <th class="num">Failed B</th>
            <th class="num">p95 A</th>
            <th class="num">p95 B</th>
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
              </tr>
            );
          })}
        </tbody>
      </table>
      {keys.length > MAX_TOOLS && (
        <p class="foot">{formatCount(keys.length - MAX_TOOLS)} tools that changed less are left out.</p>
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
        {change === undefined
          ? '–'
          : change === 0
            ? 'same'
            : `${change > 0 ? '+' : '−'}${show(Math.abs(change))}`}
      </td>
    </>
  );
}
