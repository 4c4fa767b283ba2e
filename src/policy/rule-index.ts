/** The rules of a policy by server and tool, so that other tools' rules do not slow a decision. */
import { type JsonObject, readObject, StepBudget } from '../json/index.ts';
import type { CatalogTool } from './catalog.ts';
import { invalidPolicy } from './policy-file.ts';
import { applies, type CompiledRule, isPattern, namesTool, namesUndeclared, rateStrength } from './rule.ts';

/** The rules that do not decide about a tool, by its definition. */
export interface Unfit {
  /** They name an argument that the tool does not take: they do not say what their author meant. */
  readonly dead: ReadonlySet<CompiledRule>;
  /** They are about other tools: its annotations are others, or they were written for many tools of which it is none. */
  readonly apart: ReadonlySet<CompiledRule>;
}

export const NO_RULES: ReadonlySet<CompiledRule> = new Set();
export const ALL_FIT: Unfit = { dead: NO_RULES, apart: NO_RULES };

export class ToolRules {
  readonly all: CompiledRule[] = [];
  readonly allowing: CompiledRule[] = [];
  /** The strongest rule that takes any arguments: weaker rules never decide. */
  cover: CompiledRule | undefined;
  /** Those that say something about annotations: without a definition none of them decides. */
  readonly #claiming = new Set<CompiledRule>();
  /** What the definition with this hash makes of the rules. */
  fit: { readonly hash: string; readonly unfit: Unfit } = { hash: '', unfit: ALL_FIT };
  /** The position of each rule, which is the order of the policy. */
  readonly #positions = new Map<CompiledRule, number>();
  readonly #unkeyed: CompiledRule[] = [];
  readonly #keyed = new Map<string, Map<unknown, CompiledRule[]>>();

  add(rule: CompiledRule): void {
    this.#positions.set(rule, this.all.length);
    this.all.push(rule);
    if (rule.document.effect === 'allow') this.allowing.push(rule);
    if (rule.document.annotations !== undefined) this.#claiming.add(rule);
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

  get unlisted(): Unfit {
    return this.#claiming.size === 0 ? ALL_FIT : { dead: NO_RULES, apart: this.#claiming };
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

interface ServerRules {
  readonly named: Map<string, ToolRules>;
  /** Every rule of the server in the order of the policy, if one of them has a `*`. */
  readonly all: CompiledRule[];
  hasPatterns: boolean;
  readonly known: Map<string, ToolRules>;
}

/** Names that were asked for; models make them up. */
const MAX_KNOWN = 10_000;

export class RuleIndex {
  readonly #servers = new Map<string, ServerRules>();
  #deadVersion = 0;

  constructor(rules: readonly CompiledRule[]) {
    for (const rule of rules) this.#add(rule);
    for (const rule of rules) this.#refuseUnreachable(rule);
  }

  /** Goes up whenever a rule is found dead or alive again. */
  get deadVersion(): number {
    return this.#deadVersion;
  }

  /** The rules about a tool; about all that a pattern names, if it has a `*`. */
  of(server: string, tool: string): ToolRules | undefined {
    const rules = this.#servers.get(server);
    if (rules?.hasPatterns !== true) return rules?.named.get(tool);
    const known = rules.known.get(tool);
    if (known !== undefined) return known;
    const found = rules.all.filter((rule) => namesTool(rule, tool));
    if (found.length === 0) return undefined;
    const made = new ToolRules();
    for (const rule of found) made.add(rule);
    if (rules.known.size >= MAX_KNOWN) rules.known.clear();
    rules.known.set(tool, made);
    return made;
  }

  /** The rules that do not decide about a tool, worked out once for each definition. */
  unfitFor({ server, name, hash, checks, definition }: CatalogTool): Unfit {
    const rules = this.of(server, name);
    if (rules === undefined || checks === undefined) return ALL_FIT;
    if (rules.fit.hash !== hash) {
      const budget = new StepBudget();
      const apart = new Set<CompiledRule>();
      const dead = new Set<CompiledRule>();
      for (const rule of rules.all) {
        const { annotations, effect } = rule.document;
        if (!claims(annotations, definition.annotations)) apart.add(rule);
        else if (namesUndeclared(rule.document, checks, budget)) {
          // One for many tools says nothing of those that do not take the argument.
          const isForMany = effect !== 'allow' && !rule.tools.includes(name);
          (isForMany ? apart : dead).add(rule);
        }
      }
      if (dead.size > 0 || rules.fit.unfit.dead.size > 0) this.#deadVersion += 1;
      rules.fit = { hash, unfit: dead.size + apart.size === 0 ? ALL_FIT : { dead, apart } };
    }
    return rules.fit.unfit;
  }

  #add(rule: CompiledRule): void {
    const { server } = rule.document;
    const rules = this.#servers.get(server) ?? {
      named: new Map<string, ToolRules>(),
      all: [],
      hasPatterns: false,
      known: new Map<string, ToolRules>(),
    };
    this.#servers.set(server, rules);
    rules.all.push(rule);
    if (rule.tools.some(isPattern)) rules.hasPatterns = true;
    for (const tool of rule.tools) {
      const named = rules.named.get(tool) ?? new ToolRules();
      rules.named.set(tool, named);
      named.add(rule);
    }
  }

  #refuseUnreachable(rule: CompiledRule): void {
    for (const tool of rule.tools) {
      const cover = this.of(rule.document.server, tool)?.cover;
      if (cover !== undefined && rateStrength(cover) > rateStrength(rule)) {
        const { id } = rule.document;
        throw invalidPolicy(
          `Rule '${id}' can never decide about '${tool}': rule '${cover.document.id}' comes first`,
        );
      }
    }
  }
}

/**
 * Whether a tool says of itself what a rule wants. What it does not say is as MCP has it: it writes, destroys, and reaches
 * others. One that says it only reads and yet destroys is not taken at its better word.
 * Source: `ToolAnnotations` in the MCP schema, 2025-11-25.
 */
export function claims(wanted: object | undefined, annotations: unknown): boolean {
  if (wanted === undefined) return true;
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = readObject(annotations);
  const isReading = readOnlyHint === true && destructiveHint !== true;
  const said: Readonly<Record<string, boolean>> = {
    readOnlyHint: isReading,
    destructiveHint: !isReading && destructiveHint !== false,
    idempotentHint: isReading || idempotentHint === true,
    openWorldHint: openWorldHint !== false,
  };
  return Object.entries(wanted).every(([hint, value]) => said[hint] === value);
}
