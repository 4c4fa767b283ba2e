/**
 * What an operator should look at: parts of the policy that do not do what they say, and names that servers share. None
 * of it stops the gate. What a finding is about is denied where it could let something through.
 */
import { diag } from '@opentelemetry/api';
import type { ToolCatalog } from './catalog.ts';
import type { Policy } from './policy.ts';
import { type CompiledRule, isPattern, namesTool } from './rule.ts';

export interface GateFinding {
  /** `dead_rule`: a rule that can never apply. `duplicate_tool`: a name that is listed twice. */
  readonly kind: 'dead_rule' | 'duplicate_tool';
  readonly server: string;
  readonly tool: string;
  readonly ruleId?: string | undefined;
  /** For people. */
  readonly message: string;
}

/** The findings of a gate, looked for again when policy or catalog have changed. */
export class GateFindings {
  readonly #policy: () => Policy | undefined;
  readonly #catalog: ToolCatalog;
  readonly #isComplete: boolean;
  #found:
    | { readonly policy: Policy | undefined; readonly version: number; readonly list: readonly GateFinding[] }
    | undefined;
  #reported: readonly GateFinding[] = [];

  constructor(policy: () => Policy | undefined, catalog: ToolCatalog, isComplete: boolean) {
    this.#policy = policy;
    this.#catalog = catalog;
    this.#isComplete = isComplete;
  }

  /** The same array until something changes. */
  list(): readonly GateFinding[] {
    const policy = this.#policy();
    const version = this.#catalog.version + (policy?.deadVersion ?? 0);
    if (this.#found?.policy !== policy || this.#found?.version !== version) {
      const list = policy === undefined ? [] : listFindings(policy, this.#catalog, this.#isComplete);
      this.#found = { policy, version, list };
    }
    return this.#found.list;
  }

  /** Logs the findings that were not there before. */
  report(): void {
    const before = this.#reported;
    const now = this.list();
    if (now === before) return;
    this.#reported = now;
    const known = new Set(before.map(({ message }) => message));
    for (const { message } of now) if (!known.has(message)) diag.error(`mcp-observatory: ${message}`);
  }
}

/**
 * The findings about a policy and what the servers list.
 * @param isComplete no server is missing: rules about any other are dead too.
 */
export function listFindings(
  policy: Policy,
  catalog: ToolCatalog,
  isComplete: boolean,
): readonly GateFinding[] {
  const findings: GateFinding[] = [];
  const named = new Map<string, { readonly server: string; readonly tool: string }>();
  for (const rule of policy.rules) {
    const { id: ruleId, server } = rule.document;
    for (const tool of rule.tools) {
      for (const name of isPattern(tool) ? catalog.names(server) : [tool])
        if (name === tool || namesTool(rule, name))
          named.set(JSON.stringify([server, name]), { server, tool: name });
      const why = whyDead(policy, rule, tool, catalog, isComplete);
      if (why === undefined) continue;
      findings.push({ kind: 'dead_rule', server, tool, ruleId, message: `Rule '${ruleId}' is dead: ${why}` });
    }
  }
  for (const { server, tool } of named.values()) {
    const message = policy.mayAllow(server, tool) ? whyShared(policy, catalog, server, tool) : undefined;
    if (message !== undefined) findings.push({ kind: 'duplicate_tool', server, tool, message });
  }
  return findings;
}

/** Why a rule can never apply to what its server lists, most often for a typing error. */
function whyDead(
  policy: Policy,
  rule: CompiledRule,
  tool: string,
  catalog: ToolCatalog,
  isComplete: boolean,
): string | undefined {
  const { server, effect } = rule.document;
  if (!catalog.hasServer(server)) return isComplete ? `there is no server '${server}'` : undefined;
  if (isPattern(tool)) {
    const names = catalog.names(server).filter((name) => namesTool(rule, name));
    if (names.length === 0) return `server '${server}' has no tool '${tool}'`;
    const isIdle = names.every((name) => policy.isIdle(rule, server, name));
    return isIdle ? `no tool '${tool}' of '${server}' takes the arguments it names` : undefined;
  }
  if (catalog.listed(server, tool) === undefined) return `server '${server}' has no tool '${tool}'`;
  if (!policy.knownDead(server, tool).has(rule)) return undefined;
  const effects = effect === 'allow' ? 'it allows nothing' : 'the tool is denied';
  return `it names an argument that '${tool}' of '${server}' does not take; ${effects}`;
}

function whyShared(policy: Policy, catalog: ToolCatalog, server: string, tool: string): string | undefined {
  const listed = catalog.listed(server, tool);
  if (listed === undefined) return undefined;
  if (listed === 'twice') return `'${tool}' is listed twice by '${server}', so it cannot be called`;
  const twins = catalog.twins(server, tool);
  const rivals = twins.filter((other) => policy.mayAllow(other, tool));
  if (rivals.length > 0 && policy.document.duplicate_names !== 'allow')
    return `'${tool}' is listed by '${server}' and ${rivals.join(', ')}, so it cannot be called`;
  const others = twins.filter((other) => !rivals.includes(other));
  if (others.length === 0) return undefined;
  return `'${tool}' of '${server}' is also listed by ${others.join(', ')}, for which no rule allows it`;
}
