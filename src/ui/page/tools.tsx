import {
  type ChangedTool,
  filterValue,
  formatCount,
  formatCounted,
  type TaxedTool,
  type TaxReport,
  type ToolRow,
} from '../../runs/index.ts';
import { ChangedTools } from './changed.tsx';
import { useData } from './data.ts';
import { FilterLine } from './filter-line.tsx';
import { Count, Duration, Empty, Trouble, Usd } from './parts.tsx';
import { RangeSelect } from './range.tsx';
import { askHours, here, type Route, readRange, readRows, replaceRoute } from './route.ts';
import { readSort, SortHead, sortRows } from './sort.tsx';
import { SqlButton } from './sql.tsx';
import { ToolsByClient } from './tools-by-client.tsx';
import { percent, ToolsSentence } from './tools-sentence.tsx';

/** Share of failed calls from which a rate is marked. */
const HIGH_RATE = 0.05;

/** Tools: which is slow, failing or unused. */
export function Tools({ route }: { route: Route }) {
  const filter = route.query.get('q') ?? '';
  const address = `/api/tools?${new URLSearchParams({ q: filter, ...askHours(readRange(route)) })}`;
  const { data, error, asOfMs, retry } = useData<{
    tools: readonly ToolRow[];
    tax: TaxReport;
    changed: readonly ChangedTool[];
  }>(address);
  const by = route.query.get('by') === 'client' ? 'client' : 'server';
  const tools = data?.tools ?? [];
  return (
    <>
      <h1 class="vh">Tools</h1>
      <div class="bar">
        <FilterLine
          value={filter}
          seen={{
            tool: countNames(tools.map(({ tool }) => tool)),
            server: countNames(tools.map(({ server }) => server)),
          }}
          onChange={(q) => replaceRoute(here(route, { q }))}
        />
        <fieldset class="seg">
          <legend class="vh">Group by</legend>
          {(['server', 'client'] as const).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={by === name}
              onClick={() => {
                location.hash = here(route, { by: name });
              }}
            >
              By {name}
            </button>
          ))}
        </fieldset>
        <RangeSelect route={route} />
        <SqlButton sources={[{ title: 'Tools', address }]} />
      </div>
      <p class="explain sm">
        {data !== undefined && <ToolsSentence tools={tools} tax={data.tax} route={route} />}
        {filter !== '' && <span class="sub"> Of the runs that match.</span>}
      </p>
      {data === undefined && error === undefined && <p class="foot">Loading</p>}
      {error !== undefined && <Trouble error={error} retry={retry} asOfMs={data && asOfMs} />}
      {data !== undefined && tools.length === 0 && (
        <Empty
          title={filter === '' ? 'No tool was called in this range' : 'No run that matches called a tool'}
        >
          <p>Tools appear here with their first call.</p>
        </Empty>
      )}
      <ChangedTools changed={data?.changed ?? []} />
      {tools.length > 0 && (
        <div class="scroll">
          {by === 'server' ? (
            <ByServer tools={tools} taxed={data?.tax.tools ?? []} route={route} />
          ) : (
            <ToolsByClient tools={tools} route={route} />
          )}
        </div>
      )}
    </>
  );
}

/** Names for the completion of a filter. */
function countNames(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.filter(Boolean).map((name) => [name, 1]));
}

/** How p95 differs from the range before: 0.1 is a tenth more. */
const computeChange = ({ p95Ms, p95BeforeMs }: ToolRow): number | null =>
  p95Ms === null || p95BeforeMs === null || p95BeforeMs <= 0 ? null : p95Ms / p95BeforeMs - 1;

/** What rows can be sorted by, under these heads. */
const SORTS: readonly {
  readonly name: string;
  readonly title: string;
  readonly of: (tool: ToolRow) => number | string | null;
}[] = [
  { name: 'Calls', title: 'Calls that were made', of: ({ calls }) => calls },
  { name: 'Failed', title: 'Calls that failed', of: ({ errors }) => errors },
  { name: 'Rate', title: 'Share that failed', of: (tool) => tool.errors / Math.max(1, tool.calls) },
  { name: 'p50', title: 'Half of the calls took at most this', of: ({ p50Ms }) => p50Ms },
  { name: 'p95', title: '95 of 100 calls took at most this', of: ({ p95Ms }) => p95Ms },
  {
    name: 'Change',
    title: 'p95 against the range of the same length before, where both have ten calls',
    of: computeChange,
  },
  { name: 'p99', title: '99 of 100 calls took at most this', of: ({ p99Ms }) => p99Ms },
];
const TOOL = { name: 'Tool', title: 'By name', of: ({ tool }: ToolRow) => tool };
const DENIED = { name: 'Denied', title: 'Calls that a gate refused', of: ({ denied }: ToolRow) => denied };
const FIRST = 'Calls';

/** Changes that are no noise. */
const MARKED_CHANGE = 0.2;

function Change({ tool }: { tool: ToolRow }) {
  const change = computeChange(tool);
  if (change === null) return <span class="dim">–</span>;
  const sign = change > 0 ? '+' : change < 0 ? '−' : '';
  return (
    <span class={change > MARKED_CHANGE ? 'neg' : 'dim'}>
      {sign}
      {Math.round(Math.abs(change) * 100)} %
    </span>
  );
}

interface ByServerProps {
  readonly tools: readonly ToolRow[];
  readonly taxed: readonly TaxedTool[];
  readonly route: Route;
}

function ByServer({ tools, taxed, route }: ByServerProps) {
  const hasTax = taxed.length > 0;
  const sort = readSort(route, FIRST);
  const sorted = sortRows(tools, sort, [TOOL, DENIED, ...SORTS].find(({ name }) => name === sort.by)?.of);
  const head = ({ name, title }: (typeof SORTS)[number], look = 'num') => (
    <SortHead
      key={name}
      route={route}
      sort={sort}
      by={name}
      title={title}
      class={look}
      isFirst={name === FIRST}
    />
  );
  const servers = [...new Set([...sorted, ...taxed].map(({ server }) => server))];
  const most = Math.max(...tools.map(({ p99Ms, p95Ms }) => p99Ms ?? p95Ms ?? 1), 10);
  return (
    <table class="tbl tools">
      <thead>
        <tr>
          {head(TOOL, '')}
          {SORTS.map((column) => head(column))}
          <th class="cw">p50 to p99, log</th>
          {head(DENIED)}
          {hasTax && (
            <>
              <th class="num" title="Input tokens that the definition took">
                Definition
              </th>
              <th class="num">Cost of it</th>
            </>
          )}
        </tr>
      </thead>
      {servers.map((server) => {
        const own = sorted.filter((tool) => tool.server === server);
        const offered = taxed.filter((tool) => tool.server === server);
        const calls = own.reduce((sum, tool) => sum + tool.calls, 0);
        return (
          <tbody key={server}>
            <tr class="grp">
              <td colSpan={hasTax ? 12 : 10}>
                <div class="gh over">
                  <b class="mono">{server === '' ? 'server not known' : server}</b>
                  <span class="sub">{server === '' ? '' : 'self-reported name'}</span>
                  <span class="gt">
                    {offered.length > 0 && `${offered.length} offered · `}
                    {own.length} used · {formatCounted(calls, 'call')}
                  </span>
                </div>
              </td>
            </tr>
            {own.map((tool) => (
              <ToolLine
                key={tool.tool}
                tool={tool}
                most={most}
                hasTax={hasTax}
                route={route}
                tax={offered.find((one) => one.tool === tool.tool)}
              />
            ))}
            <NeverCalled tools={offered.filter(({ used }) => used === 0)} />
          </tbody>
        );
      })}
    </table>
  );
}

/** Names of tools that are shown; the title has more. */
const MAX_NAMES = 6;

/** What was offered to models and never called, and what that cost. */
function NeverCalled({ tools }: { tools: readonly TaxedTool[] }) {
  if (tools.length === 0) return null;
  const names = tools.map(({ tool }) => tool);
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
  return (
    <tr class="unused">
      <td class="tn" colSpan={10} title={names.slice(0, 100).join(', ')}>
        <div class="sub over">
          {tools.length} offered and never called:{' '}
          <span class="mono">{names.slice(0, MAX_NAMES).join(', ')}</span>
          {names.length > MAX_NAMES && ` and ${names.length - MAX_NAMES} more`}
        </div>
      </td>
      <td class="num">
        <Count of={tokens} />
      </td>
      <td class="num">
        <Usd of={tools.reduce((sum, tool) => sum + tool.costUsd, 0)} />
      </td>
    </tr>
  );
}

interface ToolLineProps {
  readonly tool: ToolRow;
  readonly most: number;
  readonly hasTax: boolean;
  readonly tax: TaxedTool | undefined;
  readonly route: Route;
}

function ToolLine({ tool, most, hasTax, tax, route }: ToolLineProps) {
  const rows = (field = 'tool', more = '') => readRows(route, `${field}:${filterValue(tool.tool)}${more}`);
  const rate = tool.calls === 0 ? 0 : tool.errors / tool.calls;
  const tone = rate > HIGH_RATE ? 'num neg' : 'num';
  const ms = (value: number | null) => (value === null ? '–' : <Duration ms={value} />);
  const at = (value: number | null) => (100 * Math.log10(Math.max(1, value ?? 1))) / Math.log10(most);
  return (
    <tr>
      <td class="tn">
        <a class="mono" href={rows()}>
          {tool.tool}
        </a>
      </td>
      <td class="num">
        <a href={rows()}>
          <Count of={tool.calls} />
        </a>
      </td>
      <td class={tone}>{tool.errors === 0 ? '' : <a href={rows('failed')}>{formatCount(tool.errors)}</a>}</td>
      <td class={rate > HIGH_RATE ? tone : 'num dim'}>{tool.errors === 0 ? '' : percent(rate)}</td>
      <td class="num">{ms(tool.p50Ms)}</td>
      <td class="num">{ms(tool.p95Ms)}</td>
      <td class="num">
        <Change tool={tool} />
      </td>
      <td class="num">{ms(tool.p99Ms)}</td>
      <td class="cw">
        <svg class="rng" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          <rect
            x={at(tool.p50Ms)}
            y={3.5}
            width={Math.max(1, at(tool.p99Ms) - at(tool.p50Ms))}
            height={3}
            class="rg"
          />
          <rect x={at(tool.p50Ms)} y={0} width={1.6} height={10} class="p50" />
          <rect x={at(tool.p95Ms)} y={1.5} width={1.6} height={7} class="p95" />
        </svg>
      </td>
      <td class="num">
        {tool.denied === 0 ? (
          ''
        ) : (
          <a href={rows('tool', ' status:denied')}>
            <Count of={tool.denied} />
          </a>
        )}
      </td>
      {hasTax && <td class="num">{tax !== undefined && <Count of={tax.tokens} />}</td>}
      {hasTax && <td class="num">{tax !== undefined && <Usd of={tax.costUsd} />}</td>}
    </tr>
  );
}
