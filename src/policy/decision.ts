/** What the gate decides, in TypeScript and on the wire. */
import { ObservatoryError, type SnakeKeys, snakeKeys } from '../base/index.ts';
import { type Gate, gateOf, type ReasonCode } from './reasons/index.ts';
import type { ArgumentSource } from './sources/index.ts';

export type DecisionKind = 'allow' | 'deny' | 'require_approval';

/** One decision about one call. `decision` is always what the policy says, whether it is enforced or not. */
export interface Decision {
  readonly decision: DecisionKind;
  /** `shadow`: the decision is recorded and not enforced. */
  readonly enforcement: 'enforced' | 'shadow';
  /** True when enforcing the decision stops the call. */
  readonly wouldBlock: boolean;
  readonly reasonCode: ReasonCode;
  /** The gate the reason belongs to. */
  readonly gate: Gate;
  /** For people. Holds no argument values. */
  readonly message: string;
  readonly ruleIds: readonly string[];
  /** SHA-256 of the policy that decided; null when there is no usable one. */
  readonly policyHash: string | null;
  /** SHA-256 of the tool definition the decision is about; null when there is none. */
  readonly toolHash: string | null;
  /** SHA-256, or HMAC-SHA-256 with a key, of the canonical arguments; null when they cannot be written as JSON. */
  readonly argsDigest: string | null;
  /** Where each string and number came from, where the policy has words about it. Holds no argument values. */
  readonly sources?: readonly ArgumentSource[] | undefined;
  /** The effect of the call, where the policy lets it happen once. */
  readonly effect?: EffectNote | undefined;
  /** Time the decision took, in microseconds. */
  readonly latencyUs: number;
}

/** An effect that is done at most once. Holds no argument values. */
export interface EffectNote {
  /** As the policy names it: `refund:{payment_id}`. */
  readonly name: string;
  /** SHA-256 of the name and the arguments in it, hex. */
  readonly key: string;
  /** How the effect stood, if it could not be done. */
  readonly state?: 'done' | 'running' | 'unknown' | undefined;
}

/** Why a call, a plan, a tool or a result is refused. */
export interface Refusal {
  readonly reasonCode: ReasonCode;
  /** For people. Holds no argument values. */
  readonly message: string;
}

export function refusal(reasonCode: ReasonCode, message: string): Refusal {
  return { reasonCode, message };
}

/** The wire form of {@link Decision}. */
export type WireDecision = SnakeKeys<Decision>;

/** True when the call must not be made. */
export function isBlocked(decision: Decision): boolean {
  return decision.enforcement === 'enforced' && decision.decision !== 'allow';
}

/** The wire form. Only names are converted; values, which may be user data, are left alone. */
export function decisionToWire(decision: Decision): WireDecision {
  return snakeKeys(decision);
}

/** The decision with another outcome, for a reason found later. */
export function revise(
  decision: Decision,
  kind: DecisionKind,
  reasonCode: ReasonCode,
  message: string,
  ruleIds?: readonly string[],
): Decision {
  const wouldBlock = kind !== 'allow';
  return {
    ...decision,
    decision: kind,
    wouldBlock,
    reasonCode,
    gate: gateOf(reasonCode),
    message,
    ruleIds: ruleIds ?? decision.ruleIds,
  };
}

/** A denial that is enforced in shadow mode too, because it does not come from a rule under trial. */
export function refused(decision: Decision, reasonCode: ReasonCode, message: string): Decision {
  return { ...revise(decision, 'deny', reasonCode, message), enforcement: 'enforced' };
}

/** What a decision becomes when it cannot be recorded: a denial keeps its reason, anything else is denied for this reason. */
export function withoutRecord(decision: Decision): Decision {
  if (isBlocked(decision)) return decision;
  return refused(decision, 'audit_unavailable', 'The decision could not be recorded');
}

/** A call or its result was refused by the gate. `code` is `POLICY_DENIED`. */
export class PolicyDeniedError extends ObservatoryError {
  readonly reasonCode: ReasonCode;
  /** Why, for people. Holds no argument values. */
  readonly reason: string;
  readonly gate: Gate;
  readonly server: string;
  readonly tool: string;
  /** The decision about the call, also where it is the result that was refused; absent for a way around the gate. */
  readonly decision: Decision | undefined;

  constructor(server: string, tool: string, { reasonCode, message }: Refusal, decision?: Decision) {
    super('POLICY_DENIED', `${server}/${tool} is refused (${reasonCode}): ${message}`);
    this.name = 'PolicyDeniedError';
    this.reasonCode = reasonCode;
    this.reason = message;
    this.gate = gateOf(reasonCode);
    this.server = server;
    this.tool = tool;
    this.decision = decision;
  }
}
