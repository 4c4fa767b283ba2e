import { diag } from '@opentelemetry/api';
import { errorMessage } from '../base/index.ts';
import {
  type ApprovalAnswer,
  askForApproval,
  bindingOf,
  fingerprintOf,
  type GateApprovals,
} from './approvals.ts';
import { type Decision, revise } from './decision.ts';
import type { GateCall } from './gate-types.ts';

/** Whether a person is asked about a call through the queue of approvals. */
export function isHeld(call: GateCall, { decision, enforcement }: Decision): boolean {
  return call.approvalToken === undefined && decision === 'require_approval' && enforcement === 'enforced';
}

/**
 * The decision about a held call after its queue was asked. Without an answer it stays held.
 * @param usableMs how long an approval can be used.
 * @param evaluate decides the call again: policy and definition may change while a person decides.
 */
export async function decideHeldCall(
  approvals: GateApprovals,
  call: GateCall,
  held: Decision,
  usableMs: number,
  evaluate: () => Decision,
): Promise<Decision> {
  const binding = bindingOf(call, held);
  const fingerprint = fingerprintOf(binding);
  const { args } = call;
  const { message, ruleIds } = held;
  let answer: ApprovalAnswer;
  try {
    answer = await askForApproval(approvals, { ...binding, fingerprint, args, message, ruleIds, usableMs });
  } catch (error) {
    diag.error(`mcp-observatory: an approval cannot be asked for: ${errorMessage(error)}`);
    return { ...held, message: `${message}; it cannot be asked for now` };
  }
  const { id, state, note } = answer;
  const person = answer.decidedBy ?? 'a person';
  if (state === 'waiting') return { ...held, message: `${message}; the request ${id} waits for a person` };
  const said = note === null ? '' : `: ${note}`;
  if (state === 'rejected') return revise(held, 'deny', 'approval_rejected', `Rejected by ${person}${said}`);
  // The approval is for what was asked.
  const current = evaluate();
  if (current.decision === 'deny') return current;
  if (fingerprintOf(bindingOf(call, current)) !== fingerprint) {
    return revise(current, 'deny', 'approval_invalid', 'The policy or the call changed while it was decided');
  }
  return revise(held, 'allow', 'approved', `${person} approved this exact call`);
}
