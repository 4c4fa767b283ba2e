/**
 * G2 and the built-in rules of G3: what can be said of a call without asking anybody, and without using anything up.
 */

import { PLAN_LIMITS } from '../json/index.ts';
import { argumentDigest, argumentProblem, type Refusal, unsafeArguments } from './arguments.ts';
import type { Catalogue, CatalogueTool } from './catalogue.ts';
import type { Decision, DecisionKind } from './decision.ts';
import type { GateCall } from './gate-types.ts';
import type { PolicySource } from './policy-source.ts';
import { gateOf } from './reasons.ts';

/** @param digestKey key of the argument digest; without one it is plain SHA-256. */
export function evaluateCall(
  call: GateCall,
  catalogue: Catalogue,
  source: PolicySource,
  digestKey: string | undefined,
): Decision {
  const started = performance.now();
  const tool = catalogue.find(call.server, call.tool);
  const policy = source.policy;
  const limits = policy?.document.limits;
  const unsafe = unsafeArguments(call.args, {
    ...PLAN_LIMITS,
    maxBytes: limits?.argument_bytes ?? PLAN_LIMITS.maxBytes,
    maxDepth: limits?.argument_depth ?? PLAN_LIMITS.maxDepth,
  });
  const argsDigest = unsafe === undefined ? argumentDigest(call.args, digestKey) : null;
  const make = (
    decision: DecisionKind,
    { reasonCode, message }: Refusal,
    ruleIds: readonly string[] = [],
    canShadow = false,
  ): Decision => ({
    decision,
    // Shadow mode tries rules out. It does not open the gate to calls that nothing describes.
    enforcement: canShadow && policy?.document.mode === 'shadow' ? 'shadow' : 'enforced',
    wouldBlock: decision !== 'allow',
    reasonCode,
    gate: gateOf(reasonCode),
    message,
    ruleIds,
    policyHash: policy?.hash ?? null,
    toolHash: tool === undefined || tool.hash === '' ? null : tool.hash,
    argsDigest,
    latencyUs: (performance.now() - started) * 1_000,
  });
  if (policy === undefined) {
    const message = source.problem?.message ?? 'There is no policy';
    return make('deny', { reasonCode: 'policy_unavailable', message });
  }
  const structural = unsafe ?? toolProblem(call, tool, catalogue);
  if (structural !== undefined || tool?.checks === undefined) {
    return make('deny', structural ?? { reasonCode: 'tool_invalid', message: 'The tool cannot be checked' });
  }
  const isClosed = policy.document.unknown_arguments === 'reject_always';
  const misfit = argumentProblem(call.args, tool.checks, isClosed);
  if (misfit !== undefined) return make('deny', misfit, [], true);
  const verdict = policy.evaluate(call.server, call.tool, call.args, call.userRequest);
  return make(verdict.decision, verdict, verdict.ruleIds, true);
}

function toolProblem(
  call: GateCall,
  tool: CatalogueTool | undefined,
  catalogue: Catalogue,
): Refusal | undefined {
  if (!catalogue.hasServer(call.server)) {
    return { reasonCode: 'server_unknown', message: `There is no server '${call.server.slice(0, 64)}'` };
  }
  if (tool === undefined) {
    return { reasonCode: 'tool_unknown', message: `The server lists no tool '${call.tool.slice(0, 64)}'` };
  }
  return tool.quarantine;
}
