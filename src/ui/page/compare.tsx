import type { ComparedFigure, Comparison } from '../explain/index.ts';
import { formatCount, formatDuration, formatUsd } from '../explain/units.ts';
import type { RunList, RunRow } from '../store/index.ts';
import { useData } from './data.ts';
import { Empty, Icon, Time, Trouble } from './parts.tsx';
import { here, link, type Route } from './route.ts';

type Compared = Comparison & { readonly a: RunRow; readonly b: RunRow };

const NAMES: Readonly<Record<ComparedFigure['name'], string>> = {
  calls: 'Tool calls',
  failed: 'Failed',
  denied: 'Denied',
  model_calls: 'Model calls',
  input_tokens: 'Tokens in',
  output_tokens: 'Tokens out',
  cost_usd: 'Cost',
  duration_ms: 'Duration',
};

/** Compare: what is different between two runs. */
export function Compare({ route }: { route: Route }) {
  const [a, b] = [route.query.get('a') ?? '', route.query.get('b') ?? ''];
  const recent = useData<RunList>('/api/runs?limit=100', false);
  const { data, error } = useData<Compared>(
    a !== '' && b !== '' ? `/api/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}` : undefined,
    false,
  );
  const pick = (side: 'a' | 'b') => (
    <div class="cmp">
      <span class="ab">{side.toUpperCase()}</span>
      <label class="vh" for={`run-${side}`}>
        Run {side.toUpperCase()}
      </label>
      <select
        id={`run-${side}`}
        value={side === 'a' ? a : b}
        onChange={(event) => {
          location.hash = here(route, { [side]: event.currentTarget.value });
        }}
      >
        <option value="">Choose a run</option>
        {[a, b]
          .filter((id) => id !== '' && !recent.data?.runs.some((run) => run.id === id))
          .map((id) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        {recent.data?.runs.map((run) => (
          <option key={run.id} value={run.id}>
            {new Date(run.startMs).toLocaleTimeString('en-GB')} {run.name} ({run.id.slice(0, 8)})
          </option>
        ))}
      </select>
    </div>
  );
  return (
    <>
      <h1 class="vh">Compare</h1>
      <div class="bar" />
      <div class="cmps">
        {pick('a')}
        {pick('b')}
      </div>
      {error !== undefined &&
        (error.status === 404 ? (
          <Empty title="One of the runs is not known">
            <p>It may have been pruned.</p>
          </Empty>
        ) : (
          <Trouble error={error} />
        ))}
      {data === undefined && error === undefined && (
        <Empty title="Choose two runs">
          <p>Their figures and tool calls are shown side by side.</p>
        </Empty>
      )}
      {data !== undefined && <Result data={data} />}
    </>
  );
}

function Result({ data }: { data: Compared }) {
  const { a, b, figures, calls, leftOut } = data;
  return (
    <div class="cgrid">
      <section>
        <h2>Figures</h2>
        <table class="tbl">
          <thead>
            <tr>
              <th>Figure</th>
              <th class="num">
                A, <Time ms={a.startMs} />
              </th>
              <th class="num">
                B, <Time ms={b.startMs} />
              </th>
              <th class="num">B − A</th>
            </tr>
          </thead>
          <tbody>
            {figures.map((figure) => (
              <tr key={figure.name}>
                <td>{NAMES[figure.name]}</td>
                <td class="num">{shown(figure.name, figure.a)}</td>
                <td class="num">{shown(figure.name, figure.b)}</td>
                <td class="num">
                  {figure.a === null || figure.b === null ? (
                    <span class="dim">not known</span>
                  ) : (
                    signed(figure.name, figure.b - figure.a)
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section>
        <h2>Tool calls</h2>
        {calls.length === 0 && <p class="foot">Neither run called a tool.</p>}
        {calls.map(({ mark, a: one, b: other }, i) => (
          <div class="ar" key={i}>
            <Side run={a} call={one} />
            <b class="dim" title={mark === '=' ? 'in both' : mark === '-' ? 'only in A' : 'only in B'}>
              {mark === '-' ? '−' : mark}
            </b>
            <Side run={b} call={other} />
          </div>
        ))}
        {leftOut > 0 && <p class="foot">{formatCount(leftOut)} more calls are not compared.</p>}
      </section>
    </div>
  );
}

function Side({ run, call }: { run: RunRow; call: Comparison['calls'][number]['a'] }) {
  if (call === undefined) return <span class="gap">–</span>;
  const status = call.isDenied ? 'denied' : call.isFailed ? 'failed' : 'ok';
  return (
    <a href={link(`run/${run.id}/waterfall`, { span: call.span.id })}>
      <Icon name={status} />
      <span class="mono">
        {call.span.server !== null && <span class="dim">{call.span.server}.</span>}
        {call.tool}
      </span>
      <span class="vh">{status}</span>
    </a>
  );
}

function shown(name: ComparedFigure['name'], value: number | null): string {
  if (value === null) return 'unpriced';
  if (name === 'cost_usd') return formatUsd(value);
  return name === 'duration_ms' ? formatDuration(value) : formatCount(value);
}

function signed(name: ComparedFigure['name'], value: number): string {
  if (value === 0) return '=';
  return `${value > 0 ? '+' : '−'}${shown(name, Math.abs(value))}`;
}
