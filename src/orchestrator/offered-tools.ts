import type { JsonObject } from '../json/index.ts';
import type { CallableTool, ServerTool } from '../mcp-client/index.ts';
import { type Alternative, findAlternatives, sharedWords, toolWords } from './backtrack.ts';
import type { OpenedRun } from './opened-run.ts';
import type { ModelTool } from './providers/index.ts';
import type { QuarantinedTool } from './result.ts';
import { type AdaptedTool, adaptTools, chooseToolNames, type ToolProvider } from './tools/index.ts';

/** A tool the model can call, and where it leads. */
export interface OfferedTool extends Alternative {
  readonly server: string;
  readonly tool: CallableTool;
  /** Set for a request that is no tool call. */
  readonly method?: 'resources/read' | undefined;
  readonly words: ReadonlySet<string>;
  /** Arguments in the tool's own property names. */
  mapArguments(args: JsonObject): JsonObject;
}

/** The tools of a run as the model sees them, with the way back from each name. */
export class OfferedTools {
  readonly quarantined: readonly QuarantinedTool[];
  readonly definitions: readonly ModelTool[];
  readonly #byModelName: ReadonlyMap<string, OfferedTool>;
  readonly #hidden: ReadonlyMap<string, OfferedTool>;

  /** @param hidden tools the model is not shown; a call to one still finds it, so that the gate can deny it. */
  constructor(
    adapted: readonly AdaptedTool[],
    quarantined: readonly QuarantinedTool[],
    hidden: readonly ServerTool[] = [],
  ) {
    this.definitions = adapted.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    }));
    this.#byModelName = new Map(adapted.map((tool) => [tool.name, toOfferedTool(tool)]));
    this.#hidden = new Map(hiddenTools(hidden).map((tool) => [tool.modelName, tool]));
    this.quarantined = quarantined;
  }

  get size(): number {
    return this.#byModelName.size;
  }

  find(modelName: string): OfferedTool | undefined {
    return this.#byModelName.get(modelName) ?? this.#hidden.get(modelName);
  }

  /** A tool by its own name, `server.tool`. */
  named(toolName: string): OfferedTool | undefined {
    const all = [...this.#byModelName.values(), ...this.#hidden.values()];
    return all.find((tool) => tool.toolName === toolName);
  }

  /** Tools that might do instead of one that failed, best first. */
  alternativesTo(modelName: string, usable: (tool: OfferedTool) => boolean): OfferedTool[] {
    const failed = this.#byModelName.get(modelName)?.words ?? toolWords(modelName, undefined);
    const others = [...this.#byModelName.values()].filter(
      (tool) => tool.modelName !== modelName && usable(tool),
    );
    return findAlternatives(failed, others);
  }
}

/** A model is asked with the old tools when a server that announced others does not list them by then. */
const CHANGED_TOOLS_WAIT_MS = 5_000;

/** The catalog, rebuilt whenever a server has announced other tools; a change that is being read is waited for. */
export function liveTools(opened: OpenedRun, changes: () => number): () => Promise<OfferedTools> {
  let built: { readonly catalog: OfferedTools; readonly at: string } | undefined;
  return async () => {
    const { pool, options, providers, emit, gated } = opened;
    const { provider } = providers.current;
    if (options.signal?.aborted === true) return built?.catalog ?? new OfferedTools([], []);
    await pool.toolsSettled(CHANGED_TOOLS_WAIT_MS);
    const problems = listProblems(pool);
    const dialect = provider.toolDialect ?? 'openai';
    const at = `${changes()} ${problems.length} ${dialect}`;
    if (built?.at === at) return built.catalog;
    const allowed = await gated?.allowed();
    const catalog = buildOfferedTools(
      pool.tools,
      allowed ?? pool.tools,
      dialect,
      options.userPrompt,
      problems,
    );
    for (const { toolName, reason } of catalog.quarantined) {
      emit({ type: 'tool_quarantined', toolName, reason });
    }
    built = { catalog, at };
    return catalog;
  };
}

/** What is wrong with the lists of the servers: tools that cannot be used or are listed twice, and lists not read. */
function listProblems({ servers }: OpenedRun['pool']): QuarantinedTool[] {
  return servers.flatMap((server) => [
    ...server.rejectedTools.map(({ name, reason }) => ({ toolName: `${server.name}.${name}`, reason })),
    ...(server.toolListError === undefined
      ? []
      : [{ toolName: server.name, reason: `Its changed tool list is not used: ${server.toolListError}` }]),
  ]);
}

/**
 * Adapts the allowed tools of all servers to a provider, as many as it takes. Names always carry the server, so a tool
 * that appears during a run renames none that the conversation already names.
 */
function buildOfferedTools(
  all: readonly ServerTool[],
  allowed: readonly ServerTool[],
  dialect: ToolProvider,
  task: string,
  problems: readonly QuarantinedTool[],
): OfferedTools {
  const { offered, leftOut, limit } = selectTools(allowed, dialect, task);
  const { tools: adapted, unsupported } = adaptTools(offered, dialect, { namespace: 'always' });
  const shown = new Set(allowed.map(({ tool }) => tool));
  const quarantinedTools = [
    ...problems,
    ...unsupported.map(({ server, name, reason }) => ({ toolName: `${server}.${name}`, reason })),
    ...leftOut.map(({ server, tool }) => ({
      toolName: `${server}.${tool.name}`,
      reason: `The provider takes ${limit} tools and others fit the task better`,
    })),
  ];
  const hidden = all.filter(({ tool }) => !shown.has(tool));
  return new OfferedTools(adapted, quarantinedTools, hidden);
}

function toOfferedTool(adapted: AdaptedTool): OfferedTool {
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

/** Tools by the names they would have; their schemas are not adapted. */
function hiddenTools(tools: readonly ServerTool[]): OfferedTool[] {
  const names = chooseToolNames(
    tools.map(({ server, tool }) => ({ server, name: tool.name })),
    'always',
  );
  return tools.map(({ server, tool }, index) => ({
    server,
    tool,
    toolName: `${server}.${tool.name}`,
    modelName: names[index] ?? tool.name,
    words: new Set(),
    mapArguments: (args) => args,
  }));
}

/**
 * Most tools a request may hold. OpenAI refuses more than 128 ("array too long"), Gemini more than 512 declarations;
 * Anthropic names no limit. One place is kept for the tool that reads cut results.
 */
const MOST_TOOLS: Readonly<Record<ToolProvider, number>> = {
  openai: 127,
  anthropic: Number.POSITIVE_INFINITY,
  gemini: 511,
};

export interface ToolSelection {
  /** In the order they were given. */
  readonly offered: readonly ServerTool[];
  readonly leftOut: readonly ServerTool[];
  readonly limit: number;
}

/**
 * Chooses which tools to offer when there are more than the provider takes: those that share the most words with the
 * task, earlier ones first among equals.
 */
export function selectTools(
  tools: readonly ServerTool[],
  dialect: ToolProvider,
  task: string,
): ToolSelection {
  const limit = MOST_TOOLS[dialect];
  if (tools.length <= limit) return { offered: tools, leftOut: [], limit };
  const wanted = toolWords('', task);
  const ranked = tools
    .map((tool, index) => ({
      index,
      score: sharedWords(wanted, toolWords(tool.tool.name, tool.tool.description)),
    }))
    .sort((left, right) => right.score - left.score || left.index - right.index);
  const chosen = new Set(ranked.slice(0, limit).map(({ index }) => index));
  return {
    offered: tools.filter((_, index) => chosen.has(index)),
    leftOut: tools.filter((_, index) => !chosen.has(index)),
    limit,
  };
}
