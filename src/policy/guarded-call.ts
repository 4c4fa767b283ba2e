/**
 * The one place where a gated call is made: decide, write it down, call, judge the result, write that down.
 * `gateClient`, `PolicyHost` and the orchestrator all come through here.
 */
import type { Span } from '@opentelemetry/api';
import type { ObservatoryError } from '../base/index.ts';
import { attributeOf } from '../base/index.ts';
import { redactValue } from '../json/index.ts';
import type { AuditRun } from './audit.ts';
import { type Decision, decisionToWire, isBlocked, PolicyDeniedError } from './decision.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import type { OutputVerdict } from './output.ts';
import type { Gate } from './reasons.ts';
import { withoutRecord } from './settle.ts';
import { addGateEvent, inGateSpan, setDecision, setFallback } from './telemetry.ts';

export interface GuardedCallOptions {
  readonly gate: PolicyGate;
  /** Where the call is recorded. Without it nothing is, and nothing can be denied for want of a record. */
  readonly audit?: AuditRun | undefined;
  /** Told what the decision (as `G3`) and the check of the result (`G4`) took, in microseconds. */
  readonly onGate?: ((gate: Gate, micros: number) => void) | undefined;
  /** Lists the server's tools again before the call, so that a definition that changed is seen. */
  readonly refresh?: (() => Promise<void>) | undefined;
}

/** What came of a call that was made. */
export interface GuardedResult {
  readonly decision: Decision;
  readonly verdict: OutputVerdict;
  /** The raw result, secrets redacted; only when it was accepted, or in shadow mode. */
  readonly result: unknown;
}

/**
 * Makes a call if the gate allows it.
 * @param invoke calls the server. It is run at most once.
 * @throws PolicyDeniedError when the call or its result is refused.
 * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the call could not be recorded; it is then not made.
 */
export async function guardedCall(
  call: GateCall,
  invoke: () => Promise<unknown>,
  options: GuardedCallOptions,
): Promise<GuardedResult> {
  return inGateSpan(`policy_gate ${call.tool}`, async (span) => {
    const decision = await decide(call, options, span);
    const { server, tool } = call;
    if (isBlocked(decision)) {
      throw new PolicyDeniedError(server, tool, decision, decision);
    }
    const started = performance.now();
    let raw: unknown;
    try {
      raw = await invoke();
    } catch (cause) {
      recordEnd(options.audit, call, started, 'failed', {
        error_type: cause instanceof Error ? cause.name : 'unknown',
      });
      addGateEvent(span, 'stop', 'tool_failed');
      setFallback(span, 'template');
      span.setAttribute(attributeOf('fallback_reason'), 'tool_error');
      throw cause;
    }
    const arrived = performance.now();
    const verdict = options.gate.checkOutput(call, raw);
    options.onGate?.('G4', (performance.now() - arrived) * 1_000);
    const reason = verdict.accepted ? 'output_accepted' : verdict.reasonCode;
    recordEnd(options.audit, call, started, verdict.accepted ? 'accepted' : 'withheld', {
      reason_code: reason,
    });
    const isStopped = !verdict.accepted && decision.enforcement === 'enforced';
    addGateEvent(span, isStopped ? 'stop' : 'pass', reason);
    if (isStopped) {
      setFallback(span, 'template');
      span.setAttribute(attributeOf('policy_reason'), reason);
      throw new PolicyDeniedError(server, tool, verdict, decision);
    }
    return { decision, verdict: redacted(verdict), result: redactValue(raw) };
  });
}

/** Decides, on the definitions as they are now, and records what was decided and that the call begins. */
async function decide(call: GateCall, options: GuardedCallOptions, span: Span): Promise<Decision> {
  const { gate, audit } = options;
  try {
    await options.refresh?.();
  } catch (cause) {
    const error_type = cause instanceof Error ? cause.name : 'unknown';
    audit?.record('call_finished', { server: call.server, tool: call.tool, outcome: 'not_made', error_type });
    throw cause;
  }
  return gate.authorize(call, (decision) => {
    options.onGate?.('G3', decision.latencyUs);
    setDecision(span, call.tool, decision, gate.riskTierOf(decision));
    if (audit === undefined) return;
    try {
      recordDecision(audit, call, decision, span);
    } catch (cause) {
      const ending = withoutRecord(decision);
      if (ending !== decision) setDecision(span, call.tool, ending, gate.riskTierOf(ending));
      throw cause;
    }
  });
}

function recordDecision(audit: AuditRun, call: GateCall, decision: Decision, span: Span): void {
  const { server, tool } = call;
  audit.record('call_decided', { server, tool, ...decisionToWire(decision) });
  span.addEvent('observatory.audit_head', {
    'observatory.audit_run': audit.id,
    'observatory.audit_head': audit.head,
  });
  if (isBlocked(decision)) return;
  const { toolHash: tool_hash, argsDigest: args_digest } = decision;
  audit.record('call_started', { server, tool, tool_hash, args_digest });
}

function recordEnd(
  audit: AuditRun | undefined,
  call: GateCall,
  started: number,
  outcome: 'accepted' | 'withheld' | 'failed',
  fields: Readonly<Record<string, unknown>>,
): void {
  const duration = Math.round(performance.now() - started);
  audit?.record('call_finished', {
    server: call.server,
    tool: call.tool,
    outcome,
    duration_ms: duration,
    ...fields,
  });
}

function redacted(verdict: OutputVerdict): OutputVerdict {
  if (!verdict.accepted) return verdict;
  return { accepted: true, value: redactValue(verdict.value) as typeof verdict.value };
}

/** The refusal of a way around the gate. */
export function refuseBypass(server: string, what: string): ObservatoryError {
  return new PolicyDeniedError(server, what, {
    reasonCode: 'bypass_refused',
    message: `'${what}' of a gated client would go around the gate`,
  });
}
