import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { filterValue } from '../filter/index.ts';
import type { RunRow, RunSpan, Said } from '../store/index.ts';
import { sortOf, spanStatus } from './calls.ts';
import { findingsOf, Name } from './conversation.tsx';
import { useData } from './data.ts';
import { Count, Duration, Icon, Tag, Usd } from './parts.tsx';
import { link } from './route.ts';

interface PanelProps {
  readonly run: RunRow;
  readonly span: RunSpan;
  readonly spans: readonly RunSpan[];
  readonly said: Said | undefined;
  readonly close: string;
}

const SORTS = { model: 'Model call', tool: 'Tool call', agent: 'Span' } as const;

/** One span in words; all its fields at the end. */
export function Panel({ run, span, spans, said, close }: PanelProps) {
  const status = spanStatus(span);
  const sort = sortOf(span);
  const first = Math.min(...spans.map(({ startMs }) => startMs));
  return (
    <aside class="panel" aria-label="Details of the span">
      <header>
        <div>
          <Tag status={status} />
          <span class="sub">{SORTS[sort]}</span>
        </div>
        <a class="ib px" aria-label="Close the details" href={close}>
          <Icon name="close" class="dim" />
        </a>
        <h2>
          <Name span={span} />
        </h2>
      </header>
      {findingsOf(span).map(({ kind, start }) => (
        <p
          key={`${kind}-${start}`}
          class={`note k-${kind.startsWith('unsupported') ? 'unsupported' : 'contradicted'}`}
        >
          <Icon name={kind.startsWith('unsupported') ? 'unsupported' : 'contradicted'} />
          <span>{kind.replaceAll('_', ' ')}</span>
        </p>
      ))}
      {status === 'failed' && said?.result !== undefined && <Text title="Result" text={said.result} isBad />}
      {said?.arguments !== undefined && <Text title="Arguments" text={said.arguments} />}
      {status !== 'failed' && said?.result !== undefined && <Text title="Result" text={said.result} />}
      <h3>In words</h3>
      <dl>
        <Fact name="Took" column="start_time, end_time">
          <Duration ms={span.endMs - span.startMs} />{' '}
          <span class="sub">
            from +<Duration ms={span.startMs - first} />
          </span>
        </Fact>
        <Fact name="Outcome" column="status_code, status_message">
          {status === 'ok' ? 'as asked' : status}
          {span.message !== null && <span class="mono">: {span.message}</span>}
        </Fact>
        <Fact name="Called by" column="client_name">
          {run.client}
        </Fact>
        <Fact name="Server" column="server_name">
          {span.server}
        </Fact>
        <Fact name="For" column="user_id">
          {run.user}
        </Fact>
        <Fact name="Model" column="model">
          {span.model}
        </Fact>
        <Fact name="Tokens" column="prompt_tokens, completion_tokens">
          {span.promptTokens !== null && (
            <>
              <Count of={span.promptTokens} /> in
              {span.cachedTokens !== null && (
                <>
                  {' '}
                  (<Count of={span.cachedTokens} /> cached)
                </>
              )}
              , <Count of={span.completionTokens ?? 0} /> out
            </>
          )}
        </Fact>
        <Fact name="Cost" column="cost_usd, cost_source">
          {sort === 'model' && span.costSource !== null && (
            <>
              <Usd of={span.costUsd} />{' '}
              <span class="sub">{span.costUsd === null ? 'no price is known' : span.costSource}</span>
            </>
          )}
        </Fact>
        <Fact name="Risk" column="evidence_risk_level">
          {span.risk}
        </Fact>
        <Fact name="Policy" column="policy_decision, policy_reason">
          {span.decision !== null && (
            <>
              {span.decision.replaceAll('_', ' ')}{' '}
              {span.reason !== null && <span class="mono">{span.reason}</span>}
            </>
          )}
        </Fact>
        <Fact name="Retries" column="retries">
          {span.retries !== null && span.retries > 0 && span.retries}
        </Fact>
      </dl>
      <AllFields key={span.id} runId={run.id} spanId={span.id} />
      {span.tool !== null && (
        <footer>
          <a
            class="btn"
            href={link('runs', {
              q: `tool:${filterValue(span.tool)}`,
            })}
          >
            All runs with it
          </a>
        </footer>
      )}
    </aside>
  );
}

function Fact({ name, column, children }: { name: string; column: string; children: ComponentChildren }) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <div class="kv">
      <dt title={column}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Characters of a text that are shown at once. */
const FIRST_CHARS = 4000;

function Text({ title, text, isBad = false }: { title: string; text: string; isBad?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > FIRST_CHARS;
  return (
    <>
      <h3>
        {title}{' '}
        <span class="sub">
          {text.length} characters{isCut ? `, the first ${FIRST_CHARS}` : ', all of them'}
        </span>
      </h3>
      <pre class={isBad ? 'code bad' : 'code'}>{isCut ? text.slice(0, FIRST_CHARS) : text}</pre>
      {isCut && (
        <button type="button" class="lnk" onClick={() => setWhole(true)}>
          Show all
        </button>
      )}
    </>
  );
}

function AllFields({ runId, spanId }: { runId: string; spanId: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useData<Readonly<Record<string, unknown>>>(
    isOpen ? `/api/runs/${runId}/spans/${spanId}` : undefined,
    false,
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>All fields</summary>
      <dl class="mono">
        {Object.entries(data ?? {})
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div key={name} class="kv">
              <dt>{name}</dt>
              <dd>
                {(typeof value === 'object' ? JSON.stringify(value, null, 1) : String(value)).slice(
                  0,
                  FIRST_CHARS,
                )}
              </dd>
            </div>
          ))}
      </dl>
    </details>
  );
}
