/** `AskResult` in its wire form. Names are converted one by one; arguments, results and quotes are never walked. */
import { decisionToWire } from '../decision.ts';
import type { GroundedItem } from '../evidence/index.ts';
import type { AskResult } from './host.ts';

export function askResultToWire(result: AskResult): Readonly<Record<string, unknown>> {
  const base = { type: result.type, query: result.query, run_id: result.runId };
  switch (result.type) {
    case 'blocked': {
      const { gate, reasonCode, message, decision } = result;
      const decided = decision === undefined ? {} : { decision: decisionToWire(decision) };
      return { ...base, gate, reason_code: reasonCode, message, ...decided };
    }
    case 'final_answer':
      return { ...base, answer: result.answer, needs_more_info: result.needsMoreInfo };
    case 'tool_result': {
      const { server, tool, args, summaryRefused } = result;
      const refused = summaryRefused === undefined ? {} : { summary_refused: summaryRefused };
      return { ...base, server, tool, args, result: result.result, ...untrusted(result), ...refused };
    }
    case 'tool_result_with_summary': {
      const { server, tool, args, summary } = result;
      const { bullets, risks, recommendations } = summary;
      const items = (list: readonly GroundedItem[]) =>
        list.map(({ claim, quote, path, start, end, match, isSuspect }) => ({
          claim,
          evidence: quote,
          path,
          start,
          end,
          match,
          is_suspect: isSuspect,
        }));
      return {
        ...base,
        server,
        tool,
        args,
        result: result.result,
        ...untrusted(result),
        summary: {
          type: 'summary',
          bullets: items(bullets),
          risks: items(risks),
          recommendations: items(recommendations),
        },
      };
    }
  }
}

function untrusted(result: { readonly isUntrusted?: true }): { readonly untrusted?: true } {
  return result.isUntrusted === true ? { untrusted: true } : {};
}
