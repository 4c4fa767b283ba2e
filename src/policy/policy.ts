/**
 * G3: the operator's rules. Deny beats approval, approval beats allow, and what no rule allows is denied.
 */
import { ObservatoryError } from '../errors.ts';
import type { Catalogue } from './catalogue.ts';
import type { JsonRecord } from './plan.ts';
import {
  compileRuleSchema,
  type LoadedPolicy,
  type PolicyDocument,
  type RuleDocument,
} from './policy-file.ts';
import type { ReasonCode } from './reasons.ts';
import type { SchemaVerdict } from './schema-compiler.ts';

/** What the rules say about a call. */
export interface RuleVerdict {
  readonly decision: 'allow' | 'deny' | 'require_approval';
  readonly reasonCode: ReasonCode;
  readonly message: string;
  /** The rules that made the decision. */
  readonly ruleIds: readonly string[];
}

interface CompiledRule {
  readonly document: RuleDocument;
  readonly tools: readonly string[];
  /** Checks the arguments the rule names; absent when it takes any. */
  readonly check: ((args: unknown) => SchemaVerdict) | undefined;
}

export class Policy {
  readonly document: PolicyDocument;
  /** SHA-256 of the policy, hex. */
  readonly hash: string;
  /** Rules by server and tool, so that the number of rules does not slow a decision. */
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
      if (ids.has(rule.id)) throw invalid(`Two rules have the id '${rule.id}'`);
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
  evaluate(server: string, tool: string, args: JsonRecord, userRequest?: string): RuleVerdict {
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
    // One rule that is content with where the arguments come from is enough: rules only add what is allowed.
    const strangers = allowing.map((rule) => strangerOf(rule.document, args, userRequest));
    const stranger = strangers.includes(undefined) ? undefined : strangers[0];
    if (stranger !== undefined) {
      const message = `The argument '${stranger}' holds a text the user did not give`;
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
   * Why rules can never apply to what the servers list, or an empty list. A rule for a tool or an argument that does
   * not exist is most often a typing error, and a typing error in a deny rule is a hole.
   *
   * @param servers the servers to check against. With `'all'`, a rule for any other server is dead too.
   */
  deadRules(catalogue: Catalogue, servers: readonly string[] | 'all'): readonly string[] {
    const dead: string[] = [];
    for (const { document, tools } of this.#all) {
      if (!catalogue.hasServer(document.server)) {
        if (servers === 'all') dead.push(`rule '${document.id}': there is no server '${document.server}'`);
        continue;
      }
      if (servers !== 'all' && !servers.includes(document.server)) continue;
      for (const name of tools) {
        const tool = catalogue.find(document.server, name);
        if (tool === undefined) {
          dead.push(`rule '${document.id}': server '${document.server}' has no tool '${name}'`);
          continue;
        }
        const named = [
          ...Object.keys(document.args ?? {}),
          ...(document.required ?? []),
          ...(document.provenance ?? []),
        ];
        const { checks } = tool;
        if (checks === undefined) continue;
        for (const argument of named) {
          const isDeclared = checks.declared.names.has(argument) || checks.matchesPattern(argument);
          if (!isDeclared && !checks.declared.isExplicit) {
            dead.push(`rule '${document.id}': tool '${name}' has no argument '${argument}'`);
          }
        }
      }
    }
    return dead;
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
        throw invalid(
          `Rule '${id}' can never decide about '${tool}': rule '${cover.document.id}' comes first`,
        );
      }
    }
  }

  #runTests({ document, tools }: CompiledRule): void {
    for (const [expected, cases] of Object.entries(document.tests ?? {})) {
      for (const args of cases) {
        for (const tool of tools) {
          const { decision } = this.evaluate(document.server, tool, args as JsonRecord);
          if (decision !== expected) {
            const shown = JSON.stringify(args).slice(0, 200);
            throw invalid(
              `A test of rule '${document.id}' fails: ${shown} gives ${decision}, expected ${expected}`,
            );
          }
        }
      }
    }
  }
}

const STRENGTH = { allow: 0, require_approval: 1, deny: 2 } as const;

function compileRule(document: RuleDocument): CompiledRule {
  const tools = typeof document.tool === 'string' ? [document.tool] : document.tool;
  const { args, effect } = document;
  const named = Object.keys(args ?? {});
  if (effect !== 'allow' && (document.required !== undefined || document.provenance !== undefined)) {
    throw invalid(`Rule '${document.id}': 'required' and 'provenance' belong to allow rules`);
  }
  // A deny rule names what must be there to be denied; an allow rule says how what is there must look.
  const required = effect === 'allow' ? (document.required ?? []) : named;
  const isOpen = args === undefined && required.length === 0;
  const schema = { type: 'object', properties: { ...args }, required };
  return { document, tools, check: isOpen ? undefined : compileRuleSchema(`rule '${document.id}'`, schema) };
}

/** A check that could not be finished counts against the call: it denies, and it does not allow. */
function applies(rule: CompiledRule, args: JsonRecord): boolean {
  const verdict = rule.check?.(args);
  if (verdict === undefined || verdict.valid) return true;
  return verdict.failed && rule.document.effect !== 'allow';
}

function idsOf(rules: readonly CompiledRule[], effect: RuleDocument['effect']): readonly string[] {
  return rules.filter((rule) => rule.document.effect === effect).map((rule) => rule.document.id);
}

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

/** The first argument under a provenance rule with a text that the user's request does not hold. */
function strangerOf(
  rule: RuleDocument,
  args: JsonRecord,
  userRequest: string | undefined,
): string | undefined {
  return rule.provenance?.find(
    (name) =>
      Object.hasOwn(args, name) && !textsOf(args[name]).every((text) => userRequest?.includes(text) === true),
  );
}

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

function invalid(message: string): ObservatoryError {
  return new ObservatoryError('POLICY_INVALID', message);
}
