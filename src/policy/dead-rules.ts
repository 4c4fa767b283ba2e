/**
 * Rules that can never apply to what the servers list. A rule for a tool or an argument that does not exist is most
 * often a typing error, and a typing error in a deny rule is a hole.
 */
import type { Catalogue } from './catalogue.ts';
import type { RuleDocument } from './policy-file.ts';
import type { CompiledRule } from './rule.ts';

/**
 * Says of each dead rule why it is one.
 * @param servers the servers to check against. With `'all'`, a rule for any other server is dead too.
 */
export function deadRules(
  rules: readonly CompiledRule[],
  catalogue: Catalogue,
  servers: readonly string[] | 'all',
): readonly string[] {
  const dead: string[] = [];
  for (const { document, tools } of rules) {
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
