/**
 * G3: the operator's rules. Deny beats approval, approval beats allow, and what no rule allows is denied.
 */
import type { ObservatoryError } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import type { ToolCatalog } from './catalog.ts';
import { compileRuleSchema, invalidPolicy, type LoadedPolicy, type PolicyDocument } from './policy-file.ts';
import type { ReasonCode } from './reasons/index.ts';
import { applies, argumentNotGivenByUser, type CompiledRule, compileRule, deadRules, idsOf } from './rule.ts';

/** What the rules say about a call. */
export interface RuleVerdict {
  readonly decision: 'allow' | 'deny' | 'require_approval';
  readonly reasonCode: ReasonCode;
  readonly message: string;
  /** The rules that made the decision. */
  readonly ruleIds: readonly string[];
}

export class Policy {
  readonly document: PolicyDocument;
  /** SHA-256 of the policy, hex. */
  readonly hash: string;
  /** Rules by server and tool, so that other tools' rules do not slow a decision. */
  readonly #rules = new Map<string, Map<string, CompiledRule[]>>();
  readonly #all: readonly CompiledRule[];
  readonly #tiers = new Map<string, string>();

  /**
   * Compiles a policy, refuses rules that can never decide anything, and runs the tests its rules carry.
   * @throws ObservatoryError `POLICY_INVALID`
   */
  constructor(loaded: LoadedPolicy) {
    this.document = loaded.document;
    this.hash = loaded.hash;
    const ids = new Set<string>();
    this.#all = loaded.document.rules.map((rule) => {
      if (ids.has(rule.id)) throw invalidPolicy(`Two rules have the id '${rule.id}'`);
      ids.add(rule.id);
      if (rule.risk_tier !== undefined) this.#tiers.set(rule.id, rule.risk_tier);
      return compileRule(rule);
    });
    for (const [server, tools] of Object.entries(loaded.document.outputs ?? {})) {
      for (const [tool, output] of Object.entries(tools)) {
        if (output.schema !== undefined) compileRuleSchema(`output '${server}/${tool}'`, output.schema);
      }
    }
    for (const rule of this.#all) this.#index(rule);
    for (const rule of this.#all) this.#refuseUnreachable(rule);
    for (const rule of this.#all) this.#runTests(rule);
  }

  /**
   * Decides by the rules alone.
   * @param userRequest what the user asked; without it an argument with a provenance rule always needs approval.
   */
  evaluate(server: string, tool: string, args: JsonObject, userRequest?: string): RuleVerdict {
    const rules = this.#rules.get(server)?.get(tool) ?? [];
    const applying = rules.filter((rule) => applies(rule, args));
    const denying = idsOf(applying, 'deny');
    if (denying.length > 0) {
      return {
        decision: 'deny',
        reasonCode: 'rule_denied',
        message: `Rule ${denying[0]} denies it`,
        ruleIds: denying,
      };
    }
    const asking = idsOf(applying, 'require_approval');
    if (asking.length > 0) {
      const message = `Rule ${asking[0]} wants a human to approve it`;
      return { decision: 'require_approval', reasonCode: 'approval_required', message, ruleIds: asking };
    }
    const allowing = applying.filter((rule) => rule.document.effect === 'allow');
    if (allowing.length === 0) return denyByDefault(server, tool, rules);
    const ruleIds = allowing.map((rule) => rule.document.id);
    // One rule whose provenance condition holds is enough: allow rules only add to what is allowed.
    const notGiven = allowing.map((rule) => argumentNotGivenByUser(rule.document, args, userRequest));
    const argument = notGiven.includes(undefined) ? undefined : notGiven[0];
    if (argument !== undefined) {
      const message = `The argument '${argument}' holds a text the user did not give`;
      return { decision: 'require_approval', reasonCode: 'approval_required', message, ruleIds };
    }
    return { decision: 'allow', reasonCode: 'allowed', message: `Rule ${ruleIds[0]} allows it`, ruleIds };
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
  mayAllow(server: string, tool: string): boolean {
    const rules = this.#rules.get(server)?.get(tool) ?? [];
    const isBarred = rules.some((rule) => rule.document.effect === 'deny' && rule.check === undefined);
    return !isBarred && rules.some((rule) => rule.document.effect !== 'deny');
  }

  /**
   * The error of a policy with rules that can never apply to what the servers list; undefined when all of them can.
   * @param servers the servers to check against. With `'all'`, a rule for any other server is dead too.
   */
  deadRulesError(
    catalog: ToolCatalog,
    servers: readonly string[] | 'all' = catalog.servers(),
  ): ObservatoryError | undefined {
    const dead = deadRules(this.#all, catalog, servers);
    if (dead.length === 0) return undefined;
    return invalidPolicy(`The policy has dead rules: ${dead.slice(0, 10).join('; ')}`);
  }

  #index(rule: CompiledRule): void {
    const { server } = rule.document;
    let byTool = this.#rules.get(server);
    if (byTool === undefined) {
      byTool = new Map();
      this.#rules.set(server, byTool);
    }
    for (const tool of rule.tools) {
      const rules = byTool.get(tool);
      if (rules === undefined) byTool.set(tool, [rule]);
      else rules.push(rule);
    }
  }

  #refuseUnreachable(rule: CompiledRule): void {
    const strength = STRENGTH[rule.document.effect];
    for (const tool of rule.tools) {
      const others = this.#rules.get(rule.document.server)?.get(tool) ?? [];
      const cover = others.find(
        (other) => other.check === undefined && STRENGTH[other.document.effect] > strength,
      );
      if (cover !== undefined) {
        const { id } = rule.document;
        throw invalidPolicy(
          `Rule '${id}' can never decide about '${tool}': rule '${cover.document.id}' comes first`,
        );
      }
    }
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

const STRENGTH = { allow: 0, require_approval: 1, deny: 2 } as const;

function denyByDefault(server: string, tool: string, rules: readonly CompiledRule[]): RuleVerdict {
  const near = rules.filter((rule) => rule.document.effect === 'allow').map((rule) => rule.document.id);
  return near.length === 0
    ? {
        decision: 'deny',
        reasonCode: 'not_allowlisted',
        message: `No rule allows ${server}/${tool}`,
        ruleIds: [],
      }
    : {
        decision: 'deny',
        reasonCode: 'argument_rule_unmet',
        message: `Rule ${near[0]} allows ${server}/${tool}, not with these arguments`,
        ruleIds: near,
      };
}
