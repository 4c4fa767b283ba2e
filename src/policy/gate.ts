/**
 * The policy gate: a call reaches a server only if a rule allows it, its arguments fit the tool's schema and the tool's
 * definition is approved; a result is handed on only if it is what the tool promised.
 *
 * Terms: a *call* is a requested tool call; a *decision* is the gate's answer to it (`allow`, `deny`, `require_approval`);
 * a tool is *barred* when its definition must not be used. Deny beats approval, approval beats allow, and the default
 * is deny. Any failure inside the gate is a denial with a reason code.
 */
import { Approvals, approvalLimits } from '../approvals/index.ts';
import { ObservatoryError, sliced, takeAll } from '../base/index.ts';
import { warmEvidence } from '../evidence/index.ts';
import type { JsonObject } from '../json/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import { BarredTools } from './barred-tools.ts';
import { Budgets } from './budgets.ts';
import { type CatalogTool, ToolCatalog } from './catalog.ts';
import { type Decision, isBlocked, revise, withoutRecord } from './decision.ts';
import { consultPoint } from './decision-point.ts';
import { evaluateCall, type Grounds, prepareCall } from './evaluate.ts';
import { checkSummary, type Echo, type SummaryVerdict } from './evidence/index.ts';
import { type GateFinding, GateFindings } from './findings.ts';
import { checked, type DecisionRecorder, type GateCall, type PolicyGateOptions } from './gate-types.ts';
import { applyPersonsAnswer, decideHeldCall, isHeld, toBinding } from './held-call.ts';
import { checkInput, type InputVerdict } from './input-policy.ts';
import { judgeOutput, type OutputVerdict } from './output.ts';
import { type OutputContract, OutputContracts } from './output-contract.ts';
import { PinStore } from './pins.ts';
import { policyPath } from './policy-file.ts';
import { PolicySource } from './policy-source.ts';
import { GateLedger, type ReadTool } from './reservations.ts';
import { RunSources } from './run-sources.ts';
import type { Told } from './sources/index.ts';
import { countDecision } from './telemetry.ts';
import type { ToolsByServer } from './tool-definition.ts';

export class PolicyGate {
  readonly #options: PolicyGateOptions;
  readonly #catalog: ToolCatalog;
  readonly #barred: BarredTools;
  readonly #source: PolicySource;
  readonly #contracts: OutputContracts;
  readonly #approvals = new Approvals();
  readonly #budgets = new Budgets();
  readonly #sources = new RunSources(() => this.#source.policy);
  readonly #findings: GateFindings;
  readonly #grounds: Grounds;
  /** What calls reserve: used by `guardedCall`. */
  readonly ledger: GateLedger;

  /**
   * Opens a gate. A policy that cannot be used does not throw here: the gate denies everything and says why in
   * {@link problem}; call {@link assertReady} to refuse to start instead.
   * @throws ObservatoryError `INVALID_OPTION` for an unknown option.
   */
  constructor(options: PolicyGateOptions) {
    this.#options = checked(options);
    this.ledger = new GateLedger(options, () => this.#source.policy);
    if ((options.maxEvidenceRisk ?? 1) < 1) void warmEvidence();
    this.#contracts = new OutputContracts(options.outputTypes);
    const { pins = new PinStore({ trustFirstUse: true }), reloadIntervalMs: interval = 0 } = options;
    this.#barred = new BarredTools(pins);
    this.#catalog = new ToolCatalog({
      pins,
      competes: (server, tool) => {
        const policy = this.#source.policy;
        return policy?.document.duplicate_names !== 'allow' && policy?.mayAllow(server, tool) === true;
      },
      isNamed: (server, name) => this.#source.policy?.names(server, name) === true,
      metaKeys: options.metaKeys,
      strictFormats: () => this.#source.policy?.document.strict_formats === true,
    });
    this.#findings = new GateFindings(() => this.#source.policy, this.#catalog, options.tools !== undefined);
    this.#source = new PolicySource(options.policy ?? policyPath(undefined, process.env));
    const [catalog, source, contracts] = [this.#catalog, this.#source, this.#contracts];
    this.#grounds = { catalog, source, contracts, sources: this.#sources, digestKey: options.digestKey };
    for (const [server, { tools }] of Object.entries(options.tools ?? {})) this.setTools(server, tools);
    this.#findings.report();
    if (interval > 0) {
      this.#source.watch(interval, (outcome) => {
        this.#findings.report();
        options.onReload?.(outcome);
      });
    }
  }

  /** Why the policy cannot be used, or why its last change could not; undefined when all is well. */
  get problem(): ObservatoryError | undefined {
    return this.#source.problem;
  }

  /** Whether people are asked through a queue. */
  get hasQueue(): boolean {
    return this.#options.approvals !== undefined;
  }

  /** SHA-256 of the policy in force; null while there is none and everything is denied. */
  get policyHash(): string | null {
    return this.#source.policy?.hash ?? null;
  }

  /** The policy in force as its file has it. */
  get policySource(): JsonObject | undefined {
    return this.#source.policy?.source;
  }

  /** What the servers list under the name of a tool: enough to decide a call of it again. */
  listing({ server, tool }: Pick<GateCall, 'server' | 'tool'>): ToolsByServer {
    return this.#catalog.definitionsOf(server, tool);
  }

  /** @throws ObservatoryError `POLICY_INVALID` when there is no usable policy. */
  assertReady(): void {
    if (this.#source.policy !== undefined) return;
    throw this.#source.problem ?? new ObservatoryError('POLICY_INVALID', 'There is no policy');
  }

  /**
   * Reads the policy file again; see {@link PolicySource.reload}. Calls already made count against the budgets of the
   * new policy. Approvals stay valid if the policy is the same, and are void if it changed: they name its hash.
   */
  reload(): boolean {
    const isRead = this.#source.reload();
    this.#findings.report();
    return isRead;
  }

  /** Replaces what a server lists. Rules that do not fit it are {@link findings}. */
  setTools(server: string, tools: readonly ToolDefinition[]): void {
    const isFirst = !this.#catalog.hasServer(server);
    this.#catalog.setServer(server, tools);
    for (const tool of isFirst ? this.#catalog.namedTools(server) : []) this.#source.policy?.deadRules(tool);
    this.#findings.report();
  }

  /**
   * As {@link setTools}, in slices: the event loop is not held however many tools there are.
   * @param options.all every tool that rules name is checked now. @defaultValue only those without a pin; the others are
   * checked when they are called
   */
  async refreshTools(
    server: string,
    tools: readonly ToolDefinition[],
    options: { readonly all?: boolean | undefined } = {},
  ): Promise<void> {
    const all = options.all === true || !this.#catalog.hasServer(server);
    await this.#catalog.refreshServer(server, tools, all);
    const turn = sliced();
    for (const tool of all ? this.#catalog.namedTools(server) : []) {
      this.#source.policy?.deadRules(tool);
      await turn();
    }
    this.#findings.report();
  }

  /** Removes a server that does not answer. Its tools cannot be called; rules about it do not count as dead. */
  removeServer(server: string): void {
    this.#catalog.removeServer(server);
    this.#findings.report();
  }

  /**
   * What to look at in the policy and in what the servers list: rules that can never apply, names that are listed twice.
   * The same array until something changes.
   */
  get findings(): readonly GateFinding[] {
    return this.#findings.list();
  }

  /** The tool as the server lists it now, barred ones included. */
  find(server: string, tool: string): CatalogTool | undefined {
    return this.#catalog.find(server, tool);
  }

  /** The tools a model may be shown: listed now, not barred, allowable by some rule, with results that can be accepted. */
  allowedTools(server?: string): readonly CatalogTool[] {
    const policy = this.#source.policy;
    if (policy === undefined) return [];
    return this.#catalog.namedTools(server).filter((tool) => {
      if (policy.mayAllow(tool.server, tool.name)) this.#barred.tell(tool);
      const isUsable = tool.barred === undefined && policy.mayAllow(tool.server, tool.name, tool);
      return isUsable && this.#contracts.of(tool, policy) !== undefined;
    });
  }

  /** Whether a list of the server may show a resource, a template of resources or a prompt. */
  shows(server: string, kind: 'resource' | 'template' | 'prompt', name: unknown): boolean {
    const policy = this.#source.policy;
    return policy?.document.mode === 'shadow' || policy?.requests.shows(server, kind, name) === true;
  }

  /** Tools that are kept away, with the reason. Goes through every tool of every server. */
  barred(): readonly CatalogTool[] {
    return this.#catalog.tools().filter((tool) => tool.barred !== undefined);
  }

  /** G0: judges a request before anything is done for it. */
  checkInput(request: string): InputVerdict {
    return checkInput(request, this.#source.policy?.document.input);
  }

  /**
   * G2 and the built-in rules of G3. Uses nothing up: the same call gets the same decision. Where arguments have
   * `sources`, more than 10,000 characters of prompts are unknown here; {@link evaluateInSlices} reads them.
   */
  evaluate(call: GateCall): Decision {
    return evaluateCall(this.ledger.complete(call), this.#grounds);
  }

  /** As {@link evaluate}: the event loop is not held, however long the prompts and large the schemas are. */
  async evaluateInSlices(given: GateCall): Promise<Decision> {
    const call = this.ledger.complete(given);
    await prepareCall(call, this.#grounds);
    return evaluateCall(call, this.#grounds);
  }

  /**
   * Tells what a run holds that no call shows: prompts, also further ones, and the operator's own text, such as a system
   * prompt. The prompt of a call is its `userRequest` as well.
   * @param run the `runId` of its calls, or their session if they have none.
   */
  remember(run: string, told: Told): void {
    this.#sources.remember(run, told);
  }

  /** Keeps a result that was handed on, so that arguments can be traced to it. @param result undefined if it was not seen. */
  rememberResult(call: GateCall, result: unknown): Promise<void> {
    return this.#sources.rememberResult(call, result);
  }

  /**
   * The whole decision about a call that is about to be made: {@link evaluate}, then the external decision point, then
   * the approval, which is used up and may be waited for, then the budgets. Counted once, with its final outcome.
   * @param record writes the decision down; the call is denied when it throws, and `authorize` throws the same.
   * @param read calls the tools by which the policy reconciles effects.
   */
  async authorize(given: GateCall, record?: DecisionRecorder, read?: ReadTool): Promise<Decision> {
    const call = this.ledger.complete(given);
    await prepareCall(call, this.#grounds);
    const started = performance.now();
    const evaluate = (): Decision => evaluateCall(call, this.#grounds);
    let decision = this.#options.decisionPoint === undefined ? evaluate() : await this.#consult(call);
    const reservation = this.ledger.open(call, decision, evaluate, read);
    if (reservation !== undefined) decision = await reservation.look(decision);
    decision = applyPersonsAnswer(call, decision, this.#approvals);
    const { approvals } = this.#options;
    if (approvals !== undefined && isHeld(call, decision)) {
      const limits = approvalLimits(this.#source.policy?.document.approval);
      decision = (await decideHeldCall(approvals, call, decision, limits, evaluate)).decision;
    }
    if (decision.decision === 'allow' && reservation !== undefined)
      decision = await reservation.take(decision);
    if (decision.decision === 'allow') {
      const spent = this.#budgets.take(call, this.#source.policy?.document.budgets);
      if (spent !== undefined) decision = revise(decision, 'deny', spent.reasonCode, spent.message);
    }
    if (decision.decision === 'deny') this.#barred.tell(this.#catalog.find(call.server, call.tool, false));
    this.#findings.report();
    if (reservation !== undefined && isBlocked(decision)) await reservation.settle('not_made');
    // No await from here to the call: what was decided about is what is called.
    decision = { ...decision, latencyUs: (performance.now() - started) * 1_000 };
    try {
      record?.(decision);
    } catch (cause) {
      countDecision(withoutRecord(decision), call.server, call.tool);
      await reservation?.settle('not_made');
      throw cause;
    }
    countDecision(decision, call.server, call.tool);
    if (!isBlocked(decision)) this.#sources.noteCall(call, decision, this.#catalog);
    if (reservation !== undefined) this.ledger.keep(decision, reservation);
    return decision;
  }

  #consult(call: GateCall): Promise<Decision> {
    return consultPoint(this.#options.decisionPoint, call, {
      evaluate: () => evaluateCall(call, this.#grounds),
      toolHash: () => this.#catalog.find(call.server, call.tool)?.hash ?? '',
    });
  }

  /**
   * What {@link authorize} would decide before a person is asked and the budgets are taken. Uses nothing up and records
   * nothing: for those who have to know whether a person is needed before the call is made.
   */
  async preview(given: GateCall): Promise<Decision> {
    const call = this.ledger.complete(given);
    await prepareCall(call, this.#grounds);
    return this.#consult(call);
  }

  /**
   * How the result of a call will be judged. Ask before the call is made: the server may list other tools by the time it
   * answers. Undefined when no result would be accepted.
   */
  outputContract(call: Pick<GateCall, 'server' | 'tool' | 'method'>): OutputContract | undefined {
    const { server, tool, method } = call;
    if (method !== undefined) return this.#contracts.ofRequests(this.#source.policy);
    const listed = this.#catalog.find(server, tool);
    return listed && this.#contracts.of(listed, this.#source.policy);
  }

  /**
   * Approves one exact call, on a human's word.
   * @returns the token for {@link GateCall.approvalToken}: for this call only, once, until it expires.
   * @throws ObservatoryError `INVALID_INPUT` when the call does not wait for approval.
   */
  approve(call: GateCall): string {
    const decision = this.evaluate(call);
    if (decision.decision !== 'allow' && decision.decision !== 'require_approval') {
      const message = `${call.server}/${call.tool} cannot be approved: ${decision.message}`;
      throw new ObservatoryError('INVALID_INPUT', message);
    }
    const { usableMs } = approvalLimits(this.#source.policy?.document.approval);
    return this.#approvals.grant(toBinding(call, decision), usableMs);
  }

  /** G4: judges the result of a call by the tool as it is listed now. */
  checkOutput(call: Pick<GateCall, 'server' | 'tool' | 'args'>, result: unknown): OutputVerdict {
    return takeAll(judgeOutput(result, call.args, this.outputContract(call))).verdict;
  }

  /** G5: judges a summary against the typed result it is about. */
  checkSummary(source: unknown, summary: unknown, echo: Echo = {}): SummaryVerdict {
    return checkSummary(source, summary, echo, this.#options);
  }

  /** The risk tier that the rules of a decision carry. */
  riskTierOf(decision: Decision): string | undefined {
    return this.#source.policy?.riskTierOf(decision.ruleIds);
  }

  close(): void {
    this.#source.close();
    this.ledger.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
