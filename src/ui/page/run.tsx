import type { SentencePart } from '../explain/index.ts';
import type { RunRow, RunSpan, Said } from '../store/index.ts';
import { Conversation } from './conversation.tsx';
import { useData } from './data.ts';
import { Panel } from './panel.tsx';
import { CopyButton, Empty, Tag, Time, Trouble } from './parts.tsx';
import { link, type Route } from './route.ts';
import { statusOf } from './run-table.tsx';
import { Waterfall } from './waterfall.tsx';

/** What the server tells of a run. */
export interface RunAnswer {
  readonly run: RunRow;
  readonly spans: readonly RunSpan[];
  readonly said: readonly Said[];
  readonly explanation: readonly SentencePart[];
}

const TABS = [
  ['conversation', 'Conversation'],
  ['waterfall', 'Waterfall'],
] as const;

/** One run: what it did, whether the answer is true, who allowed it, what it cost. */
export function Run({ route }: { route: Route }) {
  const [id = '', tab = 'conversation'] = route.args;
  const { data, error } = useData<RunAnswer>(`/api/runs/${encodeURIComponent(id)}?fresh`);
  if (error !== undefined && data === undefined) {
    if (error.status !== 404) return <Trouble error={error} />;
    return (
      <Empty title={`No run ${id.slice(0, 40)}`}>
        <p>It may have been pruned, or belong to another store.</p>
        <a class="btn" href={link('runs')}>
          All runs
        </a>
      </Empty>
    );
  }
  if (data === undefined) return <p class="foot">Loading</p>;
  const { run, spans, said, explanation } = data;
  const asked = route.query.get('span');
  const chosen = spans.find((span) => span.id === asked) ?? standsOut(explanation, spans);
  const at = (span: string, other: string = tab) => link(`run/${run.id}/${other}`, { span });
  return (
    <>
      <div class="runhead">
        <div class="crumb">
          <a href={link('runs')}>Runs</a>
          <span class="dim">/</span>
          <h1>{run.name}</h1>
          <Tag status={statusOf(run)} />
          <span class="meta">
            <Time ms={run.startMs} /> · {run.client ?? run.service} {run.user !== null && <>· {run.user} </>}·{' '}
            <span class="mono">{run.id.slice(0, 8)}</span>
            <CopyButton text={run.id} label="Copy the trace id" />
          </span>
          <span class="acts">
            <a class="btn" href={link('compare', { a: run.id })}>
              Compare
            </a>
          </span>
        </div>
        <p class="explain">
          {explanation.map(({ text, tone, span }, i) => {
            const words = tone === undefined ? text : <b class={tone === 'bad' ? 'neg' : 's-held'}>{text}</b>;
            return span === undefined ? (
              <span key={i}>{words}</span>
            ) : (
              <a key={i} href={at(span)}>
                {words}
              </a>
            );
          })}
        </p>
      </div>
      <div class={asked === null ? 'split' : 'split has'}>
        <div class="mainc">
          <div class="tablist">
            <div role="tablist" aria-label="The run as">
              {TABS.map(([name, label]) => (
                <a
                  key={name}
                  role="tab"
                  id={`tab-${name}`}
                  aria-selected={name === tab}
                  aria-controls="tabpanel"
                  href={link(`run/${run.id}/${name}`, { span: asked })}
                >
                  {label}
                </a>
              ))}
            </div>
            <span class="sub tabn">
              {spans.length} {spans.length === 1 ? 'span' : 'spans'}
              {run.spans > spans.length ? ` of ${run.spans}` : ''}
            </span>
          </div>
          <div id="tabpanel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === 'waterfall' ? (
              <Waterfall spans={spans} chosen={chosen?.id} at={at} />
            ) : (
              <Conversation spans={spans} said={said} chosen={chosen?.id} at={at} />
            )}
          </div>
        </div>
        {chosen !== undefined && (
          <Panel
            run={run}
            span={chosen}
            spans={spans}
            said={said.find(({ spanId }) => spanId === chosen.id)}
            close={link(`run/${run.id}/${tab}`)}
          />
        )}
      </div>
    </>
  );
}

/** The span that the sentence points at first, else the root. */
function standsOut(explanation: readonly SentencePart[], spans: readonly RunSpan[]): RunSpan | undefined {
  const first = explanation.find(({ span, tone }) => span !== undefined && tone !== undefined);
  return spans.find(({ id }) => id === first?.span) ?? spans[0];
}
