/** Decides again what a run decided, from what its trace kept. Nothing is called. */
import {
  checkOptions,
  checkValue,
  either,
  kinds,
  type OptionKinds,
  secret,
  sliced,
  takeAll,
} from '../../base/index.ts';
import { type JsonObject, redactValue, toText } from '../../json/index.ts';
import { decisionToWire } from '../decision.ts';
import { PolicyGate } from '../gate.ts';
import type { GateCall, PolicyGateOptions } from '../gate-types.ts';
import { isRedacted } from '../guarded-call.ts';
import { parseSummary } from '../host/index.ts';
import { judgeAnswer, judgeOutput } from '../output.ts';
import type { OutputContract } from '../output-contract.ts';
import { PinStore } from '../pins.ts';
import { parsePlan } from '../plan.ts';
import type { ReasonCode } from '../reasons/index.ts';
import type { RequestMethod } from '../requests.ts';
import { definitionProblem, type ToolsByServer, toolHash } from '../tool-definition.ts';
import { readTrace, type TraceRecord, unusableTrace } from './read-trace.ts';

export interface ReplayTraceOptions {
  /** Key of the trail. @defaultValue `SAFE_AUDIT_KEY` */
  readonly key?: string | undefined;
  /** Another policy to decide by, a path or the policy itself. @defaultValue the policies that the trace kept */
  readonly policy?: string | object | undefined;
  /** What the gate of the run had that no trace keeps. */
  readonly gate?: Pick<PolicyGateOptions, 'outputTypes' | 'metaKeys'> | undefined;
}

const OPTIONS: OptionKinds<ReplayTraceOptions> = {
  key: secret(kinds.string),
  policy: either({ ...kinds.string, expected: 'the path of a policy file' }, kinds.object),
  gate: kinds.object,
};

/** One decision of a run and its repetition. */
export interface RepeatedDecision {
  /** Number of the record, from 0. */
  readonly seq: number;
  readonly event: 'input_checked' | 'plan_checked' | 'call_decided' | 'call_finished' | 'summary_checked';
  /** `server/tool` of a call, else null. */
  readonly call: string | null;
  /** `not_repeated`: see {@link why}. */
  readonly outcome: 'same' | 'different' | 'not_repeated';
  /** What was decided then. */
  readonly recorded: JsonObject;
  /** What is decided now; null if it was not repeated. */
  readonly repeated: JsonObject | null;
  /** Why it was not repeated; null if it was. */
  readonly why: string | null;
}

/** A run decided again. */
export interface TraceReplay {
  readonly runId: string;
  readonly decisions: readonly RepeatedDecision[];
  /** The first decision that is another one now; null if all are the same. */
  readonly firstDifference: RepeatedDecision | null;
}

/**
 * Repeats every decision of a run from its trace (`run-*.jsonl`), in order: input policy, plan, call, result, summary.
 * The trace must hold its content (option `captureContent` of `AuditLog`). No model and no server is asked. Decisions
 * that depend on more than the trace (approvals, budgets, pins, external decision points) are not repeated.
 *
 * @throws ObservatoryError `INVALID_INPUT` for a file that is no trace, was changed, holds no content, or does not open
 * with the key; `POLICY_INVALID` for a given policy that cannot be used.
 */
export async function replayTrace(path: string, options: ReplayTraceOptions = {}): Promise<TraceReplay> {
  checkValue('the path of replayTrace()', path, kinds.string);
  checkOptions(options, OPTIONS, 'replayTrace()');
  const { key = process.env.SAFE_AUDIT_KEY } = options;
  const replay = new Replay(options);
  const decisions: RepeatedDecision[] = [];
  let runId = '';
  let hasContent = false;
  const turn = sliced();
  for await (const record of readTrace(path, key || undefined)) {
    runId = String(record.fields.run_id);
    hasContent ||= record.content !== undefined;
    let decision: RepeatedDecision | undefined;
    try {
      decision = await replay.repeat(record);
    } catch (cause) {
      throw unusableTrace(path, `the content of record ${record.seq} is not what a run keeps`, cause);
    }
    if (decision !== undefined) decisions.push(decision);
    await turn();
  }
  if (!hasContent) {
    throw unusableTrace(
      path,
      'it holds no content. Record runs with captureContent, or OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
    );
  }
  const firstDifference = decisions.find(({ outcome }) => outcome === 'different') ?? null;
  return { runId, decisions, firstDifference };
}

/** Reasons that come from outside of policy and trace. */
const OUTSIDE: Readonly<Partial<Record<string, string>>> = {
  approved: 'an approval decided',
  approval_invalid: 'an approval decided',
  budget_exceeded: 'the calls before it decided',
  rate_limited: 'the time decided',
  decision_point_denied: 'an external decision point decided',
  decision_point_failed: 'an external decision point decided',
  audit_unavailable: 'the disk decided',
  tool_changed: 'a pin decided',
  tool_unapproved: 'a pin decided',
} satisfies Partial<Record<ReasonCode, string>>;

interface DecidedCall {
  readonly call: GateCall;
  readonly contract: OutputContract | undefined;
}

class Replay {
  readonly #options: ReplayTraceOptions;
  readonly #given: PolicyGate | undefined;
  #gate: PolicyGate | undefined;
  /** Whatever was listed then counts as approved: what pins denied is not repeated. */
  readonly #pins = new PinStore();
  #query = '';
  readonly #listings = new Map<string, ToolsByServer>();
  /** Servers the gate knows now. */
  #servers: readonly string[] = [];
  readonly #calls = new Map<unknown, DecidedCall>();
  #source: { readonly value: JsonObject; readonly args: JsonObject } | undefined;

  constructor(options: ReplayTraceOptions) {
    this.#options = options;
    if (options.policy === undefined) return;
    this.#given = new PolicyGate({ ...options.gate, pins: this.#pins, policy: options.policy });
    this.#given.assertReady();
  }

  /** The record's decision, made again; undefined for a record without a decision. */
  async repeat(record: TraceRecord): Promise<RepeatedDecision | undefined> {
    const { event } = record;
    if (!isDecision(event)) return undefined;
    this.#takeGrounds(record);
    const recorded = readRecorded(record);
    const { server, tool } = record.fields;
    const call = typeof server === 'string' && event !== 'plan_checked' ? `${server}/${String(tool)}` : null;
    const base = { seq: record.seq, event, call, recorded };
    const data = record.content?.data;
    if (data === undefined)
      return { ...base, outcome: 'not_repeated', repeated: null, why: 'it has no content' };
    const repeated = await this.#decide(event, record, data);
    const why =
      repeated === undefined
        ? 'the call it belongs to was not repeated'
        : record.content?.isRedacted === true
          ? 'secrets were taken out of its content; with SAFE_AUDIT_KEY it is kept whole'
          : OUTSIDE[String(recorded.reason_code)];
    if (repeated === undefined || why !== undefined)
      return { ...base, outcome: 'not_repeated', repeated: null, why: why ?? null };
    const isSame = JSON.stringify(recorded) === JSON.stringify(repeated);
    return { ...base, outcome: isSame ? 'same' : 'different', repeated, why: null };
  }

  #takeGrounds({ content }: TraceRecord): void {
    const { policy, ...listings } = content?.grounds ?? {};
    if (policy !== undefined && this.#given === undefined) {
      this.#gate = new PolicyGate({ ...this.#options.gate, pins: this.#pins, policy: policy as object });
      this.#servers = [];
    }
    for (const [name, listing] of Object.entries(listings))
      this.#listings.set(name, listing as ToolsByServer);
  }

  /** The gate in force; without a policy it denies everything. */
  get #inForce(): PolicyGate {
    this.#gate ??= this.#given ?? new PolicyGate({ ...this.#options.gate, pins: this.#pins, policy: {} });
    return this.#gate;
  }

  async #decide(
    event: RepeatedDecision['event'],
    record: TraceRecord,
    data: JsonObject,
  ): Promise<JsonObject | undefined> {
    switch (event) {
      case 'input_checked': {
        this.#query = String(data.query);
        const { allowed, ruleIds } = this.#inForce.checkInput(this.#query);
        return { allowed, rule_ids: [...ruleIds] };
      }
      case 'plan_checked':
        return redactValue(planVerdict(data.raw));
      case 'call_decided':
        return await this.#decideCall(record, data);
      case 'call_finished':
        return this.#judge(record, data);
      case 'summary_checked': {
        if (this.#source === undefined) return undefined;
        const { value, args } = this.#source;
        const summary = parseSummary(String(data.raw));
        const echo = { args, request: this.#query };
        const { accepted, reasonCode } = this.#inForce.checkSummary(value, summary, echo);
        return { accepted, reason_code: reasonCode };
      }
    }
  }

  async #decideCall({ seq, fields }: TraceRecord, data: JsonObject): Promise<JsonObject> {
    const { server, tool, method, caller } = fields;
    const gate = this.#inForce;
    const call: GateCall = {
      server: String(server),
      tool: String(tool),
      args: data.args as JsonObject,
      method: method as RequestMethod | undefined,
      caller: toText(caller),
      userRequest: toText(data.user_request),
      promptTemplateId: toText(data.prompt_template_id),
    };
    this.#list(gate, this.#listings.get(`${call.server}/${call.tool}`) ?? {});
    const decision = await gate.evaluateInSlices(call);
    this.#calls.set(seq, { call, contract: gate.outputContract(call) });
    return decisionFields(decisionToWire(decision));
  }

  /** Lets the gate know exactly what was listed under the name of the call. */
  #list(gate: PolicyGate, listing: ToolsByServer): void {
    const servers = Object.keys(listing);
    for (const server of this.#servers) if (!servers.includes(server)) gate.removeServer(server);
    for (const [server, { tools }] of Object.entries(listing)) {
      for (const tool of tools) {
        if (definitionProblem(tool) !== undefined) continue;
        this.#pins.approve(server, tool.name, toolHash(tool, this.#options.gate?.metaKeys));
      }
      gate.setTools(server, tools);
    }
    this.#servers = servers;
  }

  #judge({ fields }: TraceRecord, data: JsonObject): JsonObject | undefined {
    const decided = this.#calls.get(fields.decided);
    if (decided === undefined) return undefined;
    const { call, contract } = decided;
    const { verdict } =
      call.method === undefined
        ? takeAll(judgeOutput(data.result, call.args, contract))
        : judgeAnswer(data.result, contract);
    if (!verdict.accepted) return { reason_code: verdict.reasonCode };
    const { value } = verdict;
    this.#source = {
      value: isRedacted(verdict, contract?.redact) ? redactValue(value) : value,
      args: call.args,
    };
    return { reason_code: 'output_accepted' };
  }
}

function planVerdict(raw: unknown): JsonObject {
  const parsed = parsePlan(raw);
  if ('refused' in parsed) return { accepted: false, reason_code: parsed.refused.reasonCode };
  const { plan } = parsed;
  if (plan.type === 'final_answer') return { accepted: true, type: plan.type };
  return { accepted: true, type: plan.type, server: plan.server, tool: plan.tool };
}

const DECISIONS: ReadonlySet<string> = new Set<RepeatedDecision['event']>([
  'input_checked',
  'plan_checked',
  'call_decided',
  'call_finished',
  'summary_checked',
]);

function isDecision(event: string): event is RepeatedDecision['event'] {
  return DECISIONS.has(event);
}

/** The members of a record that say what was decided, in the order of their repetition. */
function readRecorded({ event, fields }: TraceRecord): JsonObject {
  const { allowed, rule_ids, accepted, reason_code, type, server, tool } = fields;
  switch (event) {
    case 'input_checked':
      return { allowed, rule_ids };
    case 'plan_checked':
      if (accepted !== true) return { accepted, reason_code };
      return type === 'call_tool' ? { accepted, type, server, tool } : { accepted, type };
    case 'call_decided':
      return decisionFields(fields);
    case 'summary_checked':
      return { accepted, reason_code };
    default:
      return { reason_code };
  }
}

function decisionFields({
  decision,
  enforcement,
  reason_code,
  rule_ids,
  tool_hash,
}: object & JsonObject): JsonObject {
  return { decision, enforcement, reason_code, rule_ids, tool_hash };
}
