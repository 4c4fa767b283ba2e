/** `AskResult` in its wire form. Only names are converted; arguments, results and quotes are never walked. */
import { snakeKeys } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { decisionToWire } from '../decision.ts';
import type { GroundedItem } from '../evidence/index.ts';
import type { AskResult } from './host.ts';

export function askResultToWire(result: AskResult): JsonObject {
  const named = (fields: object): JsonObject => ({ type: result.type, ...snakeKeys(fields) });
  if (result.type === 'final_answer') return named(result);
  if (result.type === 'blocked') {
    const { call: _, decision, ...rest } = result;
    return { ...named(rest), ...(decision && { decision: decisionToWire(decision) }) };
  }
  const { isUntrusted, ...rest } = result;
  const wire = { ...named(rest), ...(isUntrusted && { untrusted: true }) };
  if (rest.type === 'tool_result') return wire;
  const { bullets, risks, recommendations } = rest.summary;
  const items = (list: readonly GroundedItem[]) =>
    list.map(({ quote, ...item }) => ({ ...snakeKeys(item), evidence: quote }));
  const summary = {
    type: 'summary',
    bullets: items(bullets),
    risks: items(risks),
    recommendations: items(recommendations),
  };
  return { ...wire, summary };
}
