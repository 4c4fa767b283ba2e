import { sliced } from '../../base/index.ts';
import { meaningOfFinding } from '../../evidence/index.ts';
import { isObject, parseContainer } from '../../json/index.ts';
import { type RunSpan, type SentSpan, withoutNulls } from '../../runs/index.ts';

const MAX_FINDINGS = 50;
/** Spans between two looks at the clock. */
const TURN_SPANS = 100;

/** Findings of a span with what they mean, in words; findings that are in no form to be read stay as they are. */
function withMeaning(span: RunSpan): RunSpan {
  const list = span.findings === null ? undefined : parseContainer(span.findings);
  if (!Array.isArray(list)) return span;
  const findings = list
    .slice(0, MAX_FINDINGS)
    .map((one: unknown) => (isObject(one) ? { ...one, why: meaningOfFinding(String(one.kind)) } : one));
  return { ...span, findings: JSON.stringify(findings) };
}

/** Spans as they are sent, made in slices: a run may have 20,000. */
export async function toSentSpans(spans: readonly RunSpan[]): Promise<readonly SentSpan[]> {
  const sent: SentSpan[] = [];
  const turn = sliced();
  for (const span of spans) {
    sent.push(withoutNulls(withMeaning(span)));
    if (sent.length % TURN_SPANS === 0) await turn();
  }
  return sent;
}
