import { diag, trace } from '@opentelemetry/api';
import {
  type ApprovalAnswer,
  type ApprovalBinding,
  type ApprovalLimits,
  type ApprovalRequest,
  type ApprovalScope,
  type Approvals,
  computeFingerprint,
  toSubject,
} from '../approvals/index.ts';
import { errorMessage } from '../base/index.ts';
import { type Decision, revise } from './decision.ts';
import type { GateApprovals, GateCall } from './gate-types.ts';
import { findSession } from './run-sources.ts';
import { inGateSpan } from './telemetry.ts';

/** What an approval of this call covers, given its decision. */
export function toBinding(call: GateCall, decision: Decision): ApprovalBinding {
  return {
    caller: call.caller ?? '',
    server: call.server,
    // A tool may have the name of a method.
    tool: call.method === undefined ? call.tool : `\0${call.method}`,
    toolHash: decision.toolHash ?? '',
    argsDigest: decision.argsDigest ?? '',
    policyHash: decision.policyHash ?? '',
  };
}

/** Whether a person is asked about a call through the queue of approvals. */
export function isHeld(call: GateCall, held: Decision): boolean {
  return call.approvalToken === undefined && isAskedAbout(held) && held.enforcement === 'enforced';
}

/** Whether a person decides about the call itself, and not about an effect of an earlier one. */
function isAskedAbout({ decision, reasonCode }: Decision): boolean {
  return decision === 'require_approval' && reasonCode !== 'effect_unknown';
}

/** The decision about a held call that comes with the answer of a person: an approval, which is used up, or a no. */
export function applyPersonsAnswer(call: GateCall, held: Decision, approvals: Approvals): Decision {
  if (!isAskedAbout(held)) return held;
  if (call.isRejected === true)
    return revise(held, 'deny', 'approval_rejected', 'A person rejected this exact call');
  if (call.approvalToken === undefined) return held;
  return approvals.redeem(call.approvalToken, toBinding(call, held))
    ? revise(held, 'allow', 'approved', 'A human approved this exact call')
    : revise(held, 'deny', 'approval_invalid', 'The approval is unknown, used, expired or for another call');
}

/** What an approval that goes further than one call says of itself. */
const REACH: Readonly<Record<ApprovalScope, string>> = {
  once: '',
  session: ' for this session',
  definition: ' until the definition changes',
};

/**
 * The decision about a held call after its queue was asked. Without an answer it stays held.
 * @param limits how long an approval can be used.
 * @returns the decision, and the id of the request.
 * @param evaluate decides the call again: policy and definition may change while a person decides.
 */
export async function decideHeldCall(
  approvals: GateApprovals,
  call: GateCall,
  held: Decision,
  limits: ApprovalLimits,
  evaluate: () => Decision,
): Promise<{ readonly decision: Decision; readonly id?: string }> {
  const binding = toBinding(call, held);
  const fingerprint = computeFingerprint(binding);
  const { args } = call;
  const { ruleIds } = held;
  let answer: ApprovalAnswer;
  try {
    const subject = toSubject(binding);
    const sessionId = findSession(call);
    answer = await askForApproval(approvals, {
      ...binding,
      ...limits,
      fingerprint,
      subject,
      sessionId,
      args,
      message: held.message,
      ruleIds,
    });
  } catch (error) {
    diag.error(`mcp-observatory: an approval cannot be asked for: ${errorMessage(error)}`);
    return { decision: { ...held, message: `${held.message}; it cannot be asked for now` } };
  }
  const { id, state, note, scope = 'once' } = answer;
  const span = trace.getActiveSpan();
  span?.setAttribute('observatory.review_id', id);
  const person = answer.decidedBy ?? 'a person';
  if (state === 'waiting')
    return { id, decision: { ...held, message: `${held.message}; the request ${id} waits for a person` } };
  const said = note === null ? '' : `: ${note}`;
  if (state === 'rejected')
    return { id, decision: revise(held, 'deny', 'approval_rejected', `Rejected by ${person}${said}`) };
  // The approval is for what was asked.
  const current = evaluate();
  if (current.decision === 'deny') return { id, decision: current };
  if (computeFingerprint(toBinding(call, current)) !== fingerprint) {
    const why = 'The policy or the call changed while it was decided';
    return { id, decision: revise(current, 'deny', 'approval_invalid', why) };
  }
  span?.setAttribute('observatory.approval_scope', scope);
  const message = `${person} approved this exact call${REACH[scope]} (request ${id})`;
  return { id, decision: revise(held, 'allow', 'approved', message) };
}

/** Asks for an approval, and waits for it as long as allowed. Rejects as the queue does. */
async function askForApproval(
  { queue, waitMs = 0 }: GateApprovals,
  request: ApprovalRequest,
): Promise<ApprovalAnswer> {
  const answer = await queue.takeApproval(request);
  if (answer.state !== 'waiting' || waitMs <= 0) return answer;
  // Often most of the time that a run takes.
  return inGateSpan('approval_wait', async (span) => {
    span.setAttribute('observatory.review_id', answer.id);
    // Not decided in time: it may have been at the last moment.
    await queue.waitFor(answer.id, { timeoutMs: waitMs }).catch(() => undefined);
    const decided = await queue.takeApproval(request);
    span.setAttribute('observatory.review_status', decided.state);
    return decided;
  });
}
