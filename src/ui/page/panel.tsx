import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  filterValue,
  formatCount,
  formatUnpriced,
  type RunRow,
  type RunSpan,
  type Said,
  type WaitingRow,
} from '../../runs/index.ts';
import { pickTone, readFindings } from './answer.tsx';
import { findSort } from './calls.ts';
import { Name } from './conversation.tsx';
import { keepFile, useData } from './data.ts';
import { Decided } from './held.tsx';
import { toRpcMessages } from './messages.ts';
import { ModelCallTexts } from './model-call.tsx';
import { Count, Duration, Icon, Tag, Usd } from './parts.tsx';
import { openEnvelope, Payload } from './payload.tsx';
import { link } from './route.ts';

interface PanelProps {
  readonly run: RunRow;
  readonly span: RunSpan;
  readonly spans: readonly RunSpan[];
  readonly said: Said | undefined;
  /** The request for an approval that the span made. */
  readonly approval: WaitingRow | undefined;
  /** The reasons of the gate in words. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Whether arguments and result are shown as the messages they came in. */
  readonly isRaw: boolean;
  readonly close: string;
}

const SORTS = { model: 'Model call', tool: 'Tool call', agent: 'Span', step: 'Span' } as const;

/** One span in words; all its fields at the end. */
export function Panel({ run, span, spans, said: stored, approval, reasons, isRaw, close }: PanelProps) {
  const said =
    stored === undefined && approval?.args != null ? { spanId: span.id, arguments: approval.args } : stored;
  const status = span.status;
  const sort = findSort(span);
  const first = spans.reduce((least, { startMs }) => Math.min(least, startMs), Number.POSITIVE_INFINITY);
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
      {readFindings(span).map(({ kind, why, start }) => (
        <p key={`${kind}-${start}`} class={`note k-${pickTone(kind)}`}>
          <Icon name={pickTone(kind)} />
          <span>
            The answer: <b>{pickTone(kind)}</b>, {why}
          </span>
        </p>
      ))}
      {isRaw && span.method !== null ? (
        <Messages span={span} said={said} />
      ) : (
        <Texts runId={run.id} said={said} isFailed={status === 'failed'} />
      )}
      {said !== undefined && (sort === 'model' || said.result?.includes('"image') === true) && (
        <ModelCallTexts runId={run.id} spanId={span.id} />
      )}
      <h3>In words</h3>
      <dl>
        <Fact name="Took" column="start_time, end_time">
          <Duration ms={span.endMs - span.startMs} />{' '}
          <span class="sub">
            from +<Duration ms={span.startMs - first} />
          </span>
        </Fact>
        <Fact name="Outcome" column="status_code, status_message">
          {status}
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
              <span class="sub">
                {span.costUsd === null ? formatUnpriced(span.costSource) : span.costSource}
              </span>
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
              {span.reason !== null && <span>({reasons[span.reason] ?? span.reason})</span>}
            </>
          )}
        </Fact>
        <Fact name="Approval" column="observatory.review_id">
          {approval !== undefined && <Decided request={approval} />}
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

/** Request and response as the span has them. */
function Messages({ span, said }: { span: RunSpan; said: Said | undefined }) {
  return (
    <>
      {toRpcMessages(span, said).map(({ direction, json, isError }) => (
        <section key={direction}>
          <h3>
            {direction === 'received' ? 'Response' : 'Request'}{' '}
            <span class="sub">
              {direction === 'never sent' ? 'never sent' : json === undefined ? '' : 'rebuilt from the span'}
            </span>
          </h3>
          {json === undefined ? (
            <p class="sub">Its content is not stored, or too long for here: see the conversation.</p>
          ) : (
            <pre class={isError ? 'code bad' : 'code'}>
              <Payload text={json} />
            </pre>
          )}
        </section>
      ))}
    </>
  );
}

interface TextsProps {
  readonly runId: string;
  readonly said: Said | undefined;
  readonly isFailed: boolean;
}

/** Arguments and result; the result first if the call failed. What was cut is loaded when somebody asks. */
function Texts({ runId, said, isFailed }: TextsProps) {
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const { data, error } = useData<Said>(
    said !== undefined && whole === said.spanId ? `/api/runs/${runId}/spans/${said.spanId}/said` : undefined,
    'once',
  );
  if (said === undefined) return null;
  const isWhole = whole === said.spanId && data?.spanId === said.spanId;
  const text = (name: 'arguments' | 'result') => {
    const stored = (isWhole ? data : said)[name];
    if (stored === undefined) return null;
    const shown = openEnvelope(stored);
    return (
      <Text
        title={name === 'result' ? 'Result' : 'Arguments'}
        text={shown}
        total={(isWhole ? undefined : said.cut?.[name]) ?? shown.length}
        isBad={isFailed && name === 'result'}
        showAll={() => setWhole(said.spanId)}
      />
    );
  };
  return (
    <>
      {isFailed && text('result')}
      {text('arguments')}
      {!isFailed && text('result')}
      {error !== undefined && <p class="neg">{error.message}</p>}
    </>
  );
}

/** Characters of a text that are drawn; the rest is there to download. */
const MAX_DRAWN = 65_536;

interface TextProps {
  readonly title: string;
  readonly text: string;
  readonly total: number;
  readonly isBad: boolean;
  readonly showAll: () => void;
}

function Text({ title, text, total, isBad, showAll }: TextProps) {
  const shown = text.slice(0, MAX_DRAWN);
  return (
    <section>
      <h3>
        {title}{' '}
        <span class="sub">
          {formatCount(total)} characters
          {shown.length < total ? `, the first ${formatCount(shown.length)}` : ', all of them'}
        </span>
      </h3>
      <pre class={isBad ? 'code bad' : 'code'}>
        <Payload text={shown} />
      </pre>
      {text.length < total && (
        <button type="button" class="lnk" onClick={showAll}>
          Show all
        </button>
      )}
      {text.length > MAX_DRAWN && (
        <button
          type="button"
          class="lnk"
          onClick={() => keepFile(new Blob([text], { type: 'text/plain' }), `${title.toLowerCase()}.txt`)}
        >
          Download all
        </button>
      )}
    </section>
  );
}

/** Characters of one field that are shown. */
const FIELD_CHARS = 4000;

function AllFields({ runId, spanId }: { runId: string; spanId: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data } = useData<Readonly<Record<string, unknown>>>(
    isOpen ? `/api/runs/${runId}/spans/${spanId}` : undefined,
    'once',
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
                  FIELD_CHARS,
                )}
              </dd>
            </div>
          ))}
      </dl>
    </details>
  );
}
