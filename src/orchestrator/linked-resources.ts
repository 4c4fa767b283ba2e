import type { OfferedTool } from './offered-tools.ts';
import type { ModelTool } from './providers/index.ts';

/** Name of the tool by which a model reads a resource that a result links to. */
export const READ_RESOURCE_TOOL = 'read_resource';
export const READ_RESOURCE_METHOD = 'resources/read';

/** Offered to the model once a result has linked to a resource. */
export const readResourceTool: ModelTool = {
  name: READ_RESOURCE_TOOL,
  description: 'Reads a resource that an earlier tool result links to.',
  parameters: {
    type: 'object',
    properties: { uri: { type: 'string', description: 'The URI as the result gives it' } },
    required: ['uri'],
  },
};

const MAX_LINKS = 1_000;

/** The resources that the results of a run link to. The model can read these and no others. */
export class LinkedResources {
  /** Server by URI. */
  readonly #servers = new Map<string, string>();

  get size(): number {
    return this.#servers.size;
  }

  add(server: string, links: readonly string[]): void {
    for (const uri of links) if (this.#servers.size < MAX_LINKS) this.#servers.set(uri, server);
  }

  /** The reading of a resource as a tool of its server; undefined when no result has linked to it. */
  toolFor(uri: unknown): OfferedTool | undefined {
    const server = typeof uri === 'string' ? this.#servers.get(uri) : undefined;
    if (server === undefined) return undefined;
    return {
      server,
      tool: {
        name: READ_RESOURCE_METHOD,
        inputSchema: readResourceTool.parameters,
        annotations: { readOnlyHint: true },
      },
      toolName: `${server}.${READ_RESOURCE_METHOD}`,
      modelName: READ_RESOURCE_TOOL,
      method: READ_RESOURCE_METHOD,
      words: new Set(),
      mapArguments: () => ({ uri }),
    };
  }
}
