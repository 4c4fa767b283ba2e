/**
 * The only place where a gated call is decided, recorded, made and judged. `mcpGhost`, `gateClient` and `PolicyHost` all
 * come through it; they differ in `invoke`, which makes the call and gives the server's raw result.
 */

import type { Span } from '@opentelemetry/api';
import type { ObservatoryError } from '../base/index.ts';
import {
  checkKinds,
  checkOptions,
  kinds,
  type OptionKinds,
  required,
  sliced,
  takeInSlices,
  toAttribute,
} from '../base/index.ts';
import { attachInteraction } from '../interaction/index.ts';
import { type JsonObject, redactLargeValue } from '../json/index.ts';
import type { AuditRun, KeptContent, RecordContent } from './audit/index.ts';
import {
  type Decision,
  decisionToWire,
  isBlocked,
  PolicyDeniedError,
  refusal,
  withoutRecord,
} from './decision.ts';
import { findTemplate } from './evaluate.ts';
import type { GateFinding } from './findings.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import { A_GATE, AN_AUDIT_RUN } from './option-kinds.ts';
import { type JudgedOutput, judgeAnswer, judgeOutput, type OutputVerdict, outputValue } from './output.ts';
import type { OutputContract } from './output-contract.ts';
import type { Redact } from './policy-file.ts';
import type { Gate, ReasonCode } from './reasons/index.ts';
import { isUnanswered, type ReadTool, type Reservation } from './reservations.ts';
import { addGateEvent, inGateSpan, setDecision, setFallback } from './telemetry.ts';

export interface GuardedCallOptions {
  readonly gate: PolicyGate;
  /** Where the call is recorded. Without it nothing is, and no call is denied because it cannot be recorded. */
  readonly audit?: AuditRun | undefined;
  /** Called with the time the decision (`G3`) and the check of the result (`G4`) took, in microseconds. */
  readonly onGate?: ((gate: Gate, micros: number) => void) | undefined;
  /** Gives the gate the server's tools as they are now, before the call is decided. */
  readonly refresh?: (() => Promise<void>) | undefined;
  /** Calls another tool of the same server and gives its `CallToolResult`: how a policy reconciles effects. */
  readonly read?: ReadTool | undefined;
}

const OPTIONS: OptionKinds<GuardedCallOptions> = {
  gate: required(A_GATE),
  audit: AN_AUDIT_RUN,
  onGate: kinds.function,
  refresh: kinds.function,
  read: kinds.function,
};
/** What else a call has is for the policy to judge. */
const CALL = { server: required(kinds.string), tool: required(kinds.string) };

/** A call that was made and whose result may be handed on. */
export interface GuardedResult {
  readonly decision: Decision;
  /** Not accepted for a result with `isError`, for one that does not fit its server's type, and in shadow mode. */
  readonly verdict: OutputVerdict;
  /**
   * The `CallToolResult`. That of an untyped tool, with `isError`, or that does not fit its server's type is cut to size and marked untrusted in its
   * `_meta`; the policy's `redact` says whether it loses its secrets (by default), or those of typed tools do too.
   */
  readonly result: unknown;
  /** Why the outcome of the call is not on record yet. The call was made all the same; the next one waits for it. */
  readonly auditProblem?: ObservatoryError | undefined;
}

/** What is recorded of a call that was made. */
type Outcome = 'accepted' | 'untrusted' | 'tool_error' | 'withheld' | 'failed' | 'unknown';

/** Longest tool name on a span. A planner can ask for a tool of any name. */
const MAX_NAME = 256;

/**
 * Makes a call if the gate allows it.
 * @param invoke calls the server, with the arguments given to it, and gives its `CallToolResult`. It is run at most once
 * and also receives the decision.
 * @throws PolicyDeniedError when the call or its result is refused.
 * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the call could not be recorded; it is then not made. A call that was
 * made is never told by this error: if its outcome cannot be recorded, the result says so (`auditProblem`).
 * @throws what `invoke` and `refresh` throw.
 */
export async function guardedCall(
  given: GateCall,
  invoke: (args: JsonObject, decision: Decision) => Promise<unknown>,
  options: GuardedCallOptions,
): Promise<GuardedResult> {
  checkOptions(options, OPTIONS, 'guardedCall()');
  checkKinds(given, CALL, 'guardedCall(), of the call,');
  const call = options.gate.ledger.complete(given);
  return inGateSpan(`policy_gate ${call.tool.slice(0, MAX_NAME)}`, async (span) => {
    span.setAttribute('observatory.mcp_server', call.server.slice(0, MAX_NAME));
    const { decision, contract, decided, reservation } = await decide(call, options, span);
    if (isBlocked(decision)) {
      // The call has no other span that could tell what was asked for.
      attachInteraction(span, { toolArguments: call.args });
      throw new PolicyDeniedError(call.server, call.tool, decision, decision);
    }
    const started = performance.now();
    const finish = (outcome: Outcome, fields: JsonObject, kept?: KeptContent): void => {
      const { server, tool, method } = call;
      const duration_ms = Math.round(performance.now() - started);
      const about = { server, tool, method, decided, outcome, duration_ms, ...fields };
      options.audit?.settle('call_finished', about, kept);
      if (options.audit?.problem !== undefined) span.addEvent('observatory.audit_problem');
    };
    const turn = sliced();
    let raw: unknown;
    try {
      raw = await invoke(call.args, decision);
      await reservation?.settleBy(raw);
    } catch (cause) {
      await reservation?.settle('unknown');
      finish(isUnanswered(cause) ? 'unknown' : 'failed', { error_type: readName(cause) });
      setFailed(span, 'tool_failed');
      throw cause;
    }
    // A large result was just parsed; judging and redacting it may each take as long.
    await turn();
    const arrived = performance.now();
    const { verdict, result } = await judge(call, raw, contract);
    options.onGate?.('G4', (performance.now() - arrived) * 1_000);
    const reason_code = verdict.accepted ? 'output_accepted' : verdict.reasonCode;
    const isError = reason_code === 'output_is_error';
    const kept = await options.audit?.keep(() => ({ data: { result: raw } }));
    finish(toOutcome(verdict), { reason_code }, kept);
    if (isError) setFailed(span, reason_code);
    else if (!verdict.accepted && isWithheld(decision, verdict)) {
      addGateEvent(span, 'stop', reason_code);
      setFallback(span, 'template');
      span.setAttribute(toAttribute('policy_reason'), reason_code);
      throw new PolicyDeniedError(call.server, call.tool, verdict, decision);
    } else addGateEvent(span, 'pass', reason_code);
    await turn();
    const guarded = await redacted(decision, verdict, result, contract?.redact ?? 'untyped');
    // What a server says of an error is no value of a field.
    if (!isError) await options.gate.rememberResult(call, guarded.result);
    const auditProblem = options.audit?.problem;
    return auditProblem === undefined ? guarded : { ...guarded, auditProblem };
  });
}

/**
 * Decides and records a call that somebody else makes, whose result does not come through here.
 * @returns the decision if the call must not be made; undefined when it may.
 * @throws ObservatoryError `AUDIT_UNAVAILABLE` when it could not be recorded; it must then not be made.
 */
export async function guardedDecision(
  call: GateCall,
  options: GuardedCallOptions,
): Promise<Decision | undefined> {
  return inGateSpan(`policy_gate ${call.tool.slice(0, MAX_NAME)}`, async (span) => {
    span.setAttribute('observatory.mcp_server', call.server.slice(0, MAX_NAME));
    const { decision } = await decide(call, options, span);
    if (isBlocked(decision)) return decision;
    await options.gate.ledger.of(decision)?.settle('unknown');
    await options.gate.rememberResult(call, undefined);
    return undefined;
  });
}

async function judge(
  call: GateCall,
  raw: unknown,
  contract: OutputContract | undefined,
): Promise<JudgedOutput> {
  if (call.method !== undefined) return judgeAnswer(raw, contract);
  return await takeInSlices(judgeOutput(raw, call.args, contract));
}

function toOutcome(verdict: OutputVerdict): Outcome {
  if (verdict.accepted) return 'accepted';
  if (verdict.isHandedOn === true) return 'untrusted';
  return verdict.reasonCode === 'output_is_error' ? 'tool_error' : 'withheld';
}

/** Shadow mode hands on what fails its type, not an answer that is no object at all. */
function isWithheld(decision: Decision, verdict: OutputVerdict & { readonly accepted: false }): boolean {
  if (verdict.isHandedOn === true) return false;
  return decision.enforcement === 'enforced' || verdict.reasonCode === 'output_malformed';
}

/** Secrets are redacted here and nowhere else, after the size was checked, where the policy says so. */
async function redacted(
  decision: Decision,
  verdict: OutputVerdict,
  raw: unknown,
  redact: Redact,
): Promise<GuardedResult> {
  if (!isRedacted(verdict, redact)) return { decision, verdict, result: raw };
  const result = await redactLargeValue(raw);
  if (!verdict.accepted) return { decision, verdict, result };
  return { decision, verdict: { ...verdict, value: outputValue(result as JsonObject) }, result };
}

/** Whether a result loses its secrets. @param redact what the contract of the call says. @defaultValue untyped results do */
export function isRedacted(verdict: OutputVerdict, redact: Redact = 'untyped'): boolean {
  return redact === 'always' || (redact === 'untyped' && !isVouchedFor(verdict));
}

/** Whether the tool has an output type and did not report an error. In shadow mode the result need not fit the type. */
function isVouchedFor(verdict: OutputVerdict): boolean {
  if (verdict.accepted) return verdict.isTyped;
  if (verdict.isHandedOn === true) return false;
  return verdict.reasonCode !== 'output_is_error' && verdict.reasonCode !== 'output_untyped';
}

interface Decided {
  readonly decision: Decision;
  readonly contract: OutputContract | undefined;
  /** Number of the record of the decision. */
  readonly decided: number | undefined;
  readonly reservation: Reservation | undefined;
}

/** Decides, on the definitions as they are now, and records what was decided and that the call begins. */
async function decide(call: GateCall, options: GuardedCallOptions, span: Span): Promise<Decided> {
  const { gate, audit } = options;
  const { server, tool } = call;
  try {
    await options.refresh?.();
  } catch (cause) {
    audit?.settle('call_finished', { server, tool, outcome: 'not_made', error_type: readName(cause) });
    throw cause;
  }
  let contract: OutputContract | undefined;
  let seq: number | undefined;
  const record = (decided: Decision): void => {
    contract = gate.outputContract(call);
    recordFindings(gate, audit);
    options.onGate?.('G3', decided.latencyUs);
    setDecision(span, tool.slice(0, MAX_NAME), decided, gate.riskTierOf(decided));
    if (audit === undefined) return;
    try {
      seq = recordDecision(gate, audit, call, decided, span);
    } catch (cause) {
      const ending = withoutRecord(decided);
      if (ending !== decided) setDecision(span, tool.slice(0, MAX_NAME), ending, gate.riskTierOf(ending));
      throw cause;
    }
  };
  const decision = await gate.authorize(call, record, makeReader(call, options));
  return { decision, contract, decided: seq, reservation: gate.ledger.of(decision) };
}

/** Calls the tools that tell of effects, through the gate like any other call. */
function makeReader(call: GateCall, options: GuardedCallOptions): ReadTool | undefined {
  const { read, gate, audit } = options;
  if (read === undefined) return undefined;
  return async (tool, args) => {
    const asked = { ...call, tool, args, approvalToken: undefined };
    return (await guardedCall(asked, (sent) => read(tool, sent), { gate, audit })).result;
  };
}

const recorded = new WeakMap<AuditRun, readonly GateFinding[]>();

/** Records, once per run, what an operator should look at. */
export function recordFindings(gate: PolicyGate, audit: AuditRun | undefined): void {
  const { findings } = gate;
  if (audit === undefined) return;
  const before = recorded.get(audit) ?? [];
  if (findings === before) return;
  recorded.set(audit, findings);
  const known = new Set(before.map(({ message }) => message));
  for (const { kind, server, tool, ruleId: rule_id, message } of findings) {
    if (!known.has(message)) audit.settle('gate_finding', { kind, server, tool, rule_id, message });
  }
}

/** @returns the number of the record. */
function recordDecision(
  gate: PolicyGate,
  audit: AuditRun,
  call: GateCall,
  decision: Decision,
  span: Span,
): number {
  const { server, tool, method, caller } = call;
  const kept = audit.keepNow(() => contentOfCall(gate, call));
  const seq = audit.nextSeq;
  audit.record('call_decided', { server, tool, method, caller, ...decisionToWire(decision) }, kept);
  span.addEvent('observatory.audit_head', {
    'observatory.audit_run': audit.id,
    'observatory.audit_head': audit.head,
  });
  if (isBlocked(decision)) return seq;
  const { toolHash: tool_hash, argsDigest: args_digest } = decision;
  audit.record('call_started', { server, tool, method, decided: seq, tool_hash, args_digest });
  return seq;
}

/** What the decision about a call was made from. */
function contentOfCall(gate: PolicyGate, call: GateCall): RecordContent {
  const { server, tool, method, args, userRequest: user_request } = call;
  const listed = method === undefined ? { [`${server}/${tool}`]: gate.listing(call) } : {};
  return {
    data: { args, user_request, prompt_template_id: findTemplate(call) },
    grounds: { policy: gate.policySource, ...listed },
  };
}

/** The tool did not do its work. The gate stopped nothing. */
function setFailed(span: Span, reason: ReasonCode): void {
  addGateEvent(span, 'stop', reason);
  setFallback(span, 'template');
  span.setAttributes({
    [toAttribute('fallback_reason')]: 'tool_error',
    [toAttribute('gate_blocked')]: false,
  });
}

function readName(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}

export function refuseBypass(server: string, what: string): ObservatoryError {
  const message = `'${what}' of a gated client would go around the gate`;
  return new PolicyDeniedError(server, what, refusal('bypass_refused', message));
}
