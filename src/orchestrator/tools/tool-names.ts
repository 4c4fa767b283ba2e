import { createHash } from 'node:crypto';

/** What OpenAI, Anthropic and Gemini all take as the name of a tool. */
export const SAFE_TOOL_NAME: RegExp = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const MAX_NAME = 64;
const HASH_CHARS = 8;

/**
 * - `collision`: a tool keeps its name; only where two servers have the same one are they told apart by the server's.
 * - `always`: `server__tool`.
 * - `never`: a tool keeps its name; a hash distinguishes tools of the same name.
 */
export type NamespaceMode = 'collision' | 'always' | 'never';

export interface NamedTool {
  readonly server: string;
  readonly name: string;
}

/**
 * One safe and unique name for each tool (`stdio.list_tables` -> `stdio_list_tables`). Names that are cut or that
 * fall together get a hash of server and tool at the end. A name depends on the set of tools, not on their order, so
 * it stays the same from run to run.
 */
export function chooseToolNames(tools: readonly NamedTool[], mode: NamespaceMode = 'collision'): string[] {
  const servers = new Map<string, Set<string>>();
  for (const { server, name } of tools) servers.set(name, (servers.get(name) ?? new Set()).add(server));
  const wanted = tools.map(({ server, name }) => {
    const prefixed = mode === 'always' || (mode === 'collision' && (servers.get(name)?.size ?? 0) > 1);
    return prefixed ? `${server}__${name}` : name;
  });
  const safe = wanted.map(makeSafe);
  const users = new Map<string, number>();
  for (const name of safe) users.set(name, (users.get(name) ?? 0) + 1);
  // The tool that is really called so keeps the name among those that were only made to fit it.
  const exact = new Map<string, number>();
  wanted.forEach((name, i) => {
    if (name === safe[i]) exact.set(name, (exact.get(name) ?? 0) + 1);
  });
  const keeps = (i: number): boolean => {
    const name = safe[i] as string;
    return users.get(name) === 1 || (wanted[i] === name && exact.get(name) === 1);
  };
  const taken = new Set(safe.filter((_, i) => keeps(i)));
  return safe.map((name, i) => {
    if (keeps(i)) return name;
    const chosen = withHash(name, tools[i] as NamedTool, taken);
    taken.add(chosen);
    return chosen;
  });
}

function makeSafe(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_-]/g, '_').replace(/^(?![A-Za-z_])/, '_');
  return safe.length <= MAX_NAME ? safe : `${safe.slice(0, MAX_NAME - HASH_CHARS - 1)}_${hash(name)}`;
}

function withHash(name: string, tool: NamedTool, taken: ReadonlySet<string>): string {
  for (let salt = 0; ; salt++) {
    const suffix = hash(
      salt === 0 ? `${tool.server}\0${tool.name}` : `${tool.server}\0${tool.name}\0${salt}`,
    );
    const chosen = `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${suffix}`;
    if (!taken.has(chosen)) return chosen;
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);
}
