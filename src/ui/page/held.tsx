import { formatDecision, formatDuration, type RunSpan, type WaitingRow } from '../../runs/index.ts';
import { Icon, Time } from './parts.tsx';
import { brief } from './payload.tsx';
import { link } from './route.ts';

/** Whether a request for approval belongs to a span: to the gate that asked, or to its wait. */
export function isRequestFor(request: WaitingRow, { id, reviewId }: RunSpan): boolean {
  return request.id === reviewId || request.span === id;
}

const isOpen = ({ status }: WaitingRow) => status === 'pending' || status === 'claimed';

/** The outcome of a request: a link to decide it, or who decided. */
export function Decided({ request }: { request: WaitingRow }) {
  const { id, decidedMs, isAwaited } = request;
  return (
    <>
      <a class="lnk" href={link(`waiting/${id}`)}>
        {isOpen(request) ? 'waits for you: decide' : formatDecision(request)}
      </a>{' '}
      {decidedMs !== null && <Time ms={decidedMs} />}
      {isOpen(request) && isAwaited !== null && (
        <span class="sub">{isAwaited ? 'the caller waits' : 'the caller has gone on'}</span>
      )}
    </>
  );
}

/** A wait for a person as a line of the conversation. */
export function WaitRow({ span, request, href, isChosen }: WaitRowProps) {
  return (
    <a class="call r-held" href={href} data-span={span.id} aria-current={isChosen ? 'true' : undefined}>
      <Icon name="held" />
      <span class="cn">Waited for a person</span>
      <span class="ca">{request?.tool ?? ''}</span>
      <span class="cr">{request === undefined ? '' : formatDecision(request)}</span>
      <span class="cd num">{formatDuration(span.endMs - span.startMs)}</span>
    </a>
  );
}

interface WaitRowProps {
  readonly span: RunSpan;
  readonly request: WaitingRow | undefined;
  readonly href: string;
  readonly isChosen: boolean;
}

/** Requests whose gate still waits, so that no span of it has come yet. */
export function OpenRequests({ requests }: { requests: readonly WaitingRow[] }) {
  return (
    <>
      {requests.filter(isOpen).map((request) => (
        <a key={request.id} class="call r-held" href={link(`waiting/${request.id}`)}>
          <Icon name="held" />
          <span class="cn">
            <span class="mono">
              {request.server !== null && <span class="dim">{request.server}.</span>}
              {request.tool}
            </span>
          </span>
          <span class="ca">{brief(request.args ?? undefined)}</span>
          <span class="cr">
            <b>waits for you: decide</b>
          </span>
          <span class="cd num">{formatDuration(Math.max(0, Date.now() - request.createdMs))}</span>
        </a>
      ))}
    </>
  );
}
