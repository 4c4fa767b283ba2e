import type { AgentEvent } from './event.ts';

/** What an event becomes: a row of the run it belongs to. */
export interface AgentCall {
  /** `prompt` begins a run, `answer` completes a model call of the same key. */
  readonly kind: 'prompt' | 'model' | 'tool' | 'answer';
  /** Ids that name the run: its session, and its prompt where the agent has an id for it. */
  readonly run: readonly string[];
  /** Id of the call, unique in the run; without one, what the event holds tells it from others. */
  readonly key: string | undefined;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Why it failed: its class, and the message if the agent sends it. */
  readonly failure?: { readonly type: string; readonly message: string | undefined } | undefined;
}

/** How the events of one agent are read. */
export interface AgentDialect {
  /** Name of the client and of the agent. */
  readonly agent: string;
  /** By name of the event; an event that adds nothing gives undefined. */
  readonly events: Readonly<Record<string, (event: AgentEvent) => AgentCall | undefined>>;
}

/** Attributes of a model call with what the agent knows of it. */
export function modelAttributes(parts: {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly costUsd?: number | undefined;
  readonly responseId?: string | undefined;
}): Record<string, unknown> {
  const { costUsd } = parts;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': parts.provider,
    'gen_ai.request.model': parts.model,
    'gen_ai.response.id': parts.responseId,
    'gen_ai.usage.input_tokens': parts.inputTokens,
    'gen_ai.usage.output_tokens': parts.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': parts.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': parts.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': parts.reasoningTokens,
    ...(costUsd === undefined
      ? {}
      : {
          'gen_ai.usage.cost.amount': costUsd,
          'gen_ai.usage.cost.currency': 'USD',
          'gen_ai.usage.cost.source': 'provider',
        }),
  };
}

/** Attributes of a tool call. */
export function toolAttributes(parts: {
  readonly tool: string;
  readonly server: string | undefined;
  readonly callId: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
}): Record<string, unknown> {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': parts.tool,
    'gen_ai.tool.call.id': parts.callId,
    'observatory.mcp_server': parts.server,
    'gen_ai.tool.call.arguments': parts.arguments,
    'gen_ai.tool.call.result': parts.result,
  };
}

/** A message in the form of the semantic conventions, as JSON text; undefined without a text. */
export function messageJson(role: 'user' | 'assistant', text: string | undefined): string | undefined {
  return text === undefined
    ? undefined
    : JSON.stringify([{ role, parts: [{ type: 'text', content: text }] }]);
}

/** Sum of the counts that are known; undefined if none is. */
export function tokenSum(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
