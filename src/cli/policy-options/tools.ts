import { readFileSync } from 'node:fs';
import { FILE_LIMITS, isObject, parseStrictJson } from '../../json/index.ts';
import { connectPolicyServers, type ToolDefinition, type ToolsByServer } from '../../policy/index.ts';
import { type CommandIo, usageError } from '../command-line/index.ts';

/** Flags that say what servers list: from a file, or from the servers themselves. */
export const TOOLS_FLAGS = { tools: { type: 'string' }, servers: { type: 'string' } } as const;

type ToolsFlagValues = { readonly [F in keyof typeof TOOLS_FLAGS]?: string | undefined };

/** The tools that the flags name; undefined when they name none. */
export async function listReadTools(
  { tools, servers }: ToolsFlagValues,
  env: CommandIo['env'],
): Promise<ToolsByServer | undefined> {
  if (tools !== undefined && servers !== undefined) throw usageError('Give --tools or --servers, not both');
  if (tools !== undefined) return readToolsFile(tools);
  return servers === undefined ? undefined : await listTools(servers, env);
}

/** Asks every server of a server config for its tools, and closes it. */
async function listTools(config: string, env: CommandIo['env']): Promise<ToolsByServer> {
  const servers = Object.entries(await connectPolicyServers(config, { env }));
  try {
    const listings = servers.map(
      async ([name, server]): Promise<[string, { tools: readonly ToolDefinition[] }]> => {
        return [name, { tools: await server.listTools() }];
      },
    );
    return Object.fromEntries(await Promise.all(listings));
  } finally {
    await Promise.allSettled(servers.map(([, server]) => server.close()));
  }
}

/** `--tools FILE`: `{"<server>": {"tools": [...]}}`. */
export function readToolsFile(path: string): ToolsByServer {
  let value: unknown;
  try {
    value = parseStrictJson(readFileSync(path), {
      ...FILE_LIMITS,
      largeIntegers: 'text',
      maxBytes: 64 * 1024 * 1024,
      maxValues: 10_000_000,
    });
  } catch (cause) {
    throw usageError(`--tools '${path}' cannot be read: ${(cause as Error).message}`, cause);
  }
  if (!isObject(value)) throw usageError(`--tools '${path}' is not a JSON object`);
  for (const [server, listing] of Object.entries(value)) {
    if (!isObject(listing) || !Array.isArray(listing.tools)) {
      throw usageError(`--tools '${path}': '${server}' has no list 'tools'`);
    }
  }
  return value as unknown as ToolsByServer;
}
