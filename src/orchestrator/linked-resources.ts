import type { JsonObject } from '../json/index.ts';
import type { OfferedTool } from './offered-tools.ts';
import type { ModelTool } from './providers/index.ts';

/** Name of the tool by which a model reads a resource that a result links to. */
export const READ_RESOURCE_TOOL = 'read_resource';
export const READ_RESOURCE_METHOD = 'resources/read';

/** Links kept of one server. */
const MAX_LINKS = 1_000;

/**
 * The resources that the results of a run link to. The model can read these and no others. A URI is a name within one
 * server: another that links to the same URI has a resource of its own there.
 */
export class LinkedResources {
  readonly #links = new Map<string, Set<string>>();

  /** The tool that reads them; it asks for the server once several have linked to one URI. Undefined without links. */
  get tool(): ModelTool | undefined {
    if (this.#links.size === 0) return undefined;
    const servers = [...this.#links.keys()];
    const isShared = servers.some((server) => this.#sharesLinks(server));
    return readResourceTool(isShared ? servers : []);
  }

  add(server: string, links: readonly string[]): void {
    if (links.length === 0) return;
    const known = this.#links.get(server) ?? new Set();
    for (const uri of links) if (known.size < MAX_LINKS) known.add(uri);
    this.#links.set(server, known);
  }

  /**
   * The reading of a resource as a tool of its server; undefined when no result has linked to it, or results of several
   * servers and the arguments do not say which: see {@link refusal}.
   */
  toolFor(args: JsonObject): OfferedTool | undefined {
    const [server, another] = this.#readServers(args);
    if (server === undefined || another !== undefined) return undefined;
    return {
      server,
      tool: {
        name: READ_RESOURCE_METHOD,
        inputSchema: readResourceTool([]).parameters,
        annotations: { readOnlyHint: true },
      },
      toolName: `${server}.${READ_RESOURCE_METHOD}`,
      modelName: READ_RESOURCE_TOOL,
      method: READ_RESOURCE_METHOD,
      words: new Set(),
      mapArguments: ({ uri }) => ({ uri }),
    };
  }

  /** Why there is no tool for these arguments. */
  refusal(args: JsonObject): string {
    const servers = this.#readServers(args);
    if (servers.length === 0) return 'No result has linked to this resource.';
    const names = servers.map((server) => JSON.stringify(server)).join(', ');
    return `Results of several servers link to this resource. Give one of them as "server": ${names}.`;
  }

  #readServers({ uri, server }: JsonObject): string[] {
    const named = server === undefined || server === null ? [...this.#links.keys()] : [String(server)];
    return typeof uri === 'string' ? named.filter((name) => this.#links.get(name)?.has(uri)) : [];
  }

  #sharesLinks(server: string): boolean {
    const others = [...this.#links].filter(([name]) => name !== server);
    return [...(this.#links.get(server) ?? [])].some((uri) => others.some(([, uris]) => uris.has(uri)));
  }
}

/** @param servers those to choose from, where a URI alone does not say which one is meant. */
function readResourceTool(servers: readonly string[]): ModelTool {
  const uri = { type: 'string', description: 'The URI as the result gives it' };
  const server = { type: 'string', enum: servers, description: 'The server whose result links to it' };
  return {
    name: READ_RESOURCE_TOOL,
    description: 'Reads a resource that an earlier tool result links to.',
    parameters: {
      type: 'object',
      properties: servers.length === 0 ? { uri } : { uri, server },
      required: ['uri'],
    },
  };
}
