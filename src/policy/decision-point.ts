/**
 * An external policy decision point: OPA, Cedar, the operator's own service or code. It can make a decision stricter, never
 * looser: what the built-in rules deny stays denied.
 */
import type { JsonObject } from '../json/index.ts';
import { type Decision, type DecisionKind, refused, revise } from './decision.ts';
import type { RequestMethod } from './requests.ts';

export interface PolicyRequest {
  readonly caller: string;
  readonly server: string;
  /** The tool, or the method where `method` says that it is no tool call. */
  readonly tool: string;
  readonly method?: RequestMethod | undefined;
  readonly args: JsonObject;
  readonly toolHash: string;
  readonly userRequest?: string | undefined;
}

export interface PolicyAnswer {
  readonly decision: DecisionKind;
  /** Ids of the rules or policies that decided. */
  readonly ruleIds?: readonly string[] | undefined;
  readonly message?: string | undefined;
}

export interface PolicyDecisionPoint {
  /** Decides. A rejection, an unknown decision or silence until `signal` fires denies the call. */
  decide(request: PolicyRequest, signal: AbortSignal): Promise<PolicyAnswer>;
}

/** Longest wait for a decision point, in milliseconds. */
export const DECISION_TIMEOUT_MS = 1_000;

/** Asks a decision point; undefined when it failed. */
async function askDecisionPoint(
  point: PolicyDecisionPoint,
  request: PolicyRequest,
): Promise<PolicyAnswer | undefined> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    // Unlike AbortSignal.timeout, this timer keeps the process alive until the call is decided.
    timer = setTimeout(() => resolve(undefined), DECISION_TIMEOUT_MS);
  });
  try {
    const answer = await Promise.race([point.decide(request, abort.signal), silence]);
    const isKnown =
      answer?.decision === 'allow' || answer?.decision === 'deny' || answer?.decision === 'require_approval';
    return isKnown ? answer : undefined;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

/** The decision after a decision point has answered. @param answer undefined when the decision point failed. */
function applyAnswer(decision: Decision, answer: PolicyAnswer | undefined): Decision {
  if (answer === undefined) {
    return revise(decision, 'deny', 'decision_point_failed', 'The decision point did not answer');
  }
  if (answer.decision === 'deny') {
    const message = answer.message ?? 'The decision point denies it';
    return revise(decision, 'deny', 'decision_point_denied', message, answer.ruleIds);
  }
  if (answer.decision === 'require_approval' && decision.decision === 'allow') {
    const message = answer.message ?? 'The decision point wants a human to approve it';
    return revise(decision, 'require_approval', 'approval_required', message, answer.ruleIds);
  }
  return decision;
}

/**
 * The decision about a call after its decision point, if there is one, was asked. Policy and definition may change meanwhile: what is in
 * force then decides.
 * @param now decides by the rules again, and gives the hash of the tool's definition, as they are now.
 */
export async function consultPoint(
  point: PolicyDecisionPoint | undefined,
  call: Omit<PolicyRequest, 'caller' | 'toolHash'> & { readonly caller?: string | undefined },
  now: { evaluate(): Decision; toolHash(): string },
): Promise<Decision> {
  const decision = now.evaluate();
  if (point === undefined || decision.decision === 'deny') return decision;
  const { caller = '', server, tool, method, args, userRequest } = call;
  const toolHash = decision.toolHash ?? '';
  const answer = await askDecisionPoint(point, { caller, server, tool, method, args, toolHash, userRequest });
  const current = now.evaluate();
  const decided = current.decision === 'deny' ? current : applyAnswer(current, answer);
  const isDenied = decided.decision === 'deny' && decided.enforcement === 'enforced';
  if (isDenied || method !== undefined || now.toolHash() === toolHash) return decided;
  return refused(decided, 'tool_changed', 'The definition changed while it was decided');
}
