import type { JsonObject } from '../json/index.ts';
import type { ServerTool, ToolDefinition } from '../mcp-client/index.ts';
import { type Alternative, findAlternatives, toolWords } from './backtrack.ts';
import type { ModelTool } from './providers/index.ts';
import type { QuarantinedTool } from './result.ts';
import { selectTools } from './tool-selection.ts';
import { type AdaptedTool, adaptTools, type ToolProvider } from './tools/index.ts';

/** A tool the model can call, and where it leads. */
export interface CatalogueTool extends Alternative {
  readonly server: string;
  readonly tool: ToolDefinition;
  readonly words: ReadonlySet<string>;
  /** Arguments in the tool's own property names. */
  mapArguments(args: JsonObject): JsonObject;
}

/** The tools of a run as the model sees them, with the way back from each name. */
export class Catalogue {
  readonly quarantined: readonly QuarantinedTool[];
  readonly definitions: readonly ModelTool[];
  readonly #byModelName: ReadonlyMap<string, CatalogueTool>;

  constructor(adapted: readonly AdaptedTool[], quarantined: readonly QuarantinedTool[]) {
    this.definitions = adapted.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    }));
    this.#byModelName = new Map(adapted.map((tool) => [tool.name, toCatalogueTool(tool)]));
    this.quarantined = quarantined;
  }

  get size(): number {
    return this.#byModelName.size;
  }

  find(modelName: string): CatalogueTool | undefined {
    return this.#byModelName.get(modelName);
  }

  /** Tools that might do instead of one that failed, best first. */
  alternativesTo(modelName: string, usable: (tool: CatalogueTool) => boolean): CatalogueTool[] {
    const failed = this.#byModelName.get(modelName)?.words ?? toolWords(modelName, undefined);
    const others = [...this.#byModelName.values()].filter(
      (tool) => tool.modelName !== modelName && usable(tool),
    );
    return findAlternatives(failed, others);
  }
}

/**
 * Adapts the tools of all servers to a provider, as many as it takes. Names always carry the server, so that a tool that appears during a
 * run renames none that the conversation already speaks of.
 */
export function buildCatalogue(tools: readonly ServerTool[], dialect: ToolProvider, task: string): Catalogue {
  const { offered, leftOut, limit } = selectTools(tools, dialect, task);
  const { tools: adapted, quarantined } = adaptTools(offered, dialect, { namespace: 'always' });
  return new Catalogue(adapted, [
    ...quarantined.map(({ server, name, reason }) => ({ toolName: `${server}.${name}`, reason })),
    ...leftOut.map(({ server, tool }) => ({
      toolName: `${server}.${tool.name}`,
      reason: `The provider takes ${limit} tools and others fit the task better`,
    })),
  ]);
}

function toCatalogueTool(adapted: AdaptedTool): CatalogueTool {
  const { name, server, tool } = adapted;
  let words: ReadonlySet<string> | undefined;
  return {
    server,
    tool,
    toolName: `${server}.${tool.name}`,
    modelName: name,
    // Needed only when something fails.
    get words() {
      words ??= toolWords(tool.name, tool.description);
      return words;
    },
    mapArguments: (args) => adapted.mapArguments(args),
  };
}
