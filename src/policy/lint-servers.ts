/** Mistakes in what a policy says about servers beside their tools. */
import type { LintFinding } from './lint-finding.ts';
import type { LoadedPolicy } from './policy-file.ts';
import { canMatch } from './resource-uri.ts';

/** @param listed the servers there are; without it names of servers are not checked. */
export function lintServers(
  { document }: LoadedPolicy,
  listed: ReadonlySet<string> | undefined,
): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  const found = (severity: LintFinding['severity'], code: LintFinding['code'], message: string): void => {
    findings.push({ severity, code, ruleIds: [], message });
  };
  for (const [server, words] of Object.entries(document.servers ?? {})) {
    const where = `servers, '${server}'`;
    if (listed?.has(server) === false) found('error', 'dead', `${where}: there is no server '${server}'`);
    if (server.includes('*')) found('error', 'wildcard', `${where}: an exact name, '*' is no wildcard`);
    for (const prompt of words.prompts ?? []) {
      if (prompt.includes('*'))
        found('error', 'wildcard', `${where}, prompts: '${prompt}' is an exact name, '*' is no wildcard`);
    }
    for (const pattern of words.resources ?? []) {
      if (/^\*+$/.test(pattern) || /^[^:]*:(?:\/\/)?\*\*$/.test(pattern))
        found('warning', 'any_value', `${where}, resources: '${pattern}' takes any resource`);
      else if (!canMatch(pattern))
        found(
          'error',
          'dead',
          `${where}, resources: '${pattern}' matches no URI, since it is not in the normal form of one`,
        );
    }
    const { resources = [], prompts = [] } = words;
    if (words.completions === 'allow' && resources.length + prompts.length === 0)
      found('warning', 'no_effect', `${where}: completions are for allowed prompts and resources; none is`);
    const isUsed = document.rules.some((rule) => rule.server === server && rule.effect !== 'deny');
    if (words.instructions === 'allow' && !isUsed)
      found(
        'warning',
        'no_effect',
        `${where}: instructions are shown only if a tool of the server is allowed`,
      );
  }
  return findings;
}
