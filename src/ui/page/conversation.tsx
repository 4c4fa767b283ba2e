import { useState } from 'preact/hooks';
import { formatDuration } from '../explain/units.ts';
import type { RunSpan, Said } from '../store/index.ts';
import { folded, sortOf, spanStatus, withoutServers } from './calls.ts';
import { CopyButton, Count, Duration, Icon, type IconName } from './parts.tsx';

const CAPTURE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true';

interface TabProps {
  readonly spans: readonly RunSpan[];
  readonly said: readonly Said[];
  readonly chosen: string | undefined;
  readonly at: (span: string) => string;
}

/** The run as what was said and called, in order. */
export function Conversation({ spans, said, chosen, at }: TabProps) {
  const words = new Map(said.map((one) => [one.spanId, one]));
  const shown = withoutServers(spans).filter((span) => sortOf(span) !== 'agent' || spanStatus(span) !== 'ok');
  const models = shown.filter((span) => sortOf(span) === 'model');
  // Agents that send events give the prompt on a span of its own, before the model calls.
  const first = said.find(({ prompt }) => prompt !== undefined)?.prompt;
  return (
    <div class="conv">
      {said.length === 0 && models.length > 0 && (
        <p class="note off">
          <Icon name="unsupported" class="dim" />
          <span>
            The text of this run is not stored: you see structure, sizes and outcomes. Switch it on with{' '}
            <code>{CAPTURE}</code>
          </span>
          <CopyButton text={CAPTURE} label="Copy the setting" />
        </p>
      )}
      {first !== undefined && (
        <div class="msg">
          <div class="who">
            <Icon name="agent" class="dim" />
            Prompt
          </div>
          <p class="say">{first}</p>
        </div>
      )}
      {folded(shown).map((group) => {
        const [span] = group as [RunSpan];
        if (group.length > 1)
          return <Group key={span.id} group={group} chosen={chosen} at={at} words={words} />;
        if (sortOf(span) !== 'model')
          return <CallRow key={span.id} span={span} said={words.get(span.id)} chosen={chosen} at={at} />;
        return (
          <ModelCall
            key={span.id}
            span={span}
            said={words.get(span.id)}
            isLast={span === models.at(-1)}
            href={at(span.id)}
          />
        );
      })}
      {shown.length === 0 && <p class="foot">No model or tool was called.</p>}
    </div>
  );
}

function ModelCall({
  span,
  said,
  isLast,
  href,
}: {
  span: RunSpan;
  said: Said | undefined;
  isLast: boolean;
  href: string;
}) {
  const findings = findingsOf(span);
  return (
    <div class={isLast ? 'msg last' : 'msg'}>
      <div class="who">
        <Icon
          name={spanStatus(span) === 'ok' ? 'model' : 'failed'}
          class={spanStatus(span) === 'ok' ? 'dim' : 's-failed'}
        />
        {isLast ? 'Answer' : 'Model'}{' '}
        <a class="sub" href={href}>
          {span.model ?? span.name}, <Count of={span.promptTokens ?? 0} /> in,{' '}
          <Count of={span.completionTokens ?? 0} /> out, <Duration ms={span.endMs - span.startMs} />
        </a>
      </div>
      {said?.answer !== undefined && (
        <p class="say">{said.answer.length > 0 ? <Marked text={said.answer} findings={findings} /> : ''}</p>
      )}
      {findings.length > 0 && (
        <ol class="finds">
          {findings.map(({ kind, start }, i) => (
            <li key={`${kind}-${start}`} class={`k-${toneOf(kind)}`}>
              <Icon name={toneOf(kind)} />
              <span>
                <b>
                  {i + 1} {toneOf(kind)}
                </b>{' '}
                {kind.replaceAll('_', ' ')}
              </span>
            </li>
          ))}
        </ol>
      )}
      {span.message !== null && spanStatus(span) !== 'ok' && <p class="say neg">{span.message}</p>}
    </div>
  );
}

interface Finding {
  readonly kind: string;
  /** Offsets in the answer, in code points. */
  readonly start: number;
  readonly end: number;
}

/** The stored findings of an answer; what is not in their form is left out. */
export function findingsOf({ findings }: RunSpan): readonly Finding[] {
  if (findings === null) return [];
  try {
    const list: unknown = JSON.parse(findings);
    if (!Array.isArray(list)) return [];
    return list
      .filter(
        (one): one is Finding =>
          typeof one?.kind === 'string' && Number.isInteger(one.start) && Number.isInteger(one.end),
      )
      .slice(0, 50)
      .sort((a, b) => a.start - b.start);
  } catch {
    return [];
  }
}

const toneOf = (kind: string): 'contradicted' | 'unsupported' =>
  kind.startsWith('unsupported') ? 'unsupported' : 'contradicted';

/** The answer with its findings marked in place. */
function Marked({ text, findings }: { text: string; findings: readonly Finding[] }) {
  const points = [...text];
  const parts = [];
  let at = 0;
  for (const [i, { kind, start, end }] of findings.entries()) {
    if (start < at || end > points.length || start >= end) continue;
    parts.push(points.slice(at, start).join(''));
    parts.push(
      <mark key={start} class={`mark k-${toneOf(kind)}`}>
        <span>{points.slice(start, end).join('')}</span>
        <sup>
          {i + 1}
          <Icon name={toneOf(kind)} />
        </sup>
      </mark>,
    );
    at = end;
  }
  parts.push(points.slice(at).join(''));
  return <>{parts}</>;
}

interface RowProps {
  readonly span: RunSpan;
  readonly said: Said | undefined;
  readonly chosen: string | undefined;
  readonly at: (span: string) => string;
}

function CallRow({ span, said, chosen, at }: RowProps) {
  const status = spanStatus(span);
  const icon: IconName = status === 'ok' ? (sortOf(span) === 'tool' ? 'tool' : 'agent') : status;
  return (
    <a class={`call r-${status}`} href={at(span.id)} aria-current={span.id === chosen ? 'true' : undefined}>
      <Icon name={icon} class={status === 'ok' ? 'dim' : `s-${status}`} />
      <span class="cn">
        <Name span={span} />
      </span>
      <span class="ca">
        {said?.arguments === undefined ? '' : said.arguments.replace(/\s+/g, ' ').slice(0, 200)}
      </span>
      <span class="cr">
        {status === 'ok' ? (
          (said?.result ?? '').replace(/\s+/g, ' ').slice(0, 120)
        ) : (
          <>
            <b>{status}</b> {status === 'denied' ? span.reason : span.message}
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
  const isTool = sortOf(span) === 'tool' && span.tool !== null;
  return (
    <span class="mono">
      {isTool && span.server !== null && <span class="dim">{span.server}.</span>}
      {isTool ? span.tool : span.name}
    </span>
  );
}

interface GroupProps {
  readonly group: readonly RunSpan[];
  readonly words: ReadonlyMap<string, Said>;
  readonly chosen: string | undefined;
  readonly at: (span: string) => string;
}

/** Most calls of a group that are shown when it is open. */
const MAX_SHOWN = 200;

function Group({ group, words, chosen, at }: GroupProps) {
  const [isOpen, setOpen] = useState(group.some(({ id }) => id === chosen));
  const times = group.map((span) => span.endMs - span.startMs);
  const first = group[0] as RunSpan;
  return (
    <>
      <button type="button" class="call grpc" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" class="dim chev" />
        <span class="cn">
          <Name span={first} /> <span class="times">×{group.length}</span>
        </span>
        <span class="ca" />
        <span class="cr">
          all ok, {formatDuration(Math.min(...times))} to {formatDuration(Math.max(...times))}
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
          {group.length > MAX_SHOWN && <p class="foot">{group.length - MAX_SHOWN} more: see the waterfall</p>}
        </div>
      )}
    </>
  );
}
