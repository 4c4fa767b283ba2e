import { useEffect, useRef, useState } from 'preact/hooks';
import { formatDuration } from '../explain/units.ts';
import type { RunSpan } from '../store/index.ts';
import { sortOf, spanStatus } from './calls.ts';
import { Name } from './conversation.tsx';
import { Duration, Icon, type IconName, Usd } from './parts.tsx';

const ROW_PX = 28;
/** Rows drawn above and below those in view. */
const MARGIN_ROWS = 12;

interface WaterfallProps {
  readonly spans: readonly RunSpan[];
  readonly chosen: string | undefined;
  readonly at: (span: string) => string;
}

interface Line {
  readonly span: RunSpan;
  readonly depth: number;
}

/** The spans of the run over its time. Only the rows in view are in the document, however long the run is. */
export function Waterfall({ spans, chosen, at }: WaterfallProps) {
  const lines = treeOf(spans);
  const from = Math.min(...spans.map((span) => span.startMs));
  const all = Math.max(1, Math.max(...spans.map((span) => span.endMs)) - from);
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, last: 60 });
  useEffect(() => {
    const measure = () => {
      const top = box.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / ROW_PX) - MARGIN_ROWS);
      setRange({ first, last: first + Math.ceil(innerHeight / ROW_PX) + 2 * MARGIN_ROWS });
    };
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, []);
  const marks = ticks(all);
  const shown = lines.slice(range.first, range.last);
  return (
    <div class="water">
      <div class="wr wh">
        <span class="wn">Span</span>
        <span class="wt">
          <svg class="axis" viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" />
          {marks.map((ms) => (
            <span
              key={ms}
              ref={(element) => {
                if (element) element.style.left = `${(100 * ms) / all}%`;
              }}
            >
              {formatDuration(ms)}
            </span>
          ))}
        </span>
        <span class="num">Duration</span>
        <span class="num wc">Cost</span>
      </div>
      <div
        ref={(element) => {
          box.current = element;
          if (element) element.style.height = `${lines.length * ROW_PX}px`;
        }}
      >
        <div
          ref={(element) => {
            if (element)
              element.style.transform = `translateY(${Math.min(range.first, lines.length) * ROW_PX}px)`;
          }}
        >
          {shown.map(({ span, depth }) => (
            <Row
              key={span.id}
              span={span}
              depth={depth}
              from={from}
              all={all}
              marks={marks}
              isChosen={span.id === chosen}
              href={at(span.id)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  readonly span: RunSpan;
  readonly depth: number;
  readonly from: number;
  readonly all: number;
  readonly marks: readonly number[];
  readonly isChosen: boolean;
  readonly href: string;
}

const MAX_INDENT = 12;

function Row({ span, depth, from, all, marks, isChosen, href }: RowProps) {
  const status = spanStatus(span);
  const sort = sortOf(span);
  const icon: IconName = status === 'ok' ? sort : status;
  const look = status === 'held' ? 'gate' : status === 'ok' ? sort : 'bad';
  const x = (1000 * (span.startMs - from)) / all;
  return (
    <a class={`wr r-${status}`} href={href} aria-current={isChosen ? 'true' : undefined}>
      <span
        class="wn"
        ref={(element) => {
          if (element) element.style.paddingLeft = `${Math.min(depth, MAX_INDENT) * 16}px`;
        }}
      >
        <Icon name={icon} class={status === 'ok' ? 'dim' : `s-${status}`} />
        <Name span={span} />
        {status !== 'ok' && (
          <span class="wm">{status === 'denied' ? (span.reason ?? status) : (span.message ?? status)}</span>
        )}
      </span>
      <svg class="wbar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
        {marks.map((ms) => (
          <rect key={ms} x={(1000 * ms) / all} y={0} width={1} height={20} class="gl" />
        ))}
        <rect
          x={Math.min(997, x)}
          y={5}
          width={Math.max(3, (1000 * (span.endMs - span.startMs)) / all)}
          height={10}
          class={`b-${look}`}
        />
      </svg>
      <span class="num">
        <Duration ms={span.endMs - span.startMs} />
      </span>
      <span class="num wc">
        {sort === 'model' && (span.costUsd !== null || span.costSource === 'unknown') && (
          <Usd of={span.costUsd} />
        )}
      </span>
    </a>
  );
}

/** Parents before their children, siblings by their start; a span whose parent is missing is a root. */
function treeOf(spans: readonly RunSpan[]): readonly Line[] {
  const known = new Set(spans.map(({ id }) => id));
  const children = new Map<string | null, RunSpan[]>();
  for (const span of spans) {
    const parent = span.parentId !== null && known.has(span.parentId) ? span.parentId : null;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [span]);
    else list.push(span);
  }
  const lines: Line[] = [];
  const stack = (children.get(null) ?? []).map((span) => ({ span, depth: 0 })).reverse();
  for (let line = stack.pop(); line !== undefined; line = stack.pop()) {
    lines.push(line);
    const below = children.get(line.span.id) ?? [];
    for (let i = below.length - 1; i >= 0; i -= 1)
      stack.push({ span: below[i] as RunSpan, depth: line.depth + 1 });
  }
  return lines;
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000, 120_000, 300_000, 600_000,
  3_600_000, 21_600_000, 86_400_000,
];
const MAX_TICKS = 6;

function ticks(all: number): readonly number[] {
  const step = STEPS.find((one) => all / one <= MAX_TICKS) ?? all;
  return Array.from({ length: Math.floor((all * 0.95) / step) + 1 }, (_, i) => i * step);
}
