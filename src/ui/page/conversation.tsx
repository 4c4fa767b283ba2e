import { useState } from 'preact/hooks';
import {
  foldCalls,
  formatCount,
  formatDecision,
  formatDuration,
  isWait,
  type RunSpan,
  type Said,
  type WaitingRow,
} from '../../runs/index.ts';
import { Findings, Marked, readFindings } from './answer.tsx';
import { findSort, isWork, withoutServers } from './calls.ts';
import { isRequestFor, OpenRequests, WaitRow } from './held.tsx';
import { Markdown } from './markdown.tsx';
import { ContentIsOff, Folded } from './model-call.tsx';
import { Count, Duration, Icon, type IconName } from './parts.tsx';
import { brief, varying } from './payload.tsx';

interface TabProps {
  readonly spans: readonly RunSpan[];
  readonly said: readonly Said[];
  readonly chosen: string | undefined;
  readonly open: ReadonlySet<string>;
  readonly at: (span: string) => string;
  readonly toggle: (span: string) => void;
  readonly approvals: readonly WaitingRow[];
  readonly reasons: Readonly<Record<string, string>>;
}

type Group = readonly RunSpan[];

/** The run as what was said and called, in order. */
export function ConversationTab({ spans, said, chosen, open, at, toggle, ...gate }: TabProps) {
  const [gap, setGap] = useState<number | undefined>(undefined);
  const words = new Map(said.map((one) => [one.spanId, one]));
  const findRequest = (span: RunSpan) => gate.approvals.find((one) => isRequestFor(one, span));
  const isLongWait = (span: RunSpan) => isWait(span) && span.endMs - span.startMs >= 1000;
  const shown = withoutServers(spans).filter(
    (span) => isWork(span) || span.status !== 'ok' || isLongWait(span),
  );
  const models = shown.filter((span) => findSort(span) === 'model');
  const last = models.at(-1);
  // Agents that send events give the prompt on a span of its own, before the model calls.
  const first = said.find(({ prompt }) => prompt !== undefined)?.prompt;
  const groups = foldCalls(shown);
  const item = (group: Group) => {
    const [span] = group as [RunSpan];
    if (group.length > 1)
      return (
        <Fold
          key={span.id}
          group={group}
          chosen={chosen}
          isOpen={open.has(span.id) || group.some(({ id }) => id === chosen)}
          at={at}
          words={words}
          toggle={() => toggle(span.id)}
        />
      );
    const request = findRequest(span);
    if (!isWork(span) && span.status === 'ok')
      return (
        <WaitRow
          key={span.id}
          span={span}
          request={request}
          href={at(span.id)}
          isChosen={span.id === chosen}
        />
      );
    if (findSort(span) !== 'model')
      return (
        <CallRow
          key={span.id}
          span={span}
          said={words.get(span.id)}
          chosen={chosen}
          at={at}
          request={request}
          reasons={gate.reasons}
        />
      );
    return (
      <ModelCall
        key={span.id}
        span={span}
        spans={spans}
        said={words.get(span.id)}
        isLast={span === last}
        at={at}
      />
    );
  };
  return (
    <div class="conv">
      {said.length === 0 && models.length > 0 && <ContentIsOff />}
      {first !== undefined && (
        <div class="msg">
          <div class="who">
            <Icon name="agent" class="dim" />
            Prompt
          </div>
          <Folded chars={first.length}>
            <p class="say">{first}</p>
          </Folded>
        </div>
      )}
      {stretches(groups, chosen).map((stretch) => {
        if (stretch.isShown) return groups.slice(stretch.from, stretch.to).map(item);
        const isOpen = gap === stretch.from;
        return (
          <Gap
            key={`gap-${stretch.from}`}
            count={groups.slice(stretch.from, stretch.to).reduce((sum, group) => sum + group.length, 0)}
            isOpen={isOpen}
            toggle={() => setGap(isOpen ? undefined : stretch.from)}
          >
            {isOpen && groups.slice(stretch.from, stretch.from + GAP_SHOWN).map(item)}
          </Gap>
        );
      })}
      <OpenRequests
        requests={gate.approvals.filter((one) => !spans.some((span) => isRequestFor(one, span)))}
      />
      {shown.length + gate.approvals.length === 0 && <p class="foot">No model or tool was called.</p>}
    </div>
  );
}

/** Items of a long conversation that are shown: its beginning, its end, and what went wrong between. */
const LONG = 120;
const HEAD = 40;
const TAIL = 20;
const MAX_TROUBLES = 30;
const GAP_SHOWN = 60;

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly isShown: boolean;
}

function stretches(groups: readonly Group[], chosen: string | undefined): readonly Stretch[] {
  if (groups.length <= LONG) return [{ from: 0, to: groups.length, isShown: true }];
  let troubles = 0;
  const isShown = (group: Group, i: number) => {
    if (i < HEAD || i >= groups.length - TAIL || group.some(({ id }) => id === chosen)) return true;
    if (group.every((span) => span.status === 'ok')) return false;
    troubles += 1;
    return troubles <= MAX_TROUBLES;
  };
  const list: Stretch[] = [];
  for (const [i, group] of groups.entries()) {
    const shown = isShown(group, i);
    const last = list.at(-1);
    if (last?.isShown === shown) list[list.length - 1] = { ...last, to: i + 1 };
    else list.push({ from: i, to: i + 1, isShown: shown });
  }
  return list;
}

interface GapProps {
  readonly count: number;
  readonly isOpen: boolean;
  readonly toggle: () => void;
  readonly children: preact.ComponentChildren;
}

function Gap({ count, isOpen, toggle, children }: GapProps) {
  return (
    <>
      <button type="button" class="call grpc gap" aria-expanded={isOpen} onClick={toggle}>
        <Icon name="chevron" class="dim chev" />
        <span class="dim">{formatCount(count)} more, left out here</span>
      </button>
      {isOpen && (
        <div class="kids">
          {children}
          <p class="foot">The waterfall and the raw messages have all of them.</p>
        </div>
      )}
    </>
  );
}

/** Of the name of a model; the panel has it whole. */
const MAX_MODEL_CHARS = 100;

interface ModelCallProps {
  readonly span: RunSpan;
  readonly spans: readonly RunSpan[];
  readonly said: Said | undefined;
  readonly isLast: boolean;
  readonly at: (span: string) => string;
}

function ModelCall({ span, spans, said, isLast, at }: ModelCallProps) {
  const findings = readFindings(span);
  const isOk = span.status === 'ok';
  return (
    <div class={isLast ? 'msg last' : 'msg'}>
      <div class="who">
        <Icon name={isOk ? 'model' : 'failed'} class={isOk ? 'dim' : 's-failed'} />
        {isLast ? 'Answer' : 'Model'}{' '}
        <a class="sub" href={at(span.id)} data-span={span.id}>
          {(span.model ?? span.name).slice(0, MAX_MODEL_CHARS)}, <Count of={span.promptTokens ?? 0} /> in,{' '}
          <Count of={span.completionTokens ?? 0} /> out, <Duration ms={span.endMs - span.startMs} />
        </a>
      </div>
      {said?.answer !== undefined && (
        <Folded chars={findings.length > 0 ? 0 : said.answer.length}>
          <div class="say">
            {findings.length > 0 ? (
              <Marked text={said.answer} findings={findings} />
            ) : (
              <Markdown text={said.answer} />
            )}
            {said.cut?.answer !== undefined && (
              <span class="sub"> … {formatCount(said.cut.answer)} characters in all</span>
            )}
          </div>
        </Folded>
      )}
      <Findings findings={findings} spans={spans} at={at} />
      {span.message !== null && !isOk && <p class="say neg">{span.message}</p>}
    </div>
  );
}

interface RowProps {
  readonly span: RunSpan;
  readonly said: Said | undefined;
  readonly chosen: string | undefined;
  readonly at: (span: string) => string;
  readonly request?: WaitingRow | undefined;
  readonly reasons?: Readonly<Record<string, string>>;
}

function CallRow({ span, said, chosen, at, request, reasons = {} }: RowProps) {
  const status = span.status;
  const icon: IconName = status === 'ok' ? findSort(span) : status;
  const why = span.reason === null ? span.message : (reasons[span.reason] ?? span.reason);
  return (
    <a
      class={`call r-${status}`}
      href={at(span.id)}
      data-span={span.id}
      aria-current={span.id === chosen ? 'true' : undefined}
    >
      <Icon name={icon} class={status === 'ok' ? 'dim' : `s-${status}`} />
      <span class="cn">
        <Name span={span} />
      </span>
      <span class="ca">{brief(said?.arguments ?? request?.args ?? undefined)}</span>
      <span class="cr">
        {status === 'ok' ? (
          brief(said?.result)
        ) : (
          <>
            <b>{status}</b>{' '}
            {status === 'failed'
              ? (span.message ?? brief(said?.result))
              : request === undefined
                ? why
                : formatDecision(request)}
          </>
        )}
      </span>
      <span class="cd num">
        <Duration ms={span.endMs - span.startMs} />
      </span>
    </a>
  );
}

/** The name of a tool after that of its server, or of the span. */
export function Name({ span }: { span: RunSpan }) {
  const isTool = findSort(span) === 'tool' && span.tool !== null;
  return (
    <span class="mono">
      {isTool && span.server !== null && <span class="dim">{span.server}.</span>}
      {isTool ? span.tool : span.name}
    </span>
  );
}

interface FoldProps {
  readonly group: Group;
  readonly words: ReadonlyMap<string, Said>;
  readonly chosen: string | undefined;
  readonly isOpen: boolean;
  readonly at: (span: string) => string;
  readonly toggle: () => void;
}

/** Most calls of a fold that are shown when it is open. */
const MAX_SHOWN = 100;

function Fold({ group, words, chosen, isOpen, at, toggle }: FoldProps) {
  const times = group.map((span) => span.endMs - span.startMs);
  const first = group[0] as RunSpan;
  return (
    <>
      <button type="button" class="call grpc" aria-expanded={isOpen} onClick={toggle}>
        <Icon name="chevron" class="dim chev" />
        <span class="cn">
          <Name span={first} /> <span class="times">×{group.length}</span>
        </span>
        <span class="ca">{varying(group.map(({ id }) => words.get(id)?.arguments))}</span>
        <span class="cr">
          all ok, {formatDuration(times.reduce((a, b) => Math.min(a, b)))} to{' '}
          {formatDuration(times.reduce((a, b) => Math.max(a, b)))}
        </span>
        <span class="cd num">
          <Duration ms={times.reduce((sum, ms) => sum + ms, 0)} />
        </span>
      </button>
      {isOpen && (
        <div class="kids">
          {group.slice(0, MAX_SHOWN).map((span) => (
            <CallRow key={span.id} span={span} said={words.get(span.id)} chosen={chosen} at={at} />
          ))}
          {group.length > MAX_SHOWN && (
            <p class="foot">{formatCount(group.length - MAX_SHOWN)} more: see the waterfall.</p>
          )}
        </div>
      )}
    </>
  );
}
