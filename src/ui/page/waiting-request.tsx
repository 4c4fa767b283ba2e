import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCounted, formatPerson, type WaitingDetail, type WaitingRow } from '../../runs/index.ts';
import { post, useData } from './data.ts';
import {
  type ApiError,
  CopyButton,
  Empty,
  Icon,
  roughly,
  type Status,
  Tag,
  Time,
  Trouble,
} from './parts.tsx';
import { link } from './route.ts';
import { useKeysOfWaiting, type WaitingDecision } from './waiting-keys.ts';
import { ToolFacts, ToolGrounds, ToolTag, toolSentence } from './waiting-tool.tsx';
import { Watched } from './watched.tsx';

/**
 * How long a request must have been on screen in a window with the focus, and no key pressed, before a key or a click decides
 * it, in milliseconds. A page elsewhere that has its reader type or click may open this one, and one request may take the place
 * of another under the pointer.
 */
const LOOK_MS = 600;

export const TOOLS = '/api/waiting/tools';

export const isOpen = ({ status }: WaitingRow) => status === 'pending' || status === 'claimed';

/** How far an approval goes, as words of a sentence. */
export const REACH: Readonly<Record<NonNullable<WaitingRow['scope']>, string>> = {
  once: 'once',
  session: 'for this session',
  definition: 'until the definition changes',
};

const TAGS: Readonly<Record<WaitingRow['status'], readonly [Status, string]>> = {
  pending: ['held', 'waits'],
  claimed: ['held', 'claimed'],
  approved: ['ok', 'approved'],
  rejected: ['denied', 'rejected'],
  expired: ['failed', 'expired'],
};

export function StatusTag({ row }: { row: WaitingRow }) {
  if (row.kind === 'tool' && isOpen(row)) return <ToolTag row={row} />;
  const [status, word] = TAGS[row.status];
  return <Tag status={status}>{word}</Tag>;
}

/** One request: what is asked, on what grounds, and the buttons that decide. */
export function WaitingRequest({ id, open }: { id: string; open: readonly WaitingRow[] }) {
  const address = `/api/waiting/${id}`;
  const { data, error, asOfMs, retry } = useData<WaitingDetail>(address, 'always');
  const [failed, setFailed] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const [isEarly, setEarly] = useState(false);
  const person = useData<{ person: string | null }>('/api/session', 'once').data?.person;
  const note = useRef<HTMLInputElement>(null);
  const scope = useRef<HTMLSelectElement>(null);
  const shownAt = useRef(Number.POSITIVE_INFINITY);
  const focusedAt = useRef(Number.NEGATIVE_INFINITY);
  const canApprove = data?.definition?.state !== 'refused' && data?.isForged !== true;
  const canDecide = data !== undefined && isOpen(data) && !isBusy;
  useEffect(() => {
    if (data !== undefined && shownAt.current === Number.POSITIVE_INFINITY)
      shownAt.current = performance.now();
  }, [data]);
  useEffect(() => setBusy(false), [data?.status, data?.endedMs]);
  useEffect(() => {
    const onFocus = () => {
      focusedAt.current = performance.now();
    };
    addEventListener('focus', onFocus);
    return () => removeEventListener('focus', onFocus);
  }, []);
  const decide = async (decision: WaitingDecision) => {
    if (isBusy || (decision !== 'revoke' && !canDecide)) return;
    if (decision === 'approve' && !canApprove) return;
    setBusy(true);
    setEarly(false);
    const reach = decision === 'approve' && scope.current !== null ? { scope: scope.current.value } : {};
    const body = { decision, note: note.current?.value ?? '', ...reach };
    const why = await post(address, body).then(
      () => undefined,
      (error: ApiError) => error,
    );
    setFailed(why);
    // What was decided can be decided again only when the page shows it: a second click is none.
    if (why !== undefined) setBusy(false);
    retry();
  };
  const isLookedAt = () => performance.now() - Math.max(shownAt.current, focusedAt.current) >= LOOK_MS;
  useKeysOfWaiting(open, id, (decision) => {
    if (isLookedAt()) void decide(decision);
    // A key pressed without a pause: the request has not been read.
    else shownAt.current = Math.max(shownAt.current, performance.now());
  });
  const click = (decision: WaitingDecision) => {
    if (isLookedAt()) void decide(decision);
    else setEarly(true);
  };
  if (error?.status === 404) {
    return (
      <Empty title="Nothing waits under this address">
        <p>It may have been decided and deleted, or belong to another store.</p>
        <a class="btn" href={link('waiting')}>
          All that waits
        </a>
      </Empty>
    );
  }
  if (data === undefined) return error === undefined ? null : <Trouble error={error} retry={retry} />;
  return (
    <section class="wdetail" aria-label={`Request ${data.tool ?? data.reason}`}>
      <a class="btn wall" href={link('waiting')}>
        All that waits
      </a>
      {error !== undefined && <Trouble error={error} retry={retry} asOfMs={asOfMs} />}
      <h2>
        {data.tool ?? data.reason} <StatusTag row={data} />
      </h2>
      <p class="explain sm">{formatSentence(data)}</p>
      <dl>
        {data.definition === null ? (
          <Row name="Asked">
            <Time ms={data.createdMs} />
          </Row>
        ) : (
          <ToolFacts of={data.definition} />
        )}
        {isOpen(data) && data.kind !== 'tool' && (
          <Row name="Ends">
            in {roughly(data.expiresMs - Date.now())}, <Time ms={data.expiresMs} />
          </Row>
        )}
        {data.isAwaited !== null && (
          <Row name="Caller">
            {data.isAwaited
              ? 'still waits for the answer'
              : 'has gone on: an approval is for its next attempt'}
          </Row>
        )}
        {data.caller !== null && <Row name="Who asks">{data.caller}</Row>}
        {data.server !== null && <Row name="Server">{data.server}</Row>}
        {data.ruleIds.length > 0 && <Row name="Rule">{data.ruleIds.join(', ')}</Row>}
        {data.run !== null && (
          <Row name="Run">
            <a href={link(`run/${data.run}`)}>{data.run.slice(0, 16)}</a>
          </Row>
        )}
        {data.decidedBy !== null && (
          <Row name="Decided by">
            {formatPerson(data.decidedBy)} {data.decidedMs !== null && <Time ms={data.decidedMs} />}
          </Row>
        )}
        {data.note !== null && <Row name="Note">{data.note}</Row>}
        {data.scope !== null && (
          <Row name="Approved">
            {REACH[data.scope]}
            {data.standsMs !== null && (
              <>
                , at most until <Time ms={data.standsMs} />
              </>
            )}
          </Row>
        )}
        {data.scope !== null && (
          <Row name="Used">
            {data.uses === 0 ? 'not yet' : `${formatCounted(data.uses, 'time')}, last `}
            {data.lastUsedMs !== null && <Time ms={data.lastUsedMs} />}
          </Row>
        )}
        {data.endedMs !== null && (
          <Row name="Ended">
            <Time ms={data.endedMs} /> {data.endedBy !== null && `by ${data.endedBy}`}
            {data.endedNote !== null && ` (${data.endedNote})`}
          </Row>
        )}
        {data.kind === 'approval' && data.session !== null && <Row name="Session">{data.session}</Row>}
        {data.toolHash !== null && (
          <Row name="Definition">
            {data.toolHash.slice(0, 16)} <CopyButton text={data.toolHash} label="Copy the hash" />
          </Row>
        )}
      </dl>
      {data.definition === null ? (
        <>
          <h3>
            {data.kind === 'approval' ? 'Arguments' : 'Content'}, whole,{' '}
            {data.contentBytes.toLocaleString('en-US')} bytes
          </h3>
          <pre class="code whole">
            <Watched text={data.content} />
          </pre>
        </>
      ) : (
        <ToolGrounds of={data.definition} isOpen={isOpen(data)} isApproved={data.status === 'approved'} />
      )}
      {data.argsDigest !== null && (
        <p class="dim">
          An approval is for exactly these arguments (digest <code>{data.argsDigest.slice(0, 16)}</code>): a
          call with others asks again.
        </p>
      )}
      {data.isForged && (
        <p class="neg" role="alert">
          What is shown here is not what an approval would be for: somebody wrote it into the database. It can
          only be rejected.
        </p>
      )}
      {failed !== undefined && (
        <p class="neg" role="alert">
          {failed.message}
        </p>
      )}
      {isEarly && isOpen(data) && (
        <p class="neg" role="alert">
          Nothing was decided: this came to the front just as you clicked. Read it, then click again.
        </p>
      )}
      {isOpen(data) && (
        <div class="decide">
          <NoteInput input={note} placeholder="Note (optional)" />
          {data.scopes.length > 1 && (
            <label class="scope">
              Approval holds{' '}
              <select ref={scope}>
                {data.scopes.map((one) => (
                  <option key={one} value={one}>
                    {REACH[one]}
                  </option>
                ))}
              </select>
            </label>
          )}
          {canApprove && (
            <button type="button" class="btn pri" disabled={!canDecide} onClick={() => click('approve')}>
              <Icon name="ok" class="" /> Approve <kbd>a</kbd>
            </button>
          )}
          <button type="button" class="btn" disabled={!canDecide} onClick={() => click('reject')}>
            <Icon name="denied" class="" /> Reject <kbd>x</kbd>
          </button>
          {typeof person === 'string' && <span class="dim">as {person}</span>}
        </div>
      )}
      {data.standsMs !== null && data.standsMs > Date.now() && (
        <div class="decide">
          <NoteInput input={note} placeholder="Why (optional)" />
          <button type="button" class="btn" disabled={isBusy} onClick={() => void decide('revoke')}>
            <Icon name="denied" class="" /> Revoke
          </button>
        </div>
      )}
    </section>
  );
}

function NoteInput({ input, placeholder }: { input: preact.Ref<HTMLInputElement>; placeholder: string }) {
  return (
    <input
      ref={input}
      class="note"
      type="text"
      maxLength={2000}
      aria-label="Note"
      placeholder={placeholder}
    />
  );
}

function Row({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="kv">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function formatSentence(row: WaitingDetail): string {
  if (row.status === 'approved' || row.status === 'rejected') {
    const reach = row.scope === null ? '' : `, ${row.scope === 'once' ? 'for one call' : REACH[row.scope]}`;
    const ended =
      row.endedMs === null
        ? ''
        : ` It was ended${row.endedBy === null ? '' : ` by ${row.endedBy}`} and approves nothing now.`;
    return `This was ${row.status} by ${formatPerson(row.decidedBy ?? '')}${reach}.${ended}`;
  }
  if (row.status === 'expired') return 'Nobody decided this in time.';
  if (row.kind === 'tool') return toolSentence(row);
  if (row.kind === 'review') return `A fallback put this aside: ${row.reason}.`;
  return `A policy holds this call until a person decides${row.message === null ? '' : `: ${row.message}`}.`;
}
