/**
 * The policy gate: a call reaches a server only if a rule allows it, its arguments fit the tool's schema and the tool's
 * definition is approved; a result is handed on only if it is what the tool promised.
 *
 * Terms: a *call* is a requested tool call; a *decision* is the gate's answer to it (`allow`, `deny`, `require_approval`);
 * a tool is *barred* when its definition must not be used. Deny beats approval, approval beats allow, and the default
 * is deny. Any failure inside the gate is a denial with a reason code.
 */

import { ObservatoryError } from '../base/index.ts';
import type { ToolDefinition } from '../mcp-client/index.ts';
import { Approvals, bindingOf } from './approvals.ts';
import { Budgets } from './budgets.ts';
import { type CatalogTool, ToolCatalog } from './catalog.ts';
import { type Decision, refused, revise, withoutRecord } from './decision.ts';
import { applyAnswer, askDecisionPoint } from './decision-point.ts';
import { evaluateCall } from './evaluate.ts';
import type { Echo } from './evidence/index.ts';
import { checkSummary, type SummaryVerdict } from './evidence/index.ts';
import type { GateCall, PolicyGateOptions } from './gate-types.ts';
import { checkInput, type InputVerdict } from './input-policy.ts';
import { judgeOutput, type OutputVerdict } from './output.ts';
import { type OutputContract, OutputContracts } from './output-contract.ts';
import { PinStore } from './pins.ts';
import type { Policy } from './policy.ts';
import { PolicySource } from './policy-source.ts';
import { countDecision } from './telemetry.ts';

/** Writes a decision down before it takes effect. A throw denies the call: a call that is not on record is not made. */
export type DecisionRecorder = (decision: Decision) => void;

export class PolicyGate {
  readonly #options: PolicyGateOptions;
  readonly #catalog: ToolCatalog;
  readonly #source: PolicySource;
  readonly #contracts: OutputContracts;
  #approvals: Approvals;
  #budgets: Budgets;
  /** The policy that approvals and budgets were made for. */
  #current: Policy | undefined;

  /**
   * Opens a gate. A policy that cannot be used does not throw here: the gate denies everything and says why in
   * {@link problem}; call {@link assertReady} to refuse to start instead.
   */
  constructor(options: PolicyGateOptions) {
    this.#options = options;
    this.#contracts = new OutputContracts(options.outputTypes);
    this.#catalog = new ToolCatalog({
      pins: options.pins ?? new PinStore({ trustFirstUse: true }),
      allowsDuplicates: () => this.#source.policy?.document.duplicate_names === 'allow',
      metaKeys: options.metaKeys,
    });
    // A changed policy must fit the tools listed by then; at the start none are.
    this.#source = new PolicySource(options.policy, (policy) => policy.deadRulesError(this.#catalog));
    for (const [server, { tools }] of Object.entries(options.tools ?? {}))
      this.#catalog.setServer(server, tools);
    if (options.tools !== undefined) this.checkRules('all');
    this.#approvals = new Approvals();
    this.#budgets = new Budgets(undefined);
    this.#adopt(this.#source.policy);
    const interval = options.reloadIntervalMs ?? 0;
    if (interval > 0) this.#source.watch(interval, (outcome) => options.onReload?.(outcome));
  }

  /** Why the policy cannot be used, or why its last change could not; undefined when all is well. */
  get problem(): ObservatoryError | undefined {
    return this.#source.problem;
  }

  /** SHA-256 of the policy in force; null while there is none and everything is denied. */
  get policyHash(): string | null {
    return this.#source.policy?.hash ?? null;
  }

  /** @throws ObservatoryError `POLICY_INVALID` when there is no usable policy. */
  assertReady(): void {
    if (this.#source.policy !== undefined) return;
    throw this.#source.problem ?? new ObservatoryError('POLICY_INVALID', 'There is no policy');
  }

  /** Reads the policy file again; see {@link PolicySource.reload}. */
  reload(): boolean {
    return this.#source.reload();
  }

  /** Replaces what a server lists. The first listing also settles whether rules about this server can ever apply. */
  setTools(server: string, tools: readonly ToolDefinition[]): void {
    const isFirst = !this.#catalog.hasServer(server);
    this.#catalog.setServer(server, tools);
    if (isFirst) this.checkRules([server]);
  }

  /** Removes a server that does not answer. Its tools cannot be called; rules about it do not count as dead. */
  removeServer(server: string): void {
    this.#catalog.removeServer(server);
  }

  /** Denies everything from now on if rules about these servers can never apply. */
  checkRules(servers: readonly string[] | 'all'): void {
    const error = this.#source.policy?.deadRulesError(this.#catalog, servers);
    if (error !== undefined) this.#source.revoke(error);
  }

  /** The tool as the server lists it now, barred ones included. */
  find(server: string, tool: string): CatalogTool | undefined {
    return this.#catalog.find(server, tool);
  }

  /** The tools a model may be shown: listed now, not barred, allowable by some rule, with results that can be accepted. */
  allowedTools(server?: string): readonly CatalogTool[] {
    const policy = this.#source.policy;
    if (policy === undefined) return [];
    return this.#catalog
      .tools(server)
      .filter(
        (tool) =>
          tool.barred === undefined &&
          policy.mayAllow(tool.server, tool.name) &&
          this.#contracts.of(tool, policy) !== undefined,
      );
  }

  /** Tools that are kept away, with the reason. */
  barred(): readonly CatalogTool[] {
    return this.#catalog.tools().filter((tool) => tool.barred !== undefined);
  }

  /** G0: judges a request before anything is done for it. */
  checkInput(request: string): InputVerdict {
    return checkInput(request, this.#source.policy?.document.input);
  }

  /** G2 and the built-in rules of G3. Uses nothing up: the same call gets the same decision. */
  evaluate(call: GateCall): Decision {
    return evaluateCall(call, {
      catalog: this.#catalog,
      source: this.#source,
      digestKey: this.#options.digestKey,
      contracts: this.#contracts,
    });
  }

  /**
   * The whole decision about a call that is about to be made: {@link evaluate}, then the external decision point, then
   * the approval, which is used up, then the budgets. Counted once, with its final outcome.
   * @param record writes the decision down; the call is denied when it throws, and `authorize` throws the same.
   */
  async authorize(call: GateCall, record?: DecisionRecorder): Promise<Decision> {
    const started = performance.now();
    let decision = this.evaluate(call);
    const point = this.#options.decisionPoint;
    if (point !== undefined && decision.decision !== 'deny') {
      const { caller = '', server, tool, args, userRequest } = call;
      const toolHash = decision.toolHash ?? '';
      const answer = await askDecisionPoint(point, { caller, server, tool, args, toolHash, userRequest });
      decision = applyAnswer(decision, answer);
    }
    // The definition may have changed while the decision point was asked. There is no await from here on.
    const isDenied = decision.decision === 'deny' && decision.enforcement === 'enforced';
    if (!isDenied && this.#catalog.find(call.server, call.tool)?.hash !== decision.toolHash)
      decision = refused(decision, 'tool_changed', 'The definition changed while it was decided');
    this.#adopt(this.#source.policy);
    if (decision.decision === 'require_approval' && call.approvalToken !== undefined) {
      const isApproved = this.#approvals.redeem(call.approvalToken, bindingOf(call, decision));
      decision = isApproved
        ? revise(decision, 'allow', 'approved', 'A human approved this exact call')
        : revise(
            decision,
            'deny',
            'approval_invalid',
            'The approval is unknown, used, expired or for another call',
          );
    }
    if (decision.decision === 'allow') {
      const spent = this.#budgets.take(call.runId ?? '', call.server, call.tool);
      if (spent !== undefined) decision = revise(decision, 'deny', spent.reasonCode, spent.message);
    }
    // No await from here to the call: the definition that was decided about is the one that is called.
    decision = { ...decision, latencyUs: (performance.now() - started) * 1_000 };
    try {
      record?.(decision);
    } catch (cause) {
      countDecision(withoutRecord(decision), call.server, call.tool);
      throw cause;
    }
    countDecision(decision, call.server, call.tool);
    return decision;
  }

  /**
   * How the result of a call will be judged. Ask before the call is made: the server may list other tools by the time it
   * answers. Undefined when no result would be accepted.
   */
  outputContract({ server, tool }: Pick<GateCall, 'server' | 'tool'>): OutputContract | undefined {
    const listed = this.#catalog.find(server, tool);
    return listed === undefined ? undefined : this.#contracts.of(listed, this.#source.policy);
  }

  /**
   * Approves one exact call, on a human's word.
   * @returns the token for {@link GateCall.approvalToken}: for this call only, once, until it expires.
   * @throws ObservatoryError `INVALID_INPUT` when the call does not wait for approval.
   */
  approve(call: GateCall): string {
    const decision = this.evaluate(call);
    if (decision.decision !== 'allow' && decision.decision !== 'require_approval') {
      throw new ObservatoryError(
        'INVALID_INPUT',
        `${call.server}/${call.tool} cannot be approved: ${decision.message}`,
      );
    }
    this.#adopt(this.#source.policy);
    return this.#approvals.grant(bindingOf(call, decision));
  }

  /** G4: judges the result of a call by the tool as it is listed now. */
  checkOutput(call: Pick<GateCall, 'server' | 'tool' | 'args'>, result: unknown): OutputVerdict {
    return judgeOutput(result, call.args, this.outputContract(call)).verdict;
  }

  /** G5: judges a summary against the typed result it is about. */
  checkSummary(source: unknown, summary: unknown, echo: Echo = {}): SummaryVerdict {
    return checkSummary(source, summary, echo);
  }

  /** The risk tier that the rules of a decision carry. */
  riskTierOf(decision: Decision): string | undefined {
    return this.#source.policy?.riskTierOf(decision.ruleIds);
  }

  close(): void {
    this.#source.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** A new policy brings its own budgets and approvals; those given under the old one are void. */
  #adopt(policy: Policy | undefined): void {
    if (policy === this.#current) return;
    this.#current = policy;
    const seconds = policy?.document.approval?.expires_seconds;
    this.#approvals = new Approvals({ expiresMs: seconds === undefined ? undefined : seconds * 1_000 });
    this.#budgets = new Budgets(policy?.document.budgets);
  }
}
