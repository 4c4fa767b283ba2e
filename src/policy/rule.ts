/** One rule of a policy: compiled, and asked whether it applies to a call and accepts its arguments. */

import { matchesParts } from '../base/index.ts';
import { type CompiledSchema, type JsonObject, type SchemaReading, StepBudget } from '../json/index.ts';
import type { ToolChecks } from './catalog.ts';
import { listArguments } from './ledger/index.ts';
import { compileRuleSchema, invalidPolicy, type RuleDocument } from './policy-file.ts';
import { compileSources, type FieldPattern, type SourceRule } from './sources/index.ts';

export interface CompiledRule {
  readonly document: RuleDocument;
  readonly tools: readonly string[];
  /** Which of {@link tools} have a `*`, as the texts between them. */
  readonly patterns: readonly (readonly string[])[];
  readonly required: readonly string[];
  /**
   * The schemas of the arguments the rule names. A rule that allows takes what surely fits. One that stops or holds a call
   * takes all that may fit: a value that its limits cannot judge does not get around it.
   */
  readonly checks: Checks;
  /** What a rule that asks for approval takes by itself, where no rule allows the call: what surely fits. */
  readonly grants: Checks;
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
  const {
    args,
    effect,
    id,
    required: wanted,
    provenance = [],
    sources = [],
    only_args,
    annotations,
  } = document;
  const named = Object.keys(args ?? {});
  const isNarrowed = wanted !== undefined || only_args !== undefined;
  if (effect !== 'allow' && (isNarrowed || provenance.length > 0 || sources.length > 0)) {
    const words = "'required', 'only_args', 'provenance' and 'sources'";
    throw invalidPolicy(`Rule '${id}': ${words} belong to allow rules`);
  }
  if (effect === 'deny' && document.once !== undefined)
    throw invalidPolicy(`Rule '${id}': 'once' is of no use in a deny rule`);
  if (annotations !== undefined && document.tests !== undefined)
    throw invalidPolicy(`Rule '${id}': a rule about 'annotations' has no 'tests', which have no tool`);
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
    patterns: tools.filter(isPattern).map((tool) => tool.split(/\*+/)),
    required,
    checks,
    grants: effect === 'require_approval' ? compiled('narrow') : checks,
    sources: compileSources(id, [...fromPrompt, ...sources], untrusted),
    isOpen: [args, annotations, only_args].every((word) => word === undefined) && required.length === 0,
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

/** Whether a name of tools has a `*`, which stands for any characters. */
export const isPattern = (tool: string): boolean => tool.includes('*');

export function namesTool({ tools, patterns }: CompiledRule, tool: string): boolean {
  return tools.includes(tool) || patterns.some((pattern) => matchesParts(tool, pattern));
}

/** A check that could not be finished counts against the call: it denies, and it does not allow. */
export function applies(rule: CompiledRule, args: JsonObject, budget: StepBudget): boolean {
  for (const name of rule.required) if (!Object.hasOwn(args, name)) return false;
  if (findOther(rule, args) !== undefined) return false;
  try {
    for (const [name, schema] of rule.checks) {
      if (Object.hasOwn(args, name) && !schema.test(args[name], budget)) return false;
    }
    return true;
  } catch {
    return rule.document.effect !== 'allow';
  }
}

/** An argument that a rule with `only_args` does not name. */
function findOther(
  { document: { only_args, args = {} } }: CompiledRule,
  given: JsonObject,
): string | undefined {
  return only_args === true ? Object.keys(given).find((name) => !Object.hasOwn(args, name)) : undefined;
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
  const other = findOther(rule, args);
  if (other !== undefined) return `the rule names no argument ${JSON.stringify(other.slice(0, 64))}`;
  for (const [name, schema] of rule.checks) {
    const verdict = Object.hasOwn(args, name) ? schema.check(args[name]) : undefined;
    if (verdict?.valid === false) return `/${name} ${verdict.message.replace(/^the value /, '')}`;
  }
  return undefined;
}

/**
 * @param unmet the condition on a source that is not met, in words.
 * @param isApart the rule is not about this tool, by its definition.
 */
export function toTrace(
  rule: CompiledRule,
  args: JsonObject,
  unmet: string | undefined,
  isApart: boolean,
): RuleTrace {
  const { id, effect } = rule.document;
  if (isApart) return { id, effect, applies: false, why: 'the definition of the tool is not as it says' };
  const isMet = applies(rule, args, new StepBudget());
  const why =
    findProblem(rule, args) ??
    (unmet !== undefined ? `but ${unmet}` : undefined) ??
    (rule.isOpen ? 'whatever the arguments are' : 'the arguments are as it says');
  return { id, effect, applies: isMet, why };
}

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
