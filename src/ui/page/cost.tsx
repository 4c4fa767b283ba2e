import { type CostRow, filterValue, formatCount, formatCounted } from '../../runs/index.ts';
import { Chart, MAX_SERIES, type Total } from './cost-chart.tsx';
import { useData } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Count, Empty, Trouble, Usd } from './parts.tsx';
import { RangeSelect, WholeHours } from './range.tsx';
import { askHours, here, type Route, readRange, readRows, replaceRoute } from './route.ts';
import { readSort, SortHead, sortRows } from './sort.tsx';
import { SqlButton } from './sql.tsx';
import { percent } from './tools-sentence.tsx';

const DIMENSIONS = [
  ['model', 'Model'],
  ['tool', 'Tool'],
  ['user', 'User'],
  ['service', 'Service'],
] as const;
/** What is no definition of a tool. */
const REST = 'messages, results and answers';
/** What stands where there is no name. */
const nameOfRest = (by: string) => (by === 'tool' ? REST : `unknown ${by}`);

interface StoreFinding {
  readonly name: string;
  readonly says: string;
  readonly rows: number;
}

/** One line when rows of the last day cannot be right, or have no price. */
function StoreLine() {
  const { data } = useData<{ findings: readonly StoreFinding[] }>('/api/check');
  const [first, ...more] = data?.findings ?? [];
  if (first === undefined) return null;
  const rest = more.length === 0 ? '' : `, and ${formatCounted(more.length, 'more finding')}`;
  return (
    <p class="foot">
      In the last day: {first.says} ({formatCount(first.rows)}){rest}.{' '}
      <code>npx mcp-observatory db check</code> says what to do.
    </p>
  );
}

/** Cost: where the money goes. */
export function Cost({ route }: { route: Route }) {
  const filter = route.query.get('q') ?? '';
  // What definitions of tools cost is known for all runs together.
  const dimensions = DIMENSIONS.filter(([name]) => filter === '' || name !== 'tool');
  const asked = dimensions.find(([name]) => name === route.query.get('by')) ?? DIMENSIONS[0];
  const question = new URLSearchParams({ by: asked[0], q: filter, ...askHours(readRange(route)) });
  const address = `/api/cost?${question}`;
  const sort = readSort(route, 'cost');
  const { data, error, asOfMs, retry } = useData<{ by: string; rows: readonly CostRow[] }>(address);
  // Until the new rows are there, the old ones stand under what they are by.
  const by = DIMENSIONS.find(([name]) => name === data?.by) ?? asked;
  const totals = addTotals(data?.rows ?? []);
  // A call offers many tools: it is counted with what is no definition.
  const counted = by[0] === 'tool' ? totals.filter(({ name }) => name === '') : totals;
  return (
    <>
      <h1 class="vh">Cost</h1>
      <div class="bar">
        <FilterLine value={filter} seen={{}} onChange={(q) => replaceRoute(here(route, { q }))} />
        <fieldset class="seg">
          <legend class="vh">Group by</legend>
          {dimensions.map(([name, label]) => (
            <button
              key={name}
              type="button"
              aria-pressed={asked[0] === name}
              onClick={() => {
                location.hash = here(route, { by: name });
              }}
            >
              {label}
            </button>
          ))}
        </fieldset>
        <RangeSelect route={route} />
        <SqlButton sources={[{ title: 'Costs', address }]} />
      </div>
      <p class="explain sm">
        {data !== undefined && <Sentence totals={totals} counted={counted} by={by[0]} route={route} />}
        {filter !== '' && <span class="sub"> Of the runs that match.</span>}
      </p>
      <StoreLine />
      {data === undefined && error === undefined && <p class="foot">Loading</p>}
      {error !== undefined && <Trouble error={error} retry={retry} asOfMs={data && asOfMs} />}
      {data !== undefined && totals.length === 0 && (
        <Empty title="No model was called in this range">
          <p>Model calls appear here within 15 s.</p>
        </Empty>
      )}
      {totals.length > 0 && (
        <>
          <Chart totals={totals} name={by[1]} />
          <div class="scroll">
            <table class="tbl cost">
              <thead>
                <tr>
                  {COLUMNS.map(({ name, label, look }) => (
                    <SortHead
                      key={name}
                      route={route}
                      sort={sort}
                      by={name}
                      label={label || by[1]}
                      class={look}
                      isFirst={name === 'cost'}
                    />
                  ))}
                </tr>
              </thead>
              <tbody>
                {sortRows(totals, sort, COLUMNS.find(({ name }) => name === sort.by)?.of).map((total) => (
                  <Line
                    key={total.name}
                    total={total}
                    field={by[0]}
                    route={route}
                    series={pickSeries(total, totals.indexOf(total))}
                    sum={addCosts(totals)}
                  />
                ))}
              </tbody>
              <tfoot>
                <tr>
                  <td>Total</td>
                  <td class="num">
                    <Count of={counted.reduce((sum, one) => sum + one.calls, 0)} />
                  </td>
                  <td class="hm" />
                  <td class="num">
                    <Count of={totals.reduce((sum, one) => sum + one.promptTokens, 0)} />
                  </td>
                  <td class="hm" />
                  <td class="num hm">
                    <Count of={totals.reduce((sum, one) => sum + one.completionTokens, 0)} />
                  </td>
                  <td class="hm" />
                  <td class="hm" />
                  <td class="num">
                    <Usd of={addCosts(totals)} />
                  </td>
                </tr>
              </tfoot>
            </table>
          </div>
          <p class="foot">
            Prices are those of the providers' lists unless the provider sent a cost. Unpriced calls add
            nothing to a sum.
            {by[0] === 'tool' &&
              ' A tool costs what its definition takes of the model calls that offer it; results, and what a provider adds to definitions, count with the messages.'}
          </p>
        </>
      )}
    </>
  );
}

const perCall = ({ costUsd, calls, unpriced }: Total) =>
  calls === unpriced ? null : costUsd / (calls - unpriced);

/** The columns, and what rows are sorted by under them. */
const COLUMNS: readonly {
  readonly name: string;
  readonly label: string;
  readonly look: string;
  readonly of: (total: Total) => number | string | null;
}[] = [
  { name: 'name', label: '', look: '', of: ({ name }) => name },
  { name: 'calls', label: 'Calls', look: 'num', of: ({ calls }) => calls },
  { name: 'failed', label: 'Failed', look: 'num hm', of: ({ failed, calls }) => (failed ?? 0) / calls },
  { name: 'in', label: 'Tokens in', look: 'num', of: ({ promptTokens }) => promptTokens },
  {
    name: 'cached',
    label: 'Cached',
    look: 'num hm',
    of: ({ cachedTokens, promptTokens }) => (promptTokens === 0 ? null : cachedTokens / promptTokens),
  },
  { name: 'out', label: 'Tokens out', look: 'num hm', of: ({ completionTokens }) => completionTokens },
  { name: 'each', label: 'Per call', look: 'num hm', of: perCall },
  { name: 'share', label: 'Share', look: 'num hm', of: ({ costUsd }) => costUsd },
  { name: 'cost', label: 'Cost', look: 'num', of: (total) => (isUnpriced(total) ? null : total.costUsd) },
];

const addCosts = (totals: readonly Total[]) => totals.reduce((sum, { costUsd }) => sum + costUsd, 0);
const isUnpriced = ({ costUsd, unpriced }: Total) => costUsd === 0 && unpriced > 0;
const pickSeries = (total: Total, i: number) => (isUnpriced(total) ? 'u' : String(Math.min(i, MAX_SERIES)));

function addTotals(rows: readonly CostRow[]): readonly Total[] {
  const totals = new Map<string, Total & { parts: Map<number, number> }>();
  for (const row of rows) {
    const before = totals.get(row.name);
    const parts = before?.parts ?? new Map<number, number>();
    parts.set(row.timeMs, (parts.get(row.timeMs) ?? 0) + row.costUsd);
    totals.set(row.name, {
      name: row.name,
      parts,
      answered: [...new Set([...(before?.answered ?? []), ...row.answered])],
      calls: row.calls + (before?.calls ?? 0),
      failed: row.failed === null ? null : row.failed + (before?.failed ?? 0),
      promptTokens: row.promptTokens + (before?.promptTokens ?? 0),
      cachedTokens: row.cachedTokens + (before?.cachedTokens ?? 0),
      completionTokens: row.completionTokens + (before?.completionTokens ?? 0),
      costUsd: row.costUsd + (before?.costUsd ?? 0),
      unpriced: row.unpriced + (before?.unpriced ?? 0),
    });
  }
  return [...totals.values()].sort((a, b) => b.costUsd - a.costUsd || b.calls - a.calls);
}

interface SentenceProps {
  readonly totals: readonly Total[];
  readonly counted: readonly Total[];
  readonly by: string;
  readonly route: Route;
}

function Sentence({ totals, counted, by, route }: SentenceProps) {
  const sum = addCosts(totals);
  const [first] = totals;
  const unpriced = counted.reduce((count, total) => count + total.unpriced, 0);
  return (
    <>
      <b>
        <Usd of={sum} />
      </b>{' '}
      <WholeHours route={route} />
      {first !== undefined && sum > 0 && (
        <>
          , of which <Usd of={first.costUsd} /> ({((100 * first.costUsd) / sum).toFixed(1)} %) for{' '}
          {first.name || nameOfRest(by)}
        </>
      )}
      {unpriced > 0 && (
        <>
          ; <a href={readRows(route, 'is:unpriced')}>{formatCounted(unpriced, 'call')} unpriced</a>
        </>
      )}
      .
    </>
  );
}

interface LineProps {
  readonly total: Total;
  readonly field: string;
  readonly route: Route;
  readonly series: string;
  readonly sum: number;
}

function Line({ total, field, route, series, sum }: LineProps) {
  const { name, answered, calls, failed, promptTokens, cachedTokens, completionTokens, costUsd, unpriced } =
    total;
  const none = isUnpriced(total);
  const term = name === '' ? '' : `${field}:${[name, ...answered].map(filterValue).join(',')}`;
  const rows = name === '' ? undefined : readRows(route, term);
  return (
    <tr>
      <td>
        <i class={`k q${series}`} />
        {rows === undefined ? (
          <span class="dim">{nameOfRest(field)}</span>
        ) : (
          <a class="mono" href={rows}>
            {name.split(/(?<=[@._])/).map((part) => [part, <wbr key={part} />])}
          </a>
        )}
        {answered.length > 0 && <span class="sub"> answered by {answered.join(', ')}</span>}
        {unpriced > 0 && !none && (
          <a class="sub" href={readRows(route, `${term} is:unpriced`.trim())}>
            {' '}
            {formatCount(unpriced)} unpriced
          </a>
        )}
      </td>
      <td class="num">
        <a href={rows ?? readRows(route, '')}>
          <Count of={calls} />
        </a>
      </td>
      <td class="num hm">{failed ? `${formatCount(failed)} (${percent(failed / calls)})` : ''}</td>
      <td class="num">
        <Count of={promptTokens} />
      </td>
      <td class="num hm dim">
        {promptTokens === 0 || cachedTokens === 0
          ? ''
          : `${((100 * cachedTokens) / promptTokens).toFixed(0)} %`}
      </td>
      <td class="num hm">{field === 'tool' && name !== '' ? '' : <Count of={completionTokens} />}</td>
      <td class="num hm">{none || calls === unpriced ? '' : <Usd of={costUsd / (calls - unpriced)} />}</td>
      <td class="num hm">{none || sum === 0 ? '' : `${((100 * costUsd) / sum).toFixed(1)} %`}</td>
      <td class="num">
        <a href={readRows(route, `${term} ${none ? 'is:unpriced' : ''}`.trim())}>
          <Usd of={none ? null : costUsd} />
        </a>
      </td>
    </tr>
  );
}
