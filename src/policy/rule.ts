/** One rule of a policy: compiled, and asked whether it applies to a call and is content with its arguments. */

import type { JsonObject, SchemaVerdict } from '../json/index.ts';
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
  // A deny rule names what must be there to be denied; an allow rule says how what is there must look.
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

/** The first argument under a provenance rule with a text that the user's request does not hold. */
export function strangerOf(
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
