/** One rule of a policy: compiled, and asked whether it applies to a call and accepts its arguments. */

import type { JsonObject, SchemaVerdict } from '../json/index.ts';
import type { ToolCatalog } from './catalog.ts';
import { compileRuleSchema, invalidPolicy, type RuleDocument } from './policy-file.ts';

export interface CompiledRule {
  readonly document: RuleDocument;
  readonly tools: readonly string[];
  /** Checks the arguments the rule names; absent when it takes any. */
  readonly check: ((args: unknown) => SchemaVerdict) | undefined;
}

/** @throws ObservatoryError `POLICY_INVALID` */
export function compileRule(document: RuleDocument): CompiledRule {
  const tools = typeof document.tool === 'string' ? [document.tool] : document.tool;
  const { args, effect } = document;
  const named = Object.keys(args ?? {});
  if (effect !== 'allow' && (document.required !== undefined || document.provenance !== undefined)) {
    throw invalidPolicy(`Rule '${document.id}': 'required' and 'provenance' belong to allow rules`);
  }
  // A deny rule applies when all arguments it names are given; an allow rule constrains those that are given.
  const required = effect === 'allow' ? (document.required ?? []) : named;
  const isOpen = args === undefined && required.length === 0;
  const schema = { type: 'object', properties: { ...args }, required };
  return { document, tools, check: isOpen ? undefined : compileRuleSchema(`rule '${document.id}'`, schema) };
}

/** A check that could not be finished counts against the call: it denies, and it does not allow. */
export function applies(rule: CompiledRule, args: JsonObject): boolean {
  const verdict = rule.check?.(args);
  if (verdict === undefined || verdict.valid) return true;
  return verdict.failed && rule.document.effect !== 'allow';
}

/** The ids of those rules that have this effect. */
export function idsOf(rules: readonly CompiledRule[], effect: RuleDocument['effect']): readonly string[] {
  return rules.filter((rule) => rule.document.effect === effect).map((rule) => rule.document.id);
}

/** The first argument under a provenance rule with a text that is not in the user's request. */
export function argumentNotGivenByUser(
  rule: RuleDocument,
  args: JsonObject,
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

/**
 * Why rules can never apply to what the servers list; an empty list when all of them can. A rule for a tool or an
 * argument that does not exist is most often a typing error, and a typing error in a deny rule is a hole.
 * @param servers the servers to check against. With `'all'`, a rule for any other server is dead too.
 */
export function deadRules(
  rules: readonly CompiledRule[],
  catalog: ToolCatalog,
  servers: readonly string[] | 'all',
): readonly string[] {
  const dead: string[] = [];
  for (const { document, tools } of rules) {
    if (!catalog.hasServer(document.server)) {
      if (servers === 'all') dead.push(`rule '${document.id}': there is no server '${document.server}'`);
      continue;
    }
    if (servers !== 'all' && !servers.includes(document.server)) continue;
    for (const name of tools) {
      const tool = catalog.find(document.server, name);
      if (tool === undefined) {
        dead.push(`rule '${document.id}': server '${document.server}' has no tool '${name}'`);
        continue;
      }
      const { checks } = tool;
      if (checks === undefined) continue;
      for (const argument of argumentsNamedBy(document)) {
        const isDeclared = checks.declared.names.has(argument) || checks.matchesPattern(argument);
        if (!isDeclared && !checks.declared.isExplicit) {
          dead.push(`rule '${document.id}': tool '${name}' has no argument '${argument}'`);
        }
      }
    }
  }
  return dead;
}

function argumentsNamedBy(rule: RuleDocument): readonly string[] {
  return [...Object.keys(rule.args ?? {}), ...(rule.required ?? []), ...(rule.provenance ?? [])];
}
