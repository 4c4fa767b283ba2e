/**
 * `PolicyHost`: one question, at most one tool call, through every gate in a fixed order.
 *
 * Input policy, live tools, plan, decision, call, checked result, and a summary if it is asked for and its quotes hold.
 * Nothing is retried and nothing is skipped; the planner chooses what to ask for, never what happens.
 */
import { randomUUID } from 'node:crypto';
import { trace } from '@opentelemetry/api';
import {
  checkOptions,
  having,
  kinds,
  ObservatoryError,
  type OptionKinds,
  required,
  warnVisibly,
} from '../../base/index.ts';
import { type JsonObject, redactText } from '../../json/index.ts';
import type { ServerEntry, ServerRequestHandlers } from '../../mcp-client/index.ts';
import { type AuditLog, type AuditOption, type AuditRun, auditRun, openAudit } from '../audit/index.ts';
import { type Decision, PolicyDeniedError } from '../decision.ts';
import type { GroundedSummary } from '../evidence/index.ts';
import type { PolicyGate } from '../gate.ts';
import type { GateCall } from '../gate-types.ts';
import { guardedCall, recordFindings } from '../guarded-call.ts';
import { serverRequestGuard } from '../guarded-request.ts';
import { A_GATE, AN_AUDIT } from '../option-kinds.ts';
import { outputValue } from '../output.ts';
import { type CallToolPlan, parsePlan } from '../plan.ts';
import { type Gate, gateOf, type ReasonCode } from '../reasons/index.ts';
import { findSession } from '../run-sources.ts';
import { addGateEvent, inGateSpan, setFallback, setRefusal } from '../telemetry.ts';
import { asksForSummary, type Planner, parseSummary, planMessages, summaryMessages } from './prompts.ts';
import { connectUsableServers, discoverTools, type PolicyServer } from './servers.ts';

/** The answer to one question. */
export type AskResult =
  | (AskBase & {
      readonly type: 'blocked';
      readonly gate: Gate;
      readonly reasonCode: ReasonCode;
      readonly message: string;
      /** The decision about the call, when there was one. `require_approval` can be approved and asked again. */
      readonly decision?: Decision | undefined;
      /** The call that was refused, for an approver to look at. */
      readonly call?: GateCall | undefined;
    })
  | (AskBase & { readonly type: 'final_answer'; readonly answer: string; readonly needsMoreInfo: true })
  | (AskBase &
      ToolResult & { readonly type: 'tool_result'; readonly summaryRefused?: ReasonCode | undefined })
  | (AskBase & ToolResult & { readonly type: 'tool_result_with_summary'; readonly summary: GroundedSummary });

interface AskBase {
  readonly query: string;
  /** Id of the run in the audit trail; empty when there is none. */
  readonly runId: string;
  /** Why the run is not wholly in the audit trail, although its call was made. Absent when it is. */
  readonly auditProblem?: string;
  /** Why the policy file, or its last change, cannot be used. Absent when it can. */
  readonly policyProblem?: string;
}

interface ToolResult {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** The result: its structure, `{result: ...}` around one that is no object, else `{content: [...]}`. */
  readonly result: JsonObject;
  /** Set where nothing vouches for the result: the tool has no output type, or the result does not fit it. */
  readonly isUntrusted?: true;
}

export interface PolicyHostOptions {
  readonly gate: PolicyGate;
  readonly planner: Planner;
  /** Servers by their id in the policy: connections, or entries of a server config to connect to. */
  readonly servers: Readonly<Record<string, PolicyServer | ServerEntry>>;
  /** Answers what servers ask, as far as the policy allows it. Only for servers the host connects to. */
  readonly handlers?: ServerRequestHandlers | undefined;
  /** The audit trail, its folder, or false for none. @defaultValue `SAFE_TRACE_DIR`, else `.mcp-observatory/traces` */
  readonly audit?: AuditOption | undefined;
  /** Called with the time each gate took, in microseconds. Must not throw. */
  readonly onGate?: ((gate: Gate, micros: number) => void) | undefined;
  /** Always summarize. @defaultValue `SAFE_SUMMARIZE` is `1` */
  readonly summarize?: boolean | undefined;
}

const OPTIONS: OptionKinds<PolicyHostOptions> = {
  gate: required(A_GATE),
  planner: required(having('a planner, an object with a method plan()', 'plan')),
  servers: required(kinds.object),
  handlers: kinds.object,
  audit: AN_AUDIT,
  onGate: kinds.function,
  summarize: kinds.boolean,
};

export interface AskOptions {
  readonly caller?: string | undefined;
  /** Template of the question, for policies that require one. @defaultValue that of `govern()` */
  readonly promptTemplateId?: string | undefined;
  /** The session that an approval for a session is bound to. @defaultValue that of `govern()`, else the host itself */
  readonly sessionId?: string | undefined;
  /** A token from `gate.approve`, for exactly the call the plan will ask for. */
  readonly approvalToken?: string | undefined;
}

export class PolicyHost {
  readonly #gate: PolicyGate;
  readonly #session = randomUUID();
  readonly #planner: Planner;
  readonly #servers: ReadonlyMap<string, PolicyServer>;
  readonly #audit: ReturnType<typeof openAudit>;
  readonly #alwaysSummarizes: boolean;
  readonly #onGate: (gate: Gate, micros: number) => void;

  private constructor(
    options: PolicyHostOptions,
    servers: ReadonlyMap<string, PolicyServer>,
    audit: ReturnType<typeof openAudit>,
  ) {
    this.#gate = options.gate;
    this.#planner = options.planner;
    this.#servers = servers;
    this.#audit = audit;
    this.#onGate = options.onGate ?? (() => {});
    this.#alwaysSummarizes = options.summarize ?? process.env.SAFE_SUMMARIZE === '1';
  }

  /**
   * Opens the audit trail and the servers. A server that cannot be used is named in a warning, and the others are used.
   * @throws ObservatoryError `INVALID_OPTION`, `INVALID_SERVER_CONFIG`, `AUDIT_UNAVAILABLE`, or what connecting throws when
   *   no server can be used; servers opened before are closed.
   */
  static async open(options: PolicyHostOptions): Promise<PolicyHost> {
    checkOptions(options, OPTIONS, 'PolicyHost.open()');
    const audit = openAudit(options.audit);
    try {
      return new PolicyHost(options, await openServers(options, audit.log), audit);
    } catch (error) {
      audit.close();
      throw error;
    }
  }

  /** Answers one question with at most one tool call. Refusals are results; only a failing tool, planner or audit throws. */
  async askOnce(query: string, options: AskOptions = {}): Promise<AskResult> {
    const started = { query_chars: query.length, caller: options.caller };
    return inGateSpan('policy_host ask', () =>
      auditRun(
        this.#audit.log,
        started,
        (run) => this.#ask(query, options, run),
        (result) => ({
          result: result.type,
          reason_code: result.type === 'blocked' ? result.reasonCode : undefined,
        }),
        (result, problem) => ({ ...result, auditProblem: problem.message }),
      ),
    );
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#servers.values()].map((server) => server.close()));
    this.#audit.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #ask(query: string, options: AskOptions, run: AuditRun | undefined): Promise<AskResult> {
    const { problem } = this.#gate;
    const policyProblem = problem === undefined ? {} : { policyProblem: problem.message };
    const base = { query, runId: run?.id ?? '', ...policyProblem };
    const input = this.#timed('G0', () => this.#gate.checkInput(query));
    run?.record(
      'input_checked',
      { allowed: input.allowed, rule_ids: input.ruleIds, findings: input.findings },
      run.keepNow(() => ({ data: { query }, grounds: { policy: this.#gate.policySource } })),
    );
    if (!input.allowed) return blocked(base, input.reasonCode ?? 'input_blocked', input.message);

    const listed = await discoverTools(this.#gate, this.#servers, (server, error) => {
      const error_type = error instanceof Error ? error.name : 'unknown';
      run?.record('plan_checked', { server, error_type });
    });
    recordFindings(this.#gate, run);
    const raw = await this.#planner.plan(planMessages(query, listed));
    const parsed = this.#timed('G1', () => parsePlan(raw));
    const kept = await run?.keep(() => ({ data: { raw } }));
    if ('refused' in parsed) {
      run?.record('plan_checked', { accepted: false, reason_code: parsed.refused.reasonCode }, kept);
      return blocked(base, parsed.refused.reasonCode, parsed.refused.message);
    }
    const { plan } = parsed;
    if (plan.type === 'final_answer') {
      run?.record('plan_checked', { accepted: true, type: plan.type }, kept);
      return { ...base, type: 'final_answer', answer: plan.answer, needsMoreInfo: true };
    }
    const { type, server, tool } = plan;
    run?.record('plan_checked', { accepted: true, type, server, tool }, kept);
    return this.#call(plan, base, options, run);
  }

  async #call(
    plan: CallToolPlan,
    base: AskBase,
    options: AskOptions,
    run: AuditRun | undefined,
  ): Promise<AskResult> {
    const { server, tool, args } = plan;
    // Without a trail the run has an id all the same: budgets count by it.
    const runId = run?.id ?? randomUUID();
    const sessionId = findSession(options) ?? this.#session;
    const call: GateCall = { server, tool, args, userRequest: base.query, runId, ...options, sessionId };
    const connection = this.#servers.get(server);
    let result: ToolResult;
    try {
      const guarded = await guardedCall(call, (sent) => invoke(connection, tool, sent), {
        gate: this.#gate,
        audit: run,
        onGate: this.#onGate,
        read: (other, sent) => invoke(connection, other, sent),
        refresh: async () => {
          if (connection !== undefined) await this.#gate.refreshTools(server, await connection.listTools());
        },
      });
      const { verdict, decision } = guarded;
      if (!verdict.accepted && verdict.isHandedOn !== true)
        return blocked(base, verdict.reasonCode, verdict.message, { decision, call });
      result = {
        server,
        tool,
        args,
        result: verdict.accepted ? verdict.value : outputValue(guarded.result as JsonObject),
        ...(verdict.accepted && verdict.isTyped ? {} : { isUntrusted: true }),
      };
    } catch (error) {
      if (!(error instanceof PolicyDeniedError)) throw error;
      return blocked(base, error.reasonCode, error.message, { decision: error.decision, call });
    }
    if (!this.#alwaysSummarizes && !asksForSummary(base.query))
      return { ...base, ...result, type: 'tool_result' };
    return this.#summarize(base, result, run);
  }

  /** A summary with a quote that does not hold is dropped; the result is still returned. */
  async #summarize(base: AskBase, result: ToolResult, run: AuditRun | undefined): Promise<AskResult> {
    const raw = await this.#planner.plan(summaryMessages(result.result));
    const summary = parseSummary(raw);
    const echo = { args: result.args, request: base.query };
    const verdict = this.#timed('G5', () => this.#gate.checkSummary(result.result, summary, echo));
    const { accepted, reasonCode: reason_code } = verdict;
    const kept = await run?.keep(() => ({ data: { raw } }));
    run?.settle('summary_checked', { accepted, reason_code }, kept);
    const span = trace.getActiveSpan();
    if (!verdict.accepted) {
      if (span !== undefined) setRefusal(span, verdict.reasonCode);
      return { ...base, ...result, type: 'tool_result', summaryRefused: verdict.reasonCode };
    }
    if (span !== undefined) addGateEvent(span, 'pass', verdict.reasonCode);
    span?.setAttributes({
      'observatory.evidence_coverage': verdict.coverage.coverage,
      'observatory.evidence_exact_ratio': verdict.coverage.exactRatio,
      'observatory.evidence_distinct_spans': verdict.coverage.distinctSpans,
    });
    return { ...base, ...result, type: 'tool_result_with_summary', summary: verdict.summary };
  }

  #timed<T>(gate: Gate, act: () => T): T {
    const started = performance.now();
    const value = act();
    this.#onGate(gate, (performance.now() - started) * 1_000);
    return value;
  }
}

/**
 * Connects those servers that are not connections yet. One that cannot be used is named in a warning and has no tools;
 * when none can, all are closed.
 */
async function openServers(
  { servers: given, gate, handlers }: PolicyHostOptions,
  audit: AuditLog | undefined,
): Promise<ReadonlyMap<string, PolicyServer>> {
  const guard = serverRequestGuard({ gate, audit });
  const isConnection = (server: PolicyServer | ServerEntry) => 'listTools' in server;
  const [connections, entries] = [true, false].map((wanted) =>
    Object.entries(given).filter(([, server]) => isConnection(server) === wanted),
  ) as [[string, PolicyServer][], [string, ServerEntry][]];
  const failed: ObservatoryError[] = [];
  try {
    const connected =
      entries.length === 0
        ? {}
        : await connectUsableServers(
            { mcpServers: Object.fromEntries(entries) },
            { handlers, guard },
            (error) => failed.push(error),
          );
    const [first] = failed;
    if (first !== undefined && failed.length === Object.keys(given).length) throw first;
    for (const { message } of failed) warnVisibly(`mcp-observatory: ${message} The other servers are used.`);
    // In the order of the options, which is that of the planner's prompt.
    const all = Object.entries(given).map(([id, server]) => [
      id,
      isConnection(server) ? server : connected[id],
    ]);
    return new Map(all.filter((pair): pair is [string, PolicyServer] => pair[1] !== undefined));
  } catch (error) {
    await Promise.allSettled(connections.map(([, server]) => server.close()));
    throw error;
  }
}

function invoke(server: PolicyServer | undefined, tool: string, args: JsonObject): Promise<unknown> {
  if (server === undefined) throw new ObservatoryError('INVALID_INPUT', 'The server is not connected');
  return server.callTool(tool, args);
}

/**
 * The end of a blocked step.
 * @param refused the call that was refused: its own span has the decision, so that it is counted once.
 */
function blocked(
  base: AskBase,
  reasonCode: ReasonCode,
  message: string,
  refused?: Pick<AskResult & { type: 'blocked' }, 'decision' | 'call'>,
): AskResult {
  const span = trace.getActiveSpan();
  if (span !== undefined) {
    if (refused === undefined) setRefusal(span, reasonCode);
    else addGateEvent(span, 'stop', reasonCode);
    setFallback(span, reasonCode === 'approval_required' ? 'human_review' : 'template');
  }
  const why = { gate: gateOf(reasonCode), reasonCode, message: redactText(message) };
  return { ...base, type: 'blocked', ...why, ...refused };
}
