import { formatCount, type RunSpan, type Said } from '../../runs/index.ts';
import { type RpcLine, rpcLines } from './messages.ts';
import { Duration, Icon, Unit } from './parts.tsx';
import { VirtualRows } from './virtual-rows.tsx';

const ROW_PX = 28;

interface RawProps {
  readonly spans: readonly RunSpan[];
  readonly said: readonly Said[];
  readonly chosen: string | undefined;
  readonly open: ReadonlySet<string>;
  readonly at: (span: string) => string;
  readonly toggle: (span: string) => void;
}

/** The run as JSON-RPC messages between clients and servers. */
export function Raw({ spans, said, chosen, open, at, toggle }: RawProps) {
  const words = new Map(said.map((one) => [one.spanId, one]));
  const lines = rpcLines(spans, words, open);
  const from = spans.reduce((least, { startMs }) => Math.min(least, startMs), Number.POSITIVE_INFINITY);
  if (lines.length === 0) return <p class="foot">No message to an MCP server is in this run.</p>;
  return (
    <div class="raw">
      <div class="rr rh">
        <span />
        <span class="num">Time</span>
        <span>Server</span>
        <span class="num">Id</span>
        <span>Message</span>
        <span class="num">Size</span>
      </div>
      <VirtualRows
        count={lines.length}
        rowPx={ROW_PX}
        row={(i) => {
          const line = lines[i] as RpcLine;
          const key = `${line.message.span.id}-${line.message.direction}-${line.calls.length}`;
          if (line.calls.length > 1) {
            const first = line.message.span.id;
            return (
              <Folded
                key={key}
                line={line}
                from={from}
                isOpen={open.has(first)}
                onClick={() => toggle(first)}
              />
            );
          }
          return (
            <Message key={key} line={line} from={from} isChosen={line.message.span.id === chosen} at={at} />
          );
        }}
      />
    </div>
  );
}

const ARROWS = { sent: '→', received: '←', 'never sent': '⊘' } as const;

interface MessageProps {
  readonly line: RpcLine;
  readonly from: number;
  readonly isChosen: boolean;
  readonly at: (span: string) => string;
}

function Message({ line: { message }, from, isChosen, at }: MessageProps) {
  const { direction, atMs, span, json, isError } = message;
  return (
    <a
      class="rr"
      href={at(span.id)}
      data-span={direction === 'received' ? undefined : span.id}
      aria-current={isChosen ? 'true' : undefined}
    >
      <span class="dir" aria-hidden="true">
        {ARROWS[direction]}
      </span>
      <span class="num">
        +<Duration ms={atMs - from} />
      </span>
      <span class="mono dim ell">{span.server}</span>
      <span class="num mono">{span.requestId}</span>
      <span class="rm mono">
        <span class="vh">{direction} </span>
        {direction === 'received' ? (isError ? 'error' : 'result') : span.method} <b>{span.tool}</b>
        {direction === 'never sent' && <span class="neg"> never sent: {span.reason ?? 'denied'}</span>}
        {isError && (
          <span class="neg">
            {' '}
            <Icon name="failed" /> {span.message}
          </span>
        )}
      </span>
      <span class="num">{json === undefined ? <span class="dim">–</span> : <Unit text={bytes(json)} />}</span>
    </a>
  );
}

interface FoldedProps {
  readonly line: RpcLine;
  readonly from: number;
  readonly isOpen: boolean;
  readonly onClick: () => void;
}

function Folded({ line: { message, calls }, from, isOpen, onClick }: FoldedProps) {
  const { span } = message;
  return (
    <button type="button" class="rr" aria-expanded={isOpen} onClick={onClick}>
      <Icon name="chevron" class="dim chev" />
      <span class="num">
        +<Duration ms={span.startMs - from} />
      </span>
      <span class="mono dim ell">{span.server}</span>
      <span class="num mono">{span.requestId}</span>
      <span class="rm mono">
        {span.method} <b>{span.tool}</b> <span class="times">×{calls.length}</span>{' '}
        <span class="dim">{formatCount(calls.length * 2)} messages, all ok</span>
      </span>
      <span />
    </button>
  );
}

function bytes(text: string): string {
  const count = new TextEncoder().encode(text).length;
  return count < 10_000 ? `${formatCount(count)} B` : `${formatCount(count / 1000)} kB`;
}
