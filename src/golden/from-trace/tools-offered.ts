import type { StoredTool } from './stored-run.ts';

/** Between server and tool in the names models are given. */
const SEPARATOR = '__';
/** The orchestrator's own tool, which no server has. */
const OWN_TOOL = 'read_tool_result';

/**
 * The tools of the servers, from the definitions the model was given. A tool that was called is known by its call;
 * the others by their name, `server__tool`.
 */
export function toolsOffered(
  definitions: readonly unknown[],
  known: ReadonlyMap<string, { readonly server: string; readonly tool: string }>,
): StoredTool[] {
  const servers = [...new Set([...known.values()].map(({ server }) => server))];
  const found = new Map<string, StoredTool>();
  for (const definition of definitions as readonly Readonly<Record<string, unknown>>[]) {
    const modelName = String(definition.name);
    if (modelName === OWN_TOOL || found.has(modelName)) continue;
    const { server, tool } = known.get(modelName) ?? byPrefix(modelName, servers);
    found.set(modelName, {
      server,
      name: tool,
      description: typeof definition.description === 'string' ? definition.description : undefined,
      inputSchema: (definition.parameters ?? { type: 'object' }) as StoredTool['inputSchema'],
    });
  }
  return [...found.values()];
}

function byPrefix(modelName: string, servers: readonly string[]): { server: string; tool: string } {
  const server = servers.find((one) => modelName.startsWith(one + SEPARATOR));
  const cut = server === undefined ? modelName.indexOf(SEPARATOR) : server.length;
  if (cut <= 0) return { server: servers[0] ?? 'server', tool: modelName };
  return { server: modelName.slice(0, cut), tool: modelName.slice(cut + SEPARATOR.length) };
}
