import type { RunSpan } from '../store/index.ts';
import { toolCalls } from './facts.ts';

/** What the tool definitions of one server took of a run. */
export interface ServerDefinitions {
  /** Empty for tools of the application. */
  readonly server: string;
  readonly offered: number;
  readonly used: number;
  /** Share of all definitions, by tokens, from 0 to 1. */
  readonly share: number;
}

/** What tool definitions took of the model calls of a run. */
export interface RunDefinitions {
  /** Input tokens of the model calls, and the parts that came from a cache and that definitions took. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly tokens: number;
  readonly costUsd: number;
  /** Those that took the most first; empty where the spans do not tell. */
  readonly servers: readonly ServerDefinitions[];
}

/** Adds up the definitions that model calls carried; undefined where none is known. */
export function findDefinitions(spans: readonly RunSpan[]): RunDefinitions | undefined {
  const sum = (of: (span: RunSpan) => number | null) => spans.reduce((all, span) => all + (of(span) ?? 0), 0);
  const tokens = sum(({ offeredTokens }) => offeredTokens);
  if (tokens === 0) return undefined;
  return {
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    tokens,
    costUsd: sum(({ offeredUsd }) => offeredUsd),
    servers: listServers(spans),
  };
}

function listServers(spans: readonly RunSpan[]): readonly ServerDefinitions[] {
  const lists = new Map<string, Map<string, number>>();
  for (const { offeredList } of spans) if (offeredList !== null) readList(offeredList, lists);
  const totals = [...lists].map(([server, tools]) => ({
    server,
    tools,
    tokens: [...tools.values()].reduce((a, b) => a + b, 0),
  }));
  const all = totals.reduce((sum, { tokens }) => sum + tokens, 0);
  const calls = toolCalls(spans);
  return totals
    .map(({ server, tools, tokens }) => ({
      server,
      offered: tools.size,
      // A server may be known to the client by another name than to the model's program.
      used: new Set(calls.filter(({ tool }) => tools.has(tool)).map(({ tool }) => tool)).size,
      share: all === 0 ? 0 : tokens / all,
    }))
    .sort((a, b) => b.share - a.share);
}

/** Reads `{"total": 512, "tools": {"<server>": {"<tool>": 57}}}`; what has another form is left out. */
function readList(text: string, lists: Map<string, Map<string, number>>): void {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return;
  }
  const { tools } = (list ?? {}) as { tools?: Record<string, Record<string, unknown> | null> };
  for (const [server, own] of Object.entries(tools ?? {})) {
    const known = lists.get(server) ?? new Map<string, number>();
    lists.set(server, known);
    for (const [tool, tokens] of Object.entries(own ?? {}))
      if (typeof tokens === 'number') known.set(tool, tokens);
  }
}
