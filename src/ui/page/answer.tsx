import { meansTool, type RunSpan, toolCalls } from '../../runs/index.ts';
import { Icon } from './parts.tsx';

/** A claim of an answer that the trace contradicts or no source supports. */
export interface MarkedFinding {
  readonly kind: string;
  /** What the kind means. */
  readonly why?: string;
  /** Offsets in the answer, in code points. */
  readonly start: number;
  readonly end: number;
  /** Place of the call against it among those that the model was told of, and its tool as the model knows it. */
  readonly step?: number;
  readonly tool?: string;
}

/** The stored findings of an answer; what is not in their form is left out. */
export function readFindings({ findings }: RunSpan): readonly MarkedFinding[] {
  if (findings === null) return [];
  try {
    const list: unknown = JSON.parse(findings);
    if (!Array.isArray(list)) return [];
    return list
      .filter(
        (one): one is MarkedFinding =>
          typeof one?.kind === 'string' && Number.isInteger(one.start) && Number.isInteger(one.end),
      )
      .slice(0, 50)
      .sort((a, b) => a.start - b.start);
  } catch {
    return [];
  }
}

export const pickTone = (kind: string): 'contradicted' | 'unsupported' =>
  kind.startsWith('unsupported') ? 'unsupported' : 'contradicted';

interface FindingsProps {
  readonly findings: readonly MarkedFinding[];
  readonly spans: readonly RunSpan[];
  readonly at: (span: string) => string;
}

/** The findings below an answer, each with the call that shows it. */
export function Findings({ findings, spans, at }: FindingsProps) {
  if (findings.length === 0) return null;
  const calls = toolCalls(spans);
  return (
    <ol class="finds">
      {findings.map((finding, i) => {
        const { kind, why, start } = finding;
        const call = findCall(calls, finding);
        return (
          <li key={`${kind}-${start}-${i}`} class={`k-${pickTone(kind)}`}>
            <Icon name={pickTone(kind)} />
            <span>
              <b>
                {i + 1} {pickTone(kind)}
              </b>{' '}
              {call?.span.status === 'failed' && call.span.message !== null
                ? `${call.tool} failed: ${call.span.message}`
                : why}
            </span>
            {call !== undefined && <a href={at(call.span.id)}>{call.tool}</a>}
          </li>
        );
      })}
    </ol>
  );
}

/**
 * The call against a claim. Its place is another one in the run where the model was told of calls of earlier runs, or of calls
 * made at one time in another order.
 */
function findCall(calls: ReturnType<typeof toolCalls>, { kind, step, tool }: MarkedFinding) {
  if (step === undefined || tool === undefined) return undefined;
  const isFailure = kind === 'tool_failed_claimed_success';
  const likely = calls.filter((call) => meansTool(tool, call.tool) && (!isFailure || call.status !== 'ok'));
  return likely.find((call) => call === calls[step]) ?? likely.at(-1);
}

/** The answer with its findings marked in place. */
export function Marked({ text, findings }: { text: string; findings: readonly MarkedFinding[] }) {
  if (findings.length === 0) return <>{text}</>;
  const points = [...text];
  const parts = [];
  let at = 0;
  for (const [i, { kind, start, end }] of findings.entries()) {
    if (start < at || end > points.length || start >= end) continue;
    parts.push(points.slice(at, start).join(''));
    parts.push(
      <mark key={start} class={`mark k-${pickTone(kind)}`}>
        <span>{points.slice(start, end).join('')}</span>
        <sup>
          {i + 1}
          <Icon name={pickTone(kind)} />
        </sup>
      </mark>,
    );
    at = end;
  }
  parts.push(points.slice(at).join(''));
  return <>{parts}</>;
}
