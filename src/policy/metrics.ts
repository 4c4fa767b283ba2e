import { type Counter, diag, type MeterProvider, metrics } from '@opentelemetry/api';
import { ATTR_GEN_AI_TOOL_NAME, attributeOf, BoundedNames, VERSION } from '../base/index.ts';
import type { Decision } from './decision.ts';

/** Servers and tools that get series of their own. */
const MAX_NAMES = 50;
const OTHER = '_other';

const servers = new BoundedNames(MAX_NAMES);
const tools = new BoundedNames(MAX_NAMES);
let current: { readonly provider: MeterProvider; readonly decisions: Counter } | undefined;

/**
 * Counts a decision of the gate in `observatory.gate.decisions`: by decision, reason, gate, whether it is enforced,
 * server and tool. A tool no server lists is `_other`, for a model can make up any number of names.
 *
 * A failure to count is told through `diag`: it changes nothing about the decision.
 */
export function countDecision(decision: Decision, server: string, tool: string): void {
  try {
    const isListed = decision.toolHash !== null;
    decisionsNow().add(1, {
      [attributeOf('policy_decision')]: decision.decision,
      [attributeOf('policy_reason')]: decision.reasonCode,
      'observatory.policy_gate': decision.gate,
      'observatory.policy_enforcement': decision.enforcement,
      'observatory.server': isListed ? servers.admit(server) : OTHER,
      [ATTR_GEN_AI_TOOL_NAME]: isListed ? tools.admit(tool) : OTHER,
    });
  } catch (error) {
    diag.error('mcp-observatory: a decision could not be counted', error);
  }
}

/** The counter of the provider that is registered now; one made before an SDK starts would count nothing. */
function decisionsNow(): Counter {
  const provider = metrics.getMeterProvider();
  if (current?.provider !== provider) {
    const decisions = provider
      .getMeter('mcp-observatory', VERSION)
      .createCounter('observatory.gate.decisions', {
        unit: '{decision}',
        description: 'Decisions of the policy gate about tool calls',
      });
    current = { provider, decisions };
  }
  return current.decisions;
}
