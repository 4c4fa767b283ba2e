import type { ServerTool } from '../mcp-client/index.ts';
import { toolWords } from './backtrack.ts';
import type { ToolProvider } from './tools/index.ts';

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
      score: shared(wanted, toolWords(tool.tool.name, tool.tool.description)),
    }))
    .sort((left, right) => right.score - left.score || left.index - right.index);
  const chosen = new Set(ranked.slice(0, limit).map(({ index }) => index));
  return {
    offered: tools.filter((_, index) => chosen.has(index)),
    leftOut: tools.filter((_, index) => !chosen.has(index)),
    limit,
  };
}

function shared(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  let count = 0;
  for (const word of words) if (wanted.has(word)) count += 1;
  return count;
}
