/** One rule of a policy: compiled, and asked whether it applies to a call and accepts its arguments. */

import { type CompiledSchema, type JsonObject, type SchemaReading, StepBudget } from '../json/index.ts';
import type { ToolChecks } from './catalog.ts';
import { listArguments } from './ledger/index.ts';
import { compileRuleSchema, invalidPolicy, type RuleDocument } from './policy-file.ts';
import { compileSources, type FieldPattern, type SourceRule } from './sources/index.ts';

export interface CompiledRule {
  readonly document: RuleDocument;
  readonly tools: readonly string[];
  /** Arguments that have to be given. */
  readonly required: readonly string[];
  /**
   * The schemas of the arguments the rule names. A rule that allows takes what surely fits. One that stops or holds a call
   * takes all that may fit: a value that its limits cannot judge does not get around it.
   */
  readonly checks: Checks;
  /** What a rule that asks for approval takes by itself, where no rule allows the call: what surely fits. */
  readonly grants: Checks;
  /** Where arguments have to come from. */
  readonly sources: readonly SourceRule[];
  /** True for a rule that takes any arguments. */
  readonly isOpen: boolean;
  /** An argument that has to be given and to be one of these values. */
  readonly key: { readonly argument: string; readonly values: readonly unknown[] } | undefined;
}

type Checks = readonly (readonly [argument: string, schema: CompiledSchema])[];

/** @throws ObservatoryError `POLICY_INVALID` */
export function compileRule(document: RuleDocument, untrusted: readonly FieldPattern[] = []): CompiledRule {
  const tools = typeof document.tool === 'string' ? [document.tool] : document.tool;
  const { args, effect, id, required: wanted, provenance = [], sources = [] } = document;
  const named = Object.keys(args ?? {});
  if (effect !== 'allow' && (wanted !== undefined || provenance.length > 0 || sources.length > 0)) {
    throw invalidPolicy(`Rule '${id}': 'required', 'provenance' and 'sources' belong to allow rules`);
  }
  if (effect === 'deny' && document.once !== undefined)
    throw invalidPolicy(`Rule '${id}': 'once' is of no use in a deny rule`);
  const fromPrompt = provenance.map((arg) => ({ arg, from: ['prompt'] }));
  // A deny rule applies when all arguments it names are given; an allow rule constrains those that are given.
  const required = effect === 'allow' ? (wanted ?? []) : named;
  const compiled = (reading: SchemaReading): Checks =>
    Object.entries(args ?? {}).map(
      ([name, schema]) =>
        [name, compileRuleSchema(`rule '${id}', argument '${name}'`, schema, reading)] as const,
    );
  const checks = compiled(effect === 'allow' ? 'narrow' : 'wide');
  return {
    document,
    tools,
    required,
    checks,
    grants: effect === 'require_approval' ? compiled('narrow') : checks,
    sources: compileSources(id, [...fromPrompt, ...sources], untrusted),
    isOpen: args === undefined && required.length === 0,
    key: toKey(checks, required),
  };
}

/**
 * What `const` and `enum` want of a required argument: most rules of a long policy differ in nothing else. By what the
 * schema was compiled to, not by its text: dialects differ in which keywords count.
 */
function toKey(checks: Checks, required: readonly string[]): CompiledRule['key'] {
  for (const [argument, { wants }] of checks) {
    const isPlain = wants.values?.every((value) => typeof value !== 'object') === true;
    if (isPlain && required.includes(argument)) return { argument, values: wants.values ?? [] };
  }
  return undefined;
}

/** A check that could not be finished counts against the call: it denies, and it does not allow. */
export function applies(rule: CompiledRule, args: JsonObject, budget: StepBudget): boolean {
  for (const name of rule.required) if (!Object.hasOwn(args, name)) return false;
  try {
    for (const [name, schema] of rule.checks) {
      if (Object.hasOwn(args, name) && !schema.test(args[name], budget)) return false;
    }
    return true;
  } catch {
    return rule.document.effect !== 'allow';
  }
}

/** Whether a rule that asks for approval may be what lets a person decide, where no rule allows the call. */
export function grants(rule: CompiledRule, args: JsonObject, budget: StepBudget): boolean {
  try {
    return rule.grants.every(([name, schema]) => schema.test(args[name], budget));
  } catch {
    return false;
  }
}

const STRENGTH = { allow: 0, require_approval: 1, deny: 2 } as const;

/** Deny beats approval, approval beats allow. */
export function rateStrength({ document }: CompiledRule): number {
  return STRENGTH[document.effect];
}

/** The rules of one tool. */
export class ToolRules {
  readonly all: CompiledRule[] = [];
  readonly allowing: CompiledRule[] = [];
  /** The strongest rule that takes any arguments: weaker rules never decide. */
  cover: CompiledRule | undefined;
  /** The rules that name an argument the tool does not take, by the definition with this hash. */
  dead: { readonly hash: string; readonly rules: ReadonlySet<CompiledRule> } = { hash: '', rules: new Set() };
  /** The position of each rule, which is the order of the policy. */
  readonly #positions = new Map<CompiledRule, number>();
  readonly #unkeyed: CompiledRule[] = [];
  readonly #keyed = new Map<string, Map<unknown, CompiledRule[]>>();

  add(rule: CompiledRule): void {
    this.#positions.set(rule, this.all.length);
    this.all.push(rule);
    if (rule.document.effect === 'allow') this.allowing.push(rule);
    const isStronger = this.cover === undefined || rateStrength(rule) > rateStrength(this.cover);
    if (rule.isOpen && isStronger) this.cover = rule;
    if (rule.key === undefined) {
      this.#unkeyed.push(rule);
      return;
    }
    const { argument, values } = rule.key;
    const byValue = this.#keyed.get(argument) ?? new Map<unknown, CompiledRule[]>();
    this.#keyed.set(argument, byValue);
    for (const value of new Set(values)) {
      const rules = byValue.get(value);
      if (rules === undefined) byValue.set(value, [rule]);
      else rules.push(rule);
    }
  }

  /** The rules that apply to a call with these arguments, in the order of the policy. */
  applying(args: JsonObject, budget: StepBudget): readonly CompiledRule[] {
    const applying = this.#unkeyed.filter((rule) => applies(rule, args, budget));
    const count = applying.length;
    for (const [argument, byValue] of this.#keyed) {
      if (!Object.hasOwn(args, argument)) continue;
      for (const rule of byValue.get(args[argument]) ?? []) {
        if (applies(rule, args, budget)) applying.push(rule);
      }
    }
    if (applying.length === count) return applying;
    const position = (rule: CompiledRule): number => this.#positions.get(rule) ?? 0;
    return applying.sort((a, b) => position(a) - position(b));
  }
}

/** What one rule says of a call. */
export interface RuleTrace {
  readonly id: string;
  readonly effect: RuleDocument['effect'];
  readonly applies: boolean;
  readonly why: string;
}

/** The first argument that is not as the rule wants it. */
function findProblem(rule: CompiledRule, args: JsonObject): string | undefined {
  const missing = rule.required.find((name) => !Object.hasOwn(args, name));
  if (missing !== undefined) return `the value must have required property '${missing}'`;
  for (const [name, schema] of rule.checks) {
    const verdict = Object.hasOwn(args, name) ? schema.check(args[name]) : undefined;
    if (verdict?.valid === false) return `/${name} ${verdict.message.replace(/^the value /, '')}`;
  }
  return undefined;
}

/** @param unmet the condition on a source that is not met, in words. */
export function toTrace(rule: CompiledRule, args: JsonObject, unmet: string | undefined): RuleTrace {
  const { id, effect } = rule.document;
  const isMet = applies(rule, args, new StepBudget());
  const why =
    findProblem(rule, args) ??
    (unmet !== undefined ? `but ${unmet}` : undefined) ??
    (rule.isOpen ? 'whatever the arguments are' : 'the arguments are as it says');
  return { id, effect, applies: isMet, why };
}

/** The ids of those rules that have this effect. */
export function listIds(rules: readonly CompiledRule[], effect: RuleDocument['effect']): readonly string[] {
  return rules.filter((rule) => rule.document.effect === effect).map((rule) => rule.document.id);
}

/** Whether a rule names an argument that the tool does not take: it then does not say what its author meant. */
export function namesUndeclared(
  { args, required = [], provenance = [], sources = [], once }: RuleDocument,
  checks: ToolChecks,
  budget: StepBudget,
): boolean {
  if (checks.declared.isExplicit) return false;
  const effect = once === undefined ? [] : listArguments(once);
  const parts = [...sources.map(({ arg }) => arg), ...effect].map((arg) => arg.replace(/[.[].*$/, ''));
  return [...Object.keys(args ?? {}), ...required, ...provenance, ...parts].some(
    (name) => !checks.declares(name, budget),
  );
}
