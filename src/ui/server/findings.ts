import { meaningOfFinding } from '../../evidence/index.ts';
import { isObject, parseContainer } from '../../json/index.ts';
import type { RunSpan } from '../../runs/index.ts';

const MAX_FINDINGS = 50;

/** The spans with what their findings mean, in words; findings that are in no form to be read stay as they are. */
export function withMeanings(spans: readonly RunSpan[]): readonly RunSpan[] {
  return spans.map((span) => {
    const list = span.findings === null ? undefined : parseContainer(span.findings);
    if (!Array.isArray(list)) return span;
    const findings = list
      .slice(0, MAX_FINDINGS)
      .map((one: unknown) => (isObject(one) ? { ...one, why: meaningOfFinding(String(one.kind)) } : one));
    return { ...span, findings: JSON.stringify(findings) };
  });
}
