/** Calls that the ledger of a gate counts, or lets happen once: from before they are decided until their outcome is known. */
import { randomUUID } from 'node:crypto';
import { diag, trace } from '@opentelemetry/api';
import { type ApprovalLimits, approvalLimits } from '../approvals/index.ts';
import { errorMessage, isDoneWithin, semconv } from '../base/index.ts';
import { isObject, type JsonObject, readObject } from '../json/index.ts';
import type { PostgresConnection } from '../postgres/index.ts';
import { type Decision, type Refusal, revise } from './decision.ts';
import type { GateApprovals, GateCall, PolicyGateOptions } from './gate-types.ts';
import { decideHeldCall } from './held-call.ts';
import {
  type CallLedger,
  type EarlierEffect,
  type LedgerOutcome,
  type LedgerWitness,
  MemoryLedger,
} from './ledger/index.ts';
import type { CallPlan } from './ledger-words.ts';
import { readReconcile, reconcileArgs } from './once.ts';
import type { Policy } from './policy.ts';
import type { PostgresLedger } from './postgres-ledger.ts';
import { toRun } from './run-sources.ts';

/** Calls another tool of the same server, under the same gate. @returns its result. */
export type ReadTool = (tool: string, args: JsonObject) => Promise<unknown>;

/** What a reservation needs of its gate. */
interface Reserving {
  readonly ledger: CallLedger;
  readonly approvals: GateApprovals | undefined;
  readonly limits: ApprovalLimits;
  /** Decides the call again, by what is in force now. */
  readonly evaluate: () => Decision;
  readonly read: ReadTool | undefined;
}

function isLedger(given: PostgresConnection | CallLedger): given is CallLedger {
  return typeof given === 'object' && 'reserve' in given;
}

const NO_PLAN: CallPlan = {
  request: { caller: '', server: '', tool: '', quiet_ms: 0, takes: [] },
  whyNot: [],
  once: undefined,
};

/** Longest wait for the ledger to note an outcome. The result of the call waits as long. */
const SETTLE_MS = 5_000;

/** The ledger of a gate. Nothing is opened for a policy without words about earlier calls. */
export class GateLedger {
  readonly #options: PolicyGateOptions;
  readonly #policy: () => Policy | undefined;
  #ledger: CallLedger | undefined;
  #own: LaterLedger | undefined;
  /** A call that names no run is of this one. */
  readonly #run = randomUUID();
  readonly #kept = new WeakMap<Decision, Reservation>();

  constructor(options: PolicyGateOptions, policy: () => Policy | undefined) {
    this.#options = options;
    this.#policy = policy;
  }

  /** The call with the key of its effect, for a tool that takes one. */
  complete(call: GateCall): GateCall {
    const words = this.#policy()?.ledger;
    if (words === undefined || call.method !== undefined || !isObject(call.args)) return call;
    const args = words.complete(call.server, call.tool, call.args);
    return args === call.args ? call : { ...call, args };
  }

  /** What a call has to reserve; undefined for nothing. */
  open(
    call: GateCall,
    decision: Decision,
    evaluate: () => Decision,
    read: ReadTool | undefined,
  ): Reservation | undefined {
    const policy = this.#policy();
    const isNone = policy?.ledger === undefined || call.method !== undefined;
    if (isNone || decision.decision === 'deny') return undefined;
    const { server, tool, args, caller = '' } = call;
    const run = toRun(call) || this.#run;
    const { argsDigest: digest, ruleIds, reasonCode } = decision;
    const allowedBy = reasonCode === 'allowed' ? ruleIds : undefined;
    const plan = policy.ledger.planOf({ server, tool, args, caller, run, digest, allowedBy });
    if (plan === undefined) return undefined;
    const limits = approvalLimits(policy.document.approval);
    const { approvals } = this.#options;
    return new Reservation(call, plan, { ledger: this.#find(), approvals, limits, evaluate, read });
  }

  keep(decision: Decision, reservation: Reservation): void {
    this.#kept.set(decision, reservation);
  }

  of(decision: Decision): Reservation | undefined {
    return this.#kept.get(decision);
  }

  close(): void {
    this.#own?.close();
  }

  /** The one given, that of the approvals, that of `MCP_OBSERVATORY_DATABASE_URL`, else one in memory. */
  #find(): CallLedger {
    if (this.#ledger !== undefined) return this.#ledger;
    const { ledger, approvals } = this.#options;
    const own = process.env.MCP_OBSERVATORY_DATABASE_URL?.trim() || undefined;
    const given = ledger ?? approvals?.queue.connection ?? own;
    if (given === undefined) this.#ledger = new MemoryLedger();
    else if (isLedger(given)) this.#ledger = given;
    else {
      this.#own = openLater(given);
      this.#ledger = this.#own;
    }
    return this.#ledger;
  }
}

interface LaterLedger extends CallLedger {
  readonly close: () => void;
}

/** A ledger whose driver is loaded with the first call that needs it. */
function openLater(place: PostgresConnection): LaterLedger {
  let opened: Promise<PostgresLedger> | undefined;
  const open = (): Promise<PostgresLedger> => {
    opened ??= (async () => new (await import('./postgres-ledger.ts')).PostgresLedger(place))();
    return opened;
  };
  return {
    find: async (key) => (await open()).find(key),
    reserve: async (request) => (await open()).reserve(request),
    settle: async (...outcome) => (await open()).settle(...outcome),
    resolve: async (...said) => (await open()).resolve(...said),
    close: () => void opened?.then((one) => one.close()).catch(() => undefined),
  };
}

export class Reservation {
  readonly #call: GateCall;
  readonly #plan: CallPlan & { readonly refusal?: Refusal };
  readonly #gate: Reserving;
  #held: { readonly id: string; readonly token: string } | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param plan a refusal where the call cannot be counted. */
  constructor(call: GateCall, plan: CallPlan | Refusal, gate: Reserving) {
    this.#call = call;
    this.#gate = gate;
    this.#plan = 'request' in plan ? plan : { ...NO_PLAN, refusal: plan };
  }

  /**
   * Holds the call against what is known of its effect, before anybody is asked to approve it. Of an effect whose outcome is
   * unknown, the tool that the policy names is asked, then a person.
   */
  async look(decision: Decision): Promise<Decision> {
    const { refusal: uncountable, request } = this.#plan;
    if (uncountable !== undefined)
      return revise(decision, 'deny', uncountable.reasonCode, uncountable.message);
    const { key } = request;
    if (key === undefined || decision.decision === 'deny') return decision;
    const noted = this.#note(decision);
    try {
      let earlier = await this.#gate.ledger.find(key);
      if (earlier?.state === 'unknown' && noted.enforcement === 'enforced') {
        earlier = await this.#reconcile(earlier);
        if (earlier?.state === 'unknown' && this.#gate.approvals !== undefined)
          return await this.#askPerson(noted, earlier);
      }
      return earlier === undefined ? noted : this.#refuse(noted, earlier);
    } catch (error) {
      return unavailable(noted, error);
    }
  }

  /** Takes what the call needs, or refuses it. Policy and definition may change meanwhile: they have to be the same. */
  async take(decision: Decision): Promise<Decision> {
    const { ledger, evaluate } = this.#gate;
    const [wall, steady] = [Date.now(), performance.now()];
    try {
      const answer = await ledger.reserve(this.#plan.request);
      if (answer.state === 'refused') {
        const why = this.#plan.whyNot[answer.take];
        const id = why === undefined ? [] : [why.id];
        return revise(decision, 'deny', why?.reasonCode ?? 'budget_exceeded', why?.message ?? '', id);
      }
      if (answer.state !== 'taken') return this.#refuse(decision, answer);
      this.#held = answer;
    } catch (error) {
      return unavailable(decision, error);
    }
    this.#keepAlive();
    const { key, quiet_ms } = this.#plan.request;
    const waited = Math.max(Date.now() - wall, performance.now() - steady);
    // Others may soon take it for lost. Nothing is awaited from here to the call.
    if (key !== undefined && waited > quiet_ms / 2)
      return revise(decision, 'deny', 'effect_running', 'It was decided too long ago');
    const now = evaluate();
    const names = ['policyHash', 'toolHash', 'argsDigest'] as const;
    if (now.decision !== 'deny' && names.every((name) => now[name] === decision[name])) return decision;
    if (now.decision === 'deny') return now;
    return revise(now, 'deny', 'approval_invalid', 'The policy or the call changed while it was decided');
  }

  settleBy(raw: unknown): Promise<LedgerOutcome | undefined> {
    const isError = readObject(raw).isError === true;
    const failed = this.#plan.once?.errors ?? 'failed';
    return this.settle(isError ? failed : isObject(raw) ? 'done' : 'unknown');
  }

  /**
   * Tells the ledger the outcome. Never rejects: an outcome that cannot be noted is unknown there.
   * @returns the outcome as it is noted; undefined if nothing was reserved.
   */
  async settle(outcome: LedgerOutcome): Promise<LedgerOutcome | undefined> {
    const held = this.#held;
    this.#held = undefined;
    clearInterval(this.#timer);
    if (held === undefined) return undefined;
    try {
      const noting = this.#gate.ledger.settle(held.id, held.token, outcome);
      if (!(await isDoneWithin(SETTLE_MS, noting))) throw new Error(`no answer in ${SETTLE_MS} ms`);
      if (!(await noting))
        diag.error(`mcp-observatory: the call ${held.id} was ${outcome}, and noted otherwise`);
      return outcome;
    } catch (error) {
      diag.error(`mcp-observatory: the outcome of a call cannot be noted: ${errorMessage(error)}`);
      return 'unknown';
    } finally {
      if (this.#plan.request.key !== undefined)
        trace.getActiveSpan()?.setAttribute(semconv.ATTR_EFFECT_OUTCOME, outcome);
    }
  }

  #keepAlive(): void {
    const { key, quiet_ms } = this.#plan.request;
    const held = this.#held;
    if (key === undefined || held === undefined) return;
    const beat = (): void => {
      this.#gate.ledger.settle(held.id, held.token, 'running').catch(() => undefined);
    };
    this.#timer = setInterval(beat, quiet_ms / 4).unref();
  }

  async #reconcile(earlier: EarlierEffect): Promise<EarlierEffect | undefined> {
    const { read, ledger } = this.#gate;
    const reconcile = this.#plan.once?.reconcile;
    const args = reconcile && reconcileArgs(reconcile, this.#call.args);
    if (reconcile === undefined || args === undefined || read === undefined) return earlier;
    let outcome: 'done' | 'failed' | undefined;
    try {
      outcome = readReconcile(reconcile, await read(reconcile.tool, args));
    } catch (error) {
      diag.warn(`mcp-observatory: '${reconcile.tool}' cannot tell of an effect: ${errorMessage(error)}`);
    }
    return outcome === undefined
      ? earlier
      : await ledger.resolve(earlier.id, outcome, { tool: reconcile.tool });
  }

  /** Asks whether an effect happened. An approval says that it did not, a rejection that it did. */
  async #askPerson(decision: Decision, earlier: EarlierEffect): Promise<Decision> {
    const { approvals, ledger, limits, evaluate } = this.#gate;
    if (approvals === undefined) return this.#refuse(decision, earlier);
    const { argsDigest } = decision;
    // Of this one outcome: an approval of the call itself says nothing about it.
    const about = { argsDigest: `unknown:${earlier.id}` };
    const message = `${tell(this.#plan, earlier)}. Approve only if it did not happen, and it is done; reject if it happened`;
    const held = { ...revise(decision, 'require_approval', 'effect_unknown', message), ...about };
    const { usableMs } = limits;
    const again = (): Decision => ({ ...evaluate(), ...about });
    const { decision: answer, id } = await decideHeldCall(approvals, this.#call, held, { usableMs }, again);
    const witness: LedgerWitness | undefined = id === undefined ? undefined : { review: id };
    if (answer.reasonCode === 'approved' && witness !== undefined) {
      const left = await ledger.resolve(earlier.id, 'failed', witness);
      return left === undefined ? decision : this.#refuse(decision, left);
    }
    if (answer.reasonCode === 'approval_rejected' && witness !== undefined)
      await ledger.resolve(earlier.id, 'done', witness);
    return { ...answer, argsDigest, effect: { ...noteEffect(this.#plan), state: earlier.state } };
  }

  #note(decision: Decision): Decision {
    return { ...decision, effect: noteEffect(this.#plan) };
  }

  #refuse(decision: Decision, earlier: EarlierEffect): Decision {
    const isOther = earlier.digest !== null && earlier.digest !== decision.argsDigest;
    const message = `${tell(this.#plan, earlier)}${isOther ? '; its call had other arguments' : ''}`;
    const refused = revise(decision, 'deny', `effect_${earlier.state}`, message);
    return { ...refused, effect: { ...noteEffect(this.#plan), state: earlier.state } };
  }
}

function noteEffect({ request }: CallPlan): { readonly name: string; readonly key: string } {
  return { name: request.effect ?? '', key: request.key ?? '' };
}

function tell({ request }: CallPlan, { state, id, at, by }: EarlierEffect): string {
  const said = by === null || by === 'call' ? '' : ` according to ${by}`;
  const how = {
    done: `was done at ${at}${said} (call ${id}), and is done once`,
    running: `is being done since ${at} (call ${id})`,
    unknown: `may have been done at ${at} (call ${id}): its outcome is unknown`,
  }[state];
  return `The effect '${request.effect}' ${how}`;
}

/** What cannot be looked up may have happened. */
function unavailable(decision: Decision, error: unknown): Decision {
  diag.error(`mcp-observatory: the ledger of calls cannot be asked: ${errorMessage(error)}`);
  const message = 'What was called before cannot be looked up now';
  return revise(decision, 'deny', 'ledger_unavailable', message);
}

/** Ends of a call without an answer: kinds of our own outcomes, names of errors, codes of the SDK v2. */
const UNANSWERED: ReadonlySet<unknown> = new Set(
  'transport_error timeout cancelled AbortError TimeoutError CONNECTION_CLOSED REQUEST_TIMEOUT'.split(' '),
);
/** The errors of the SDK v1 have codes that servers have too. */
const UNANSWERED_V1 =
  /^MCP error -3200[01]: (?:Connection closed|Request timed out|Maximum total timeout exceeded)$/;

/** Whether nobody knows if a call took effect: the server went away, or did not answer. */
export function isUnanswered(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  const { name, message, code } = cause as Error & { code?: unknown };
  return UNANSWERED.has(name) || UNANSWERED.has(code) || UNANSWERED_V1.test(message);
}
