import { type Decision, isBlocked, revise } from './decision.ts';
import { countDecision } from './metrics.ts';
import type { ReasonCode } from './reasons.ts';

/** Writes a decision down before it returns. A throw denies the call: what is not on record is not made. */
export type DecisionRecorder = (decision: Decision) => void;

/**
 * Ends the decision about a call: records it, and counts it, once and as what the call came to. It waits for nothing,
 * so nothing changes between the last look at the tool's definition and the call.
 * @throws what `record` throws; the call is then counted as denied.
 */
export function settle(
  decision: Decision,
  call: { readonly server: string; readonly tool: string },
  record?: DecisionRecorder,
): Decision {
  try {
    record?.(decision);
  } catch (cause) {
    countDecision(withoutRecord(decision), call.server, call.tool);
    throw cause;
  }
  countDecision(decision, call.server, call.tool);
  return decision;
}

/** What a decision becomes when it cannot be recorded: a denial keeps its reason, anything else is denied for this. */
export function withoutRecord(decision: Decision): Decision {
  if (isBlocked(decision)) return decision;
  return refused(decision, 'audit_unavailable', 'The decision could not be recorded');
}

/** A denial that is enforced in shadow mode too, because no rule is tried out by it. */
export function refused(decision: Decision, reasonCode: ReasonCode, message: string): Decision {
  return { ...revise(decision, 'deny', reasonCode, message), enforcement: 'enforced' };
}
