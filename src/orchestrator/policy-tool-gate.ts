import { redactValue } from '../json/index.ts';
import type { ToolCallOutcome, ToolResult } from '../mcp-client/index.ts';
import {
  type AuditRun,
  type Decision,
  decisionToWire,
  isBlocked,
  PolicyGate,
  type GateCall as PolicyGateCall,
} from '../policy/index.ts';
import type { GateCall, GateTool, GateVerdict, ToolGate } from './gate.ts';

/** How a policy gate judges the calls of a run. */
export interface PolicyToolGateOptions {
  readonly gate: PolicyGate;
  /** What the user asked for, for rules about where arguments come from. */
  readonly userRequest?: string | undefined;
  /** Who the run is made for; approvals are bound to it. */
  readonly caller?: string | undefined;
  /** Run the budgets of the policy count by. */
  readonly runId?: string | undefined;
  /** Where decisions and ends of calls are recorded. A record that cannot be written denies the call. */
  readonly audit?: AuditRun | undefined;
}

/** Whether a gate given to a run is a policy gate, which needs {@link policyToolGate} around it. */
export function isPolicyGate(gate: ToolGate | PolicyGate): gate is PolicyGate {
  return gate instanceof PolicyGate;
}

/**
 * Puts a {@link PolicyGate} between a model and the tools of a run: tools the policy cannot allow are not shown, every
 * call is decided on the definitions as they are listed at that moment, and a result that fails its type is withheld.
 * A call that needs approval is denied, since nobody can be asked in the middle of a run.
 */
export function policyToolGate({ gate, audit, ...context }: PolicyToolGateOptions): ToolGate {
  const policyCall = ({ server, tool, arguments: args }: GateCall): PolicyGateCall => ({
    ...context,
    server,
    tool: tool.name,
    args: { ...args },
  });
  return {
    toolsListed: (server, tools) => gate.setTools(server, tools),
    mayList: ({ server, tool }: GateTool) =>
      gate.allowedTools(server).some((allowed) => allowed.name === tool.name),
    beforeCall: async (call) => {
      const decision = await gate.authorize(policyCall(call), (decided) => {
        const { server, tool } = call;
        audit?.record('call_decided', { server, tool: tool.name, ...decisionToWire(decided) });
      });
      return verdictOf(decision);
    },
    afterCall: (call, outcome) => {
      const verdict = judge(gate, policyCall(call), outcome);
      audit?.record('call_finished', {
        server: call.server,
        tool: call.tool.name,
        outcome: verdict.allowed ? outcome.kind : 'withheld',
        duration_ms: Math.round(outcome.durationMs),
        ...(verdict.allowed ? {} : { reason_code: verdict.reasonCode }),
      });
      return verdict;
    },
  };
}

function verdictOf(decision: Decision): GateVerdict {
  if (!isBlocked(decision)) return { allowed: true };
  return { allowed: false, reasonCode: decision.reasonCode, message: decision.message };
}

/** G4 on what came back; an end without a result has nothing to withhold. Secrets of known form are redacted. */
function judge(gate: PolicyGate, call: PolicyGateCall, outcome: ToolCallOutcome): GateVerdict {
  if (!('result' in outcome) || outcome.result === undefined) return { allowed: true };
  const result = redactValue(outcome.result) as ToolResult;
  // What a failed tool says is shown to the model as an error, never taken for an answer.
  if (outcome.kind === 'tool_error') return { allowed: true, result };
  const verdict = gate.checkOutput(call, outcome.result);
  if (verdict.accepted) return { allowed: true, result };
  return { allowed: false, reasonCode: verdict.reasonCode, message: verdict.message };
}
