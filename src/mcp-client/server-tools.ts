import { diag } from '@opentelemetry/api';
import { compileOutputCheck, type OutputCheck } from './output-schema.ts';
import type { McpSession } from './session.ts';
import { listAllTools, type ToolList, type ToolListLimits } from './tool-list.ts';
import type { ToolDefinition } from './types.ts';

const NO_TOOLS: ToolList = { tools: [], rejected: [], truncated: false };

/** The tools of one server, as it last listed them. */
export class ServerTools {
  readonly #server: string;
  readonly #limits: ToolListLimits;
  #list: ToolList = NO_TOOLS;
  #byName: ReadonlyMap<string, ToolDefinition> = new Map();
  #outputChecks: Map<string, OutputCheck | undefined> = new Map();

  constructor(server: string, limits: ToolListLimits) {
    this.#server = server;
    this.#limits = limits;
  }

  get list(): ToolList {
    return this.#list;
  }

  find(name: string): ToolDefinition | undefined {
    return this.#byName.get(name);
  }

  /** What the server lists now; it becomes the list with {@link replace}. @throws what the server or its connection answered. */
  async read(session: McpSession, signal: AbortSignal): Promise<ToolList> {
    if (session.capabilities.tools === undefined) return NO_TOOLS;
    return listAllTools(session, signal, this.#limits);
  }

  replace(list: ToolList): void {
    this.#list = list;
    this.#byName = new Map(list.tools.map((each) => [each.name, each]));
    this.#outputChecks = new Map();
    if (list.truncated)
      diag.warn(
        `mcp-observatory: server "${this.#server}" has more tools than the ${list.tools.length} read`,
      );
    for (const { name, reason } of list.rejected)
      diag.warn(`mcp-observatory: tool "${name}" of server "${this.#server}" is left out: ${reason}`);
  }

  /** The check of a tool's structured result, compiled when first needed; undefined where there is nothing to check. */
  outputCheck(tool: ToolDefinition): OutputCheck | undefined {
    if (!this.#outputChecks.has(tool.name)) {
      const check = compileOutputCheck(tool, (reason) =>
        diag.warn(`mcp-observatory: the outputSchema of "${tool.name}" cannot be checked: ${reason}`),
      );
      this.#outputChecks.set(tool.name, check);
    }
    return this.#outputChecks.get(tool.name);
  }
}
