/**
 * The only place where a gated call is decided, recorded, made and judged. `mcpGhost`, `gateClient` and `PolicyHost` all
 * come through it; they differ in `invoke`, which makes the call and gives the server's raw result.
 */
import type { Span } from '@opentelemetry/api';
import type { ObservatoryError } from '../base/index.ts';
import { attributeOf } from '../base/index.ts';
import { type JsonObject, redactValue } from '../json/index.ts';
import type { AuditRun } from './audit.ts';
import { type Decision, decisionToWire, isBlocked, PolicyDeniedError, withoutRecord } from './decision.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import { judgeOutput, type OutputVerdict, outputValue } from './output.ts';
import type { OutputContract } from './output-contract.ts';
import type { Gate, ReasonCode } from './reasons/index.ts';
import { addGateEvent, inGateSpan, setDecision, setFallback } from './telemetry.ts';

export interface GuardedCallOptions {
  readonly gate: PolicyGate;
  /** Where the call is recorded. Without it nothing is, and no call is denied because it cannot be recorded. */
  readonly audit?: AuditRun | undefined;
  /** Called with the time the decision (`G3`) and the check of the result (`G4`) took, in microseconds. */
  readonly onGate?: ((gate: Gate, micros: number) => void) | undefined;
  /** Gives the gate the server's tools as they are now, before the call is decided. */
  readonly refresh?: (() => Promise<void>) | undefined;
}

/** A call that was made and whose result may be handed on. */
export interface GuardedResult {
  readonly decision: Decision;
  /** Not accepted for a result with `isError`, and in shadow mode. */
  readonly verdict: OutputVerdict;
  /**
   * The `CallToolResult`, secrets redacted. That of an untyped tool, or with `isError`, is cut to size and marked
   * untrusted in its `_meta`.
   */
  readonly result: unknown;
}

/** What is recorded of a call that was made. */
type Outcome = 'accepted' | 'tool_error' | 'withheld' | 'failed';

/** Longest tool name on a span. A planner can ask for a tool of any name. */
const MAX_NAME = 256;

/**
 * Makes a call if the gate allows it.
 * @param invoke calls the server and gives its `CallToolResult`. It is run at most once.
 * @throws PolicyDeniedError when the call or its result is refused.
 * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the call could not be recorded; it is then not made.
 * @throws what `invoke` and `refresh` throw.
 */
export async function guardedCall(
  call: GateCall,
  invoke: () => Promise<unknown>,
  options: GuardedCallOptions,
): Promise<GuardedResult> {
  return inGateSpan(`policy_gate ${call.tool.slice(0, MAX_NAME)}`, async (span) => {
    const { decision, contract } = await decide(call, options, span);
    if (isBlocked(decision)) throw new PolicyDeniedError(call.server, call.tool, decision, decision);
    const started = performance.now();
    const finish = (outcome: Outcome, fields: JsonObject): void =>
      options.audit?.record('call_finished', {
        server: call.server,
        tool: call.tool,
        outcome,
        duration_ms: Math.round(performance.now() - started),
        ...fields,
      });
    let raw: unknown;
    try {
      raw = await invoke();
    } catch (cause) {
      finish('failed', { error_type: nameOf(cause) });
      setFailed(span, 'tool_failed');
      throw cause;
    }
    const arrived = performance.now();
    const { verdict, result } = judgeOutput(raw, call.args, contract);
    options.onGate?.('G4', (performance.now() - arrived) * 1_000);
    const reason_code = verdict.accepted ? 'output_accepted' : verdict.reasonCode;
    const isError = reason_code === 'output_is_error';
    finish(verdict.accepted ? 'accepted' : isError ? 'tool_error' : 'withheld', { reason_code });
    if (isError) setFailed(span, reason_code);
    else if (!verdict.accepted && isWithheld(decision, verdict.reasonCode)) {
      addGateEvent(span, 'stop', reason_code);
      setFallback(span, 'template');
      span.setAttribute(attributeOf('policy_reason'), reason_code);
      throw new PolicyDeniedError(call.server, call.tool, verdict, decision);
    } else addGateEvent(span, 'pass', reason_code);
    return redacted(decision, verdict, result);
  });
}

/** Shadow mode hands on what fails its type, not what is no tool result at all. */
function isWithheld(decision: Decision, reason: ReasonCode): boolean {
  return decision.enforcement === 'enforced' || reason === 'output_malformed';
}

/** Secrets are redacted here and nowhere else, after the size was checked. */
function redacted(decision: Decision, verdict: OutputVerdict, raw: unknown): GuardedResult {
  const result = redactValue(raw);
  if (!verdict.accepted) return { decision, verdict, result };
  return { decision, verdict: { ...verdict, value: outputValue(result as JsonObject) }, result };
}

interface Decided {
  readonly decision: Decision;
  readonly contract: OutputContract | undefined;
}

/** Decides, on the definitions as they are now, and records what was decided and that the call begins. */
async function decide(call: GateCall, options: GuardedCallOptions, span: Span): Promise<Decided> {
  const { gate, audit } = options;
  const { server, tool } = call;
  try {
    await options.refresh?.();
  } catch (cause) {
    audit?.record('call_finished', { server, tool, outcome: 'not_made', error_type: nameOf(cause) });
    throw cause;
  }
  let contract: OutputContract | undefined;
  const decision = await gate.authorize(call, (decided) => {
    contract = gate.outputContract(call);
    options.onGate?.('G3', decided.latencyUs);
    setDecision(span, tool.slice(0, MAX_NAME), decided, gate.riskTierOf(decided));
    if (audit === undefined) return;
    try {
      recordDecision(audit, call, decided, span);
    } catch (cause) {
      const ending = withoutRecord(decided);
      if (ending !== decided) setDecision(span, tool.slice(0, MAX_NAME), ending, gate.riskTierOf(ending));
      throw cause;
    }
  });
  return { decision, contract };
}

function recordDecision(audit: AuditRun, call: GateCall, decision: Decision, span: Span): void {
  const { server, tool, caller } = call;
  audit.record('call_decided', { server, tool, caller, ...decisionToWire(decision) });
  span.addEvent('observatory.audit_head', {
    'observatory.audit_run': audit.id,
    'observatory.audit_head': audit.head,
  });
  if (isBlocked(decision)) return;
  const { toolHash: tool_hash, argsDigest: args_digest } = decision;
  audit.record('call_started', { server, tool, tool_hash, args_digest });
}

/** The tool did not do its work. The gate stopped nothing. */
function setFailed(span: Span, reason: ReasonCode): void {
  addGateEvent(span, 'stop', reason);
  setFallback(span, 'template');
  span.setAttributes({
    [attributeOf('fallback_reason')]: 'tool_error',
    [attributeOf('gate_blocked')]: false,
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

/** The refusal of a way around the gate. */
export function refuseBypass(server: string, what: string): ObservatoryError {
  return new PolicyDeniedError(server, what, {
    reasonCode: 'bypass_refused',
    message: `'${what}' of a gated client would go around the gate`,
  });
}
