/**
 * G3: the operator's rules. Deny beats approval, approval beats allow, and what no rule allows is denied.
 */
import { type JsonObject, StepBudget } from '../json/index.ts';
import type { CatalogTool } from './catalog.ts';
import { type DecisionKind, type Refusal, refusal } from './decision.ts';
import { LedgerWords } from './ledger-words.ts';
import { compileRuleSchema, invalidPolicy, type LoadedPolicy, type PolicyDocument } from './policy-file.ts';
import { RequestRules } from './requests.ts';
import { type CompiledRule, compileRule, grants, listIds, type RuleTrace, toTrace } from './rule.ts';
import { ALL_FIT, NO_RULES, RuleIndex, type ToolRules, type Unfit } from './rule-index.ts';
import {
  type ArgumentSource,
  describeSource,
  type FieldPattern,
  findUnmet,
  type Knowledge,
  type NotedValue,
  readField,
  type TracedValue,
  toSource,
  traceValues,
} from './sources/index.ts';
import { propertyNamesIn } from './tool-definition.ts';

/** What the rules say about a call. */
export interface RuleVerdict extends Refusal {
  readonly decision: DecisionKind;
  readonly ruleIds: readonly string[];
  /** Where the arguments came from, where the policy has words about it. */
  readonly sources?: readonly ArgumentSource[] | undefined;
}

type Traced = readonly TracedValue[] | undefined;
const untraced = (): Traced => undefined;

export class Policy {
  readonly document: PolicyDocument;
  /** The policy as its file has it. */
  readonly source: JsonObject;
  /** SHA-256 of the policy, hex. */
  readonly hash: string;
  readonly #rules: RuleIndex;
  /** Every rule, in the order of the policy. */
  readonly rules: readonly CompiledRule[];
  readonly #tiers = new Map<string, string>();
  readonly #untrusted: readonly FieldPattern[];
  /** Whether the sources of arguments are traced through a run. */
  readonly tracksSources: boolean;
  /** Whether some rule asks if arguments are in the request. */
  readonly readsRequests: boolean;
  /** What the policy says about calls before; undefined where it has no words about them. */
  readonly ledger: LedgerWords | undefined;
  /** What the policy says about everything but tool calls. */
  readonly requests: RequestRules;

  /**
   * Compiles a policy, refuses rules that can never decide anything, and runs the tests its rules carry.
   * @throws ObservatoryError `POLICY_INVALID`
   */
  constructor(loaded: LoadedPolicy) {
    this.document = loaded.document;
    this.hash = loaded.hash;
    this.source = loaded.source;
    const { untrusted = [], rules } = loaded.document;
    this.#untrusted = untrusted.map((field) => readField(field, "'untrusted'"));
    this.tracksSources = untrusted.length > 0 || rules.some(({ sources }) => sources !== undefined);
    const ids = new Set<string>();
    this.rules = rules.map((rule) => {
      if (ids.has(rule.id)) throw invalidPolicy(`Two rules have the id '${rule.id}'`);
      ids.add(rule.id);
      if (rule.risk_tier !== undefined) this.#tiers.set(rule.id, rule.risk_tier);
      return compileRule(rule, this.#untrusted);
    });
    this.readsRequests = this.tracksSources || this.rules.some(({ sources }) => sources.length > 0);
    for (const [server, tools] of Object.entries(loaded.document.outputs ?? {})) {
      for (const [tool, output] of Object.entries(tools)) {
        if (output.schema !== undefined)
          compileRuleSchema(`output '${server}/${tool}'`, output.schema, 'narrow');
      }
    }
    this.ledger = LedgerWords.compile(loaded.document, this.rules);
    this.requests = new RequestRules(loaded.document.servers);
    this.#rules = new RuleIndex(this.rules);
    for (const rule of this.rules) this.#runTests(rule);
  }

  /**
   * Decides by the rules alone.
   * @param known where arguments may have come from; without it they come from nowhere.
   * @param listed the tool as its server lists it: rules that cannot mean it allow nothing.
   */
  evaluate(
    server: string,
    tool: string,
    args: JsonObject,
    known: Knowledge = {},
    listed?: CatalogTool,
  ): RuleVerdict {
    const trace = this.readsRequests ? this.#tracer(args, known, listed) : untraced;
    const verdict = this.#judge(server, tool, args, trace, listed);
    if (!this.tracksSources) return verdict;
    const sources = trace()?.map((value) => toSource(value, this.#untrusted)) ?? [];
    if (verdict.decision !== 'require_approval') return { ...verdict, sources };
    // Who decides has to know it.
    const told = sources
      .filter(({ argument }) => !verdict.message.includes(`'${argument}'`))
      .slice(0, MAX_TOLD);
    const message = [verdict.message, ...told.map(describeSource)].join('; ');
    return { ...verdict, message, sources };
  }

  /** The values of a call that goes out. */
  noteValues(args: JsonObject, known: Knowledge, listed: CatalogTool | undefined): readonly NotedValue[] {
    return (this.#tracer(args, known, listed)() ?? []).map((traced) => {
      const { source } = toSource(traced, this.#untrusted);
      return { value: traced.value, hasSource: TRUSTED.has(source) };
    });
  }

  /** Traces the arguments when it is first asked to. */
  #tracer(args: JsonObject, known: Knowledge, listed: CatalogTool | undefined): () => Traced {
    let traced: { readonly values: Traced } | undefined;
    return () => {
      traced ??= {
        values: traceValues(args, known, propertyNamesIn(listed?.definition.inputSchema)),
      };
      return traced.values;
    };
  }

  /** The condition of a rule on a source that is not met. */
  #unmetBy(
    rule: CompiledRule,
    trace: () => Traced,
  ): { readonly otherwise: 'ask' | 'deny'; readonly why: string } | undefined {
    const unmet = rule.sources.length === 0 ? undefined : findUnmet(rule.sources, trace(), this.#untrusted);
    if (unmet === undefined) return undefined;
    const { otherwise, arg } = unmet.rule;
    const source = unmet.value === undefined ? undefined : toSource(unmet.value, this.#untrusted);
    return {
      otherwise,
      why: source === undefined ? `'${arg}' holds too many values` : describeSource(source),
    };
  }

  #judge(
    server: string,
    tool: string,
    args: JsonObject,
    trace: () => Traced,
    listed: CatalogTool | undefined,
  ): RuleVerdict {
    const rules = this.#rules.of(server, tool);
    const { dead, apart } = this.#unfitFor(rules, listed);
    for (const rule of dead) if (rule.document.effect !== 'allow') return denyAsDead(rule);
    const budget = new StepBudget();
    const matching = rules?.applying(args, budget) ?? [];
    const isAllFit = dead.size + apart.size === 0;
    const applying = isAllFit ? matching : matching.filter((rule) => !dead.has(rule) && !apart.has(rule));
    const denying = listIds(applying, 'deny');
    if (denying.length > 0) {
      const message = `Rule ${denying[0]} denies it`;
      return { decision: 'deny', reasonCode: 'rule_denied', message, ruleIds: denying };
    }
    const allowing = applying.filter((rule) => rule.document.effect === 'allow');
    const holding = applying.filter((rule) => rule.document.effect === 'require_approval');
    const asking = listIds(holding, 'require_approval');
    // A person decides what some rule means: a value that only may fit is not asked about, unless it was allowed.
    if (allowing.length > 0 ? asking.length > 0 : holding.some((rule) => grants(rule, args, budget))) {
      const message = `Rule ${asking[0]} wants a human to approve it`;
      return { decision: 'require_approval', reasonCode: 'approval_required', message, ruleIds: asking };
    }
    if (allowing.length === 0) {
      const [first] = dead;
      if (first !== undefined) return denyAsDead(first);
      const denied = denyByDefault(server, tool, rules);
      return this.asksAbout(server) ? askByDefault(server, denied) : denied;
    }
    const ruleIds = allowing.map((rule) => rule.document.id);
    // One rule whose conditions on sources hold is enough: allow rules only add to what is allowed.
    const unmet = allowing.map((rule) => this.#unmetBy(rule, trace));
    if (!unmet.includes(undefined)) {
      const asks = unmet.find((one) => one?.otherwise === 'ask');
      const message = `${(asks ?? unmet[0])?.why}, and rule ${ruleIds[0]} wants another source`;
      return asks === undefined
        ? { decision: 'deny', reasonCode: 'source_not_allowed', message, ruleIds }
        : { decision: 'require_approval', reasonCode: 'approval_required', message, ruleIds };
    }
    return { decision: 'allow', reasonCode: 'allowed', message: `Rule ${ruleIds[0]} allows it`, ruleIds };
  }

  /** What each rule about a tool says of a call, in the order of the policy. */
  explain(
    server: string,
    tool: string,
    args: JsonObject,
    known: Knowledge = {},
    listed?: CatalogTool,
  ): readonly RuleTrace[] {
    const rules = this.#rules.of(server, tool);
    const trace = this.readsRequests ? this.#tracer(args, known, listed) : untraced;
    const { apart } = this.#unfitFor(rules, listed);
    return (rules?.all ?? []).map((rule) =>
      toTrace(rule, args, this.#unmetBy(rule, trace)?.why, apart.has(rule)),
    );
  }

  #unfitFor(rules: ToolRules | undefined, listed: CatalogTool | undefined): Unfit {
    if (listed !== undefined) return this.#rules.unfitFor(listed);
    return rules?.unlisted ?? ALL_FIT;
  }

  /** Whether a person decides the calls of a server that no rule decides. */
  asksAbout(server: string): boolean {
    const { servers = {} } = this.document;
    return Object.hasOwn(servers, server) && servers[server]?.default === 'require_approval';
  }

  names(server: string, tool: string): boolean {
    return this.#rules.of(server, tool) !== undefined;
  }

  /** The risk tier the first of these rules carries. */
  riskTierOf(ruleIds: readonly string[]): string | undefined {
    for (const id of ruleIds) {
      const tier = this.#tiers.get(id);
      if (tier !== undefined) return tier;
    }
    return undefined;
  }

  /** True when some rule could let a call of this tool through; other tools are not shown to the model. */
  mayAllow(server: string, tool: string, listed?: CatalogTool): boolean {
    const rules = this.#rules.of(server, tool);
    if (rules === undefined || rules.cover?.document.effect === 'deny') return false;
    const { dead, apart } = listed === undefined ? ALL_FIT : this.#rules.unfitFor(listed);
    for (const rule of dead) if (rule.document.effect !== 'allow') return false;
    return rules.all.some((rule) => rule.document.effect !== 'deny' && !dead.has(rule) && !apart.has(rule));
  }

  /** Rules about a tool that name an argument it does not take. */
  deadRules(listed: CatalogTool): ReadonlySet<CompiledRule> {
    return this.#rules.unfitFor(listed).dead;
  }

  /** What {@link deadRules} said last. */
  knownDead(server: string, tool: string): ReadonlySet<CompiledRule> {
    return this.#rules.of(server, tool)?.fit.unfit.dead ?? NO_RULES;
  }

  /** Whether a rule was last found to say nothing of a tool, for the arguments that it names. */
  isIdle(rule: CompiledRule, server: string, tool: string): boolean {
    const { dead, apart } = this.#rules.of(server, tool)?.fit.unfit ?? ALL_FIT;
    return dead.has(rule) || (apart.has(rule) && rule.document.annotations === undefined);
  }

  /** Goes up whenever a rule is found dead or alive again. */
  get deadVersion(): number {
    return this.#rules.deadVersion;
  }

  #runTests({ document, tools }: CompiledRule): void {
    for (const [expected, cases] of Object.entries(document.tests ?? {})) {
      for (const args of cases) {
        for (const tool of tools) {
          const { decision } = this.evaluate(document.server, tool, args as JsonObject);
          if (decision !== expected) {
            const shown = JSON.stringify(args).slice(0, 200);
            throw invalidPolicy(
              `A test of rule '${document.id}' fails: ${shown} gives ${decision}, expected ${expected}`,
            );
          }
        }
      }
    }
  }
}

const TRUSTED: ReadonlySet<string> = new Set(['prompt', 'operator', 'approved', 'result']);

/** Most sources that the message of a held call tells. */
const MAX_TOLD = 4;

/** A restriction that names an argument the tool does not take restricts something else than meant: it bars the tool. */
function denyAsDead({ document: { id } }: CompiledRule): RuleVerdict {
  const message = `Rule ${id} names an argument the tool does not take`;
  return { decision: 'deny', reasonCode: 'rule_dead', message, ruleIds: [id] };
}

/** Rules named in the denial of a call that none of them allows. */
const MAX_NEAR = 20;

function denyByDefault(server: string, tool: string, rules: ToolRules | undefined): RuleVerdict {
  const near = (rules?.allowing.slice(0, MAX_NEAR) ?? []).map((rule) => rule.document.id);
  const why =
    near.length === 0
      ? refusal('not_allowlisted', `No rule allows ${server}/${tool}`)
      : refusal('argument_rule_unmet', `Rule ${near[0]} allows ${server}/${tool}, not with these arguments`);
  return { decision: 'deny', ...why, ruleIds: near };
}

function askByDefault(server: string, { message, ruleIds }: RuleVerdict): RuleVerdict {
  const why = `${message}, and the policy asks about other calls of ${server}`;
  return { decision: 'require_approval', reasonCode: 'approval_required', message: why, ruleIds };
}
