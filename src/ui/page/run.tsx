import { useEffect, useMemo } from 'preact/hooks';
import { formatPlural } from '../../base/index.ts';
import {
  formatDuration,
  type RunRow,
  type RunSpan,
  type Said,
  type SentencePart,
  type SentSpan,
  type WaitingRow,
  withNulls,
} from '../../runs/index.ts';
import { ConversationTab } from './conversation.tsx';
import { useData } from './data.ts';
import { FindInRun } from './find-in-run.tsx';
import { isRequestFor } from './held.tsx';
import { KeepGolden } from './keep-golden.tsx';
import { AroundRun, NoteMenu, useRelated } from './notes.tsx';
import { Panel } from './panel.tsx';
import { CopyButton, Empty, setTitle, Tag, Time, Trouble } from './parts.tsx';
import { Raw } from './raw.tsx';
import { goBack, here, link, listAddress, type Route, replaceRoute } from './route.ts';
import { SqlButton } from './sql.tsx';
import { TaxBar } from './tax-bar.tsx';
import { longWait, Waterfall } from './waterfall.tsx';

/** What the server tells of a run. */
export interface RunAnswer {
  readonly run: RunRow;
  readonly spans: readonly SentSpan[];
  readonly said: readonly Said[];
  readonly explanation: readonly SentencePart[];
  /** The approvals its calls waited for, and their outcomes. */
  readonly approvals: readonly WaitingRow[];
  /** Its gate's reasons in words. */
  readonly reasons: Readonly<Record<string, string>>;
}

const TABS = [
  ['conversation', 'Conversation'],
  ['waterfall', 'Waterfall'],
  ['raw', 'Raw JSON-RPC'],
] as const;

/** Lines that are kept open in the address. */
const MAX_OPEN = 100;

/** One run: what it did, whether the answer is true, who allowed it, what it cost. */
export function Run({ route }: { route: Route }) {
  const [id = ''] = route.args;
  const tab = TABS.find(([name]) => name === route.args[1])?.[0] ?? 'conversation';
  const address = `/api/runs/${encodeURIComponent(id)}`;
  const { data, error, asOfMs, retry } = useData<RunAnswer>(`${address}?fresh`);
  const spans = useMemo(() => (data?.spans ?? []).map(withNulls), [data]);
  const asked = route.query.get('span');
  const chosen = spans.find((span) => span.id === asked) ?? standsOut(data?.explanation ?? [], spans);
  const trouble = chosen !== undefined && chosen.status !== 'ok' ? chosen.id : undefined;
  // A long run opens at what went wrong; of a short one the title stays in view.
  useEffect(() => {
    const line = trouble && document.querySelector(`#tabpanel [data-span="${CSS.escape(trouble)}"]`);
    const isFar = line && line.getBoundingClientRect().top > 1.5 * innerHeight;
    if (asked === null && isFar) line.scrollIntoView({ block: 'nearest' });
  }, [data === undefined, tab]);
  if (error !== undefined && data === undefined) {
    if (error.status !== 404) return <Trouble error={error} retry={retry} />;
    return (
      <Empty isPage title={`No run ${id.slice(0, 40)}`}>
        <p>It may have been pruned, or belong to another store.</p>
        <a class="btn" href={link('runs')}>
          All runs
        </a>
      </Empty>
    );
  }
  if (data === undefined)
    return (
      <>
        <h1 class="vh">Run</h1>
        <p class="foot">Loading</p>
      </>
    );
  const { run, said, explanation, approvals, reasons } = data;
  const open = new Set((route.query.get('open') ?? '').split(',').filter(Boolean));
  const isFolded = route.query.get('fold') === 'wait';
  const at = (span: string) => here({ ...route, args: [run.id, tab] }, { span });
  const toggle = (span: string) => {
    const next = open.has(span) ? [...open].filter((one) => one !== span) : [...open, span];
    replaceRoute(here(route, { open: next.slice(-MAX_OPEN).join(',') }));
  };
  const wait = tab === 'waterfall' ? longWait(spans) : undefined;
  const view = { spans, said, chosen: chosen?.id, open, at, toggle, approvals, reasons };
  return (
    <>
      <Head {...{ run, spans, said, explanation, address, at }} reload={retry} />
      {error !== undefined && <Trouble error={error} retry={retry} asOfMs={asOfMs} />}
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
            {wait !== undefined && (
              <a class="sub fold" href={here(route, { fold: isFolded ? '' : 'wait' })}>
                {isFolded ? 'show' : 'fold'} the wait of {formatDuration(wait.endMs - wait.startMs)}
              </a>
            )}
            <FindInRun
              address={`/api/runs/${run.id}`}
              chosen={asked ?? undefined}
              choose={(span) => {
                location.hash = at(span);
              }}
            />
            <span class="sub tabn">
              {formatPlural(spans.length, 'span')}
              {run.spans > spans.length ? ` of ${run.spans.toLocaleString('en-US')}` : ''}
            </span>
          </div>
          <div id="tabpanel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === 'waterfall' && <Waterfall {...view} isFolded={isFolded} />}
            {tab === 'raw' && <Raw {...view} />}
            {tab === 'conversation' && <ConversationTab {...view} />}
          </div>
        </div>
        {chosen !== undefined && (
          <Panel
            run={run}
            span={chosen}
            spans={spans}
            said={said.find(({ spanId }) => spanId === chosen.id)}
            approval={approvals.find((one) => isRequestFor(one, chosen))}
            reasons={reasons}
            isRaw={tab === 'raw'}
            close={here(route, { span: '' })}
          />
        )}
      </div>
    </>
  );
}

interface HeadProps {
  readonly run: RunRow;
  readonly spans: readonly RunSpan[];
  readonly said: readonly Said[];
  readonly explanation: readonly SentencePart[];
  readonly address: string;
  readonly at: (span: string) => string;
  readonly reload: () => void;
}

function Head({ run, spans, said, explanation, address, at, reload }: HeadProps) {
  const related = useRelated(run.id);
  const hasWords = said.some(({ prompt, answer }) => prompt !== undefined && answer !== undefined);
  useEffect(() => setTitle(run.name), [run.name]);
  return (
    <div class="runhead">
      <div class="crumb">
        <a
          href={listAddress()}
          onClick={(event) => {
            event.preventDefault();
            goBack();
          }}
        >
          Runs
        </a>
        <span class="dim">/</span>
        <h1>{run.name}</h1>
        <Tag status={run.status} />
        <span class="meta">
          <span class="mono">{run.id.slice(0, 8)}</span>
          <CopyButton text={run.id} label="Copy the trace id" /> · <Time ms={run.startMs} /> ·{' '}
          {run.client ?? run.service} {run.user !== null && <>· {run.user}</>}
        </span>
        <span class="acts">
          <SqlButton sources={[{ title: 'The run, its spans and their texts', address }]} />
          <a class="btn" href={link('compare', run.isShadow ? { kind: 'shadow', b: run.id } : { a: run.id })}>
            Compare
          </a>
          <NoteMenu run={run} onSaved={reload} />
          {related?.canBeGolden === true && hasWords && <KeepGolden run={run.id} />}
        </span>
      </div>
      <p class="explain">
        {explanation.map(({ text, tone, span, review }, i) => {
          const words = tone === undefined ? text : <b class={tone === 'bad' ? 'neg' : 's-held'}>{text}</b>;
          const address = review === undefined ? span && at(span) : link(`waiting/${review}`);
          return address === undefined ? (
            <span key={i}>{words}</span>
          ) : (
            <a key={i} href={address}>
              {words}
            </a>
          );
        })}
      </p>
      <AroundRun run={run} related={related} />
      <TaxBar spans={spans} />
    </div>
  );
}

/** The span that the sentence points at first, else the root. */
function standsOut(explanation: readonly SentencePart[], spans: readonly RunSpan[]): RunSpan | undefined {
  const first = explanation.find(({ span, tone }) => span !== undefined && tone !== undefined);
  return (
    spans.find(({ id }) => id === first?.span) ?? spans.find(({ parentId }) => parentId === null) ?? spans[0]
  );
}
