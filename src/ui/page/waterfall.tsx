import { formatDuration, isWait, type RunSpan } from '../../runs/index.ts';
import { findSort } from './calls.ts';
import { Name } from './conversation.tsx';
import { Duration, Icon, type IconName, Usd } from './parts.tsx';
import { type TreeLine, treeLines } from './tree.ts';
import { VirtualRows } from './virtual-rows.tsx';

const ROW_PX = 28;
/** Share of a run from which a wait can be folded. */
const LONG_WAIT = 0.25;
/** Words that begin further right, of 1000, would leave a narrow window. */
const LAST_WORDS = 880;
/** Calls of a fold that are drawn. */
const MAX_BARS = 400;

interface WaterfallProps {
  readonly spans: readonly RunSpan[];
  readonly chosen: string | undefined;
  readonly open: ReadonlySet<string>;
  readonly isFolded: boolean;
  readonly at: (span: string) => string;
  readonly toggle: (span: string) => void;
}

/** The time of the run in the width of the drawing, 0 to 1000. */
interface Scale {
  readonly x: (ms: number) => number;
  readonly marks: readonly number[];
  /** Start of the run. */
  readonly from: number;
}

/** The spans of the run over its time. */
export function Waterfall({ spans, chosen, open, isFolded, at, toggle }: WaterfallProps) {
  const lines = treeLines(spans, open);
  const scale = toScale(spans, isFolded ? longWait(spans) : undefined);
  return (
    <div class="water">
      <div class="wr wh">
        <span class="wn">Span</span>
        <span class="wt">
          {scale.marks.map((ms) => {
            const x = scale.x(scale.from + ms);
            return (
              x < LAST_WORDS && (
                <span
                  key={ms}
                  ref={(element) => {
                    if (element) element.style.left = `${x / 10}%`;
                  }}
                >
                  {formatDuration(ms)}
                </span>
              )
            );
          })}
        </span>
        <span class="num">Duration</span>
        <span class="num wc">Cost</span>
      </div>
      <VirtualRows
        count={lines.length}
        rowPx={ROW_PX}
        row={(i) => {
          const line = lines[i] as TreeLine;
          return (
            <Row
              key={`${line.span.id}-${line.calls.length}`}
              line={line}
              scale={scale}
              isChosen={line.calls.length === 1 && line.span.id === chosen}
              href={at(line.span.id)}
              toggle={toggle}
            />
          );
        }}
      />
    </div>
  );
}

/** The longest wait for an approval, if it is a large part of the run. */
export function longWait(spans: readonly RunSpan[]): RunSpan | undefined {
  const { from, to } = extent(spans);
  let longest: RunSpan | undefined;
  for (const span of spans) {
    if (!isWait(span) || span.endMs - span.startMs < LONG_WAIT * (to - from)) continue;
    if (longest === undefined || span.endMs - span.startMs > longest.endMs - longest.startMs) longest = span;
  }
  return longest;
}

interface RowProps {
  readonly line: TreeLine;
  readonly scale: Scale;
  readonly isChosen: boolean;
  readonly href: string;
  readonly toggle: (span: string) => void;
}

const MAX_INDENT = 12;

function Row({ line, scale, isChosen, href, toggle }: RowProps) {
  const { span, depth, calls, below, isOpen } = line;
  const isFold = calls.length > 1;
  const status = span.status;
  const sort = findSort(span);
  // The queue's own span of a wait, within that of the gate, is no second wait.
  const waits = status === 'held' || isWait(span) || span.name === 'review_wait';
  const icon: IconName = waits ? 'held' : status === 'ok' ? sort : status;
  const look = waits ? 'gate' : status === 'ok' ? sort : 'bad';
  const ms = calls.reduce((sum, one) => sum + one.endMs - one.startMs, 0);
  const words = (
    <>
      {!isFold && <Icon name={icon} class={status === 'ok' ? 'dim' : `s-${status}`} />}
      {!isFold && status !== 'ok' && <span class="vh">{status} </span>}
      <Name span={span} />
    </>
  );
  return (
    <div class={`wr r-${status}`} aria-current={isChosen ? 'true' : undefined}>
      <span
        class="wn"
        ref={(element) => {
          if (element) element.style.paddingLeft = `${Math.min(depth, MAX_INDENT) * 16}px`;
        }}
      >
        {below > 0 && (
          <button
            type="button"
            class={isFold ? 'wtog cover' : 'wtog'}
            aria-expanded={isOpen}
            aria-label={isFold ? undefined : `${isOpen ? 'Close' : 'Open'} ${below} below`}
            onClick={() => toggle(span.id)}
          >
            <Icon name="chevron" class="dim chev" />
            {isFold && words}
          </button>
        )}
        {!isFold && (
          <a class="wl" href={href} data-span={span.id}>
            {words}
          </a>
        )}
        {isFold && <span class="times">×{calls.length}</span>}
        {!isFold && below > 0 && !isOpen && <span class="sub">{below} below</span>}
        {status !== 'ok' && (
          <span class="wm">
            {status === 'denied' || status === 'withheld'
              ? (span.reason ?? status)
              : (span.message ?? status)}
          </span>
        )}
      </span>
      <svg class="wbar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
        {scale.marks.map((mark) => (
          <rect key={mark} x={scale.x(scale.from + mark)} y={0} width={1} height={20} class="gl" />
        ))}
        {calls.slice(0, MAX_BARS).map((call) => {
          const x = scale.x(call.startMs);
          return (
            <rect
              key={call.id}
              x={Math.min(997, x)}
              y={5}
              width={Math.max(3, scale.x(call.endMs) - x)}
              height={10}
              class={`b-${look}`}
            />
          );
        })}
      </svg>
      <span class="num">
        <Duration ms={ms} />
      </span>
      <span class="num wc">
        {sort === 'model' && (span.costUsd !== null || span.costSource === 'unknown') && (
          <Usd of={span.costUsd} />
        )}
      </span>
    </div>
  );
}

function extent(spans: readonly RunSpan[]): { from: number; to: number } {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { startMs, endMs } of spans) [from, to] = [Math.min(from, startMs), Math.max(to, endMs)];
  return { from, to };
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000, 120_000, 300_000, 600_000,
  3_600_000, 21_600_000, 86_400_000,
];
const MAX_TICKS = 6;
/** Width that a folded wait keeps. */
const FOLDED_SHARE = 0.02;

function toScale(spans: readonly RunSpan[], wait: RunSpan | undefined): Scale {
  const { from, to } = extent(spans);
  const all = Math.max(1, to - from);
  const held = wait === undefined ? 0 : wait.endMs - wait.startMs;
  const shown = Math.max(1, all - held);
  const gap = held === 0 ? 0 : shown * FOLDED_SHARE;
  const cut = (ms: number) => {
    if (wait === undefined || ms <= wait.startMs) return ms - from;
    if (ms >= wait.endMs) return ms - from - held + gap;
    return wait.startMs - from + (gap * (ms - wait.startMs)) / held;
  };
  const x = (ms: number) => (1000 * cut(ms)) / (shown + gap);
  // After a wait that is folded, the axis would lie.
  const upTo = wait === undefined ? all * 0.95 : wait.startMs - from;
  const step = STEPS.find((one) => (shown + gap) / one <= MAX_TICKS) ?? all;
  return { x, from, marks: Array.from({ length: Math.floor(upTo / step) + 1 }, (_, i) => i * step) };
}
