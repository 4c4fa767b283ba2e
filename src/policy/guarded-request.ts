/** Everything of MCP but tool calls, through the same guarded call. */

import { checkOptions, kinds, type OptionKinds, required } from '../base/index.ts';
import { type JsonObject, readObject } from '../json/index.ts';
import type { ServerRequestGuard } from '../mcp-client/index.ts';
import { type AuditLog, type AuditRun, auditRun } from './audit/index.ts';
import { decisionToWire, isBlocked } from './decision.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import { guardedCall } from './guarded-call.ts';
import { A_GATE, A_LOG_OR_RUN } from './option-kinds.ts';
import type { RequestMethod, ServerRequestMethod } from './requests.ts';

export interface RequestGuardOptions {
  readonly gate: PolicyGate;
  /** Where requests are recorded: a run, or a log in which each request of a server is a run of its own. */
  readonly audit?: AuditRun | AuditLog | undefined;
  /** What the requests have in common, such as the caller. @defaultValue the id of the run */
  readonly context?: (() => Partial<GateCall>) | undefined;
}

const OPTIONS: OptionKinds<RequestGuardOptions> = {
  gate: required(A_GATE),
  audit: A_LOG_OR_RUN,
  context: kinds.function,
};

/**
 * Makes a request, or answers one of a server, if the policy allows it.
 * @throws PolicyDeniedError when the request or its answer is refused.
 */
export async function guardedRequest(
  server: string,
  method: RequestMethod,
  params: JsonObject,
  act: () => Promise<unknown>,
  { gate, audit, context }: RequestGuardOptions,
): Promise<JsonObject> {
  if (audit !== undefined && 'startRun' in audit) {
    const one = (run: AuditRun | undefined) =>
      guardedRequest(server, method, params, act, { gate, audit: run, context });
    return await auditRun(
      audit,
      { server, method },
      one,
      () => ({ result: 'answered' }),
      (answer) => answer,
    );
  }
  const call: GateCall = { runId: audit?.id, ...context?.(), server, tool: method, method, args: params };
  return readObject((await guardedCall(call, act, { gate, audit })).result);
}

/** Decides about what servers ask of the host: the `guard` of `connectPolicyServers` and of a connection. */
export function serverRequestGuard(options: RequestGuardOptions): ServerRequestGuard {
  checkOptions(options, OPTIONS, 'serverRequestGuard()');
  return (server, method, params, answer) =>
    guardedRequest(server, method as ServerRequestMethod, params, answer, options);
}

/**
 * Whether a server's instructions may reach a model. Its decision is recorded; there is no call and no span. A server
 * none of whose tools is allowed has nothing to instruct about.
 */
export function mayInstruct(server: string, { gate, audit, context }: RequestGuardOptions): boolean {
  const method = 'instructions';
  const decision = gate.evaluate({ ...context?.(), server, tool: method, method, args: {} });
  if (audit !== undefined && 'record' in audit)
    audit.record('call_decided', { server, tool: method, method, ...decisionToWire(decision) });
  return !isBlocked(decision);
}
