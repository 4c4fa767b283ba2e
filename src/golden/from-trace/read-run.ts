import { semconv } from '../../base/index.ts';
import type { Message } from '../../interaction/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { PROVIDERS } from '../../wire/index.ts';
import { attributeAt, notCaptured, type SpanRow, toContent, unusable } from './spans.ts';
import type { StoredCall, StoredRun, StoredTool, StoredTurn } from './stored-run.ts';

const ATTR_SERVER = 'observatory.mcp_server';
const ATTR_STOP_REASON = 'observatory.stop_reason';

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '[::1]']);

/**
 * Reads a run of `mcpGhost` from a trace.
 * @param agentSpan the span id of the run, if the trace has several.
 * @throws ObservatoryError `TRACE_UNUSABLE` if there is not exactly one run, or its content was not captured.
 */
export function readRun(traceId: string, spans: readonly SpanRow[], agentSpan?: string): StoredRun {
  const agent = findAgent(traceId, spans, agentSpan);
  const inside = spansUnder(agent, spans);
  const chats = inside.filter(({ operation }) => operation === 'chat');
  if (chats.length === 0) throw unusable(`The run in the trace ${traceId} made no model call`);
  const turns = chats.map(toTurn);
  const toolSpans = inside.filter(({ operation }) => operation === 'execute_tool');
  const calls = toolSpans.map((span) => toCall(span, turns));
  const provider = PROVIDERS.find(({ name }) => name === agent.provider)?.key;
  if (provider === undefined) {
    throw unusable(`The run asked the provider '${agent.provider}', which cannot be played back`);
  }
  return {
    traceId,
    provider,
    model: String(agent.attributes[semconv.ATTR_GEN_AI_REQUEST_MODEL] ?? agent.model),
    namespace: textAt(agent, semconv.ATTR_GEN_AI_AGENT_NAME) ?? 'mcp_ghost',
    startedAt: new Date(agent.startedMs),
    durationMs: agent.endedMs - agent.startedMs,
    stopReason: textAt(agent, ATTR_STOP_REASON),
    hasPlan: inside.some(({ operation, name }) => operation === 'plan' || name === 'plan'),
    hasBacktracking:
      inside.some(({ name }) => name === 'backtrack') || !toolSpans.some(({ failed }) => failed),
    isLocalModel: chats.every(isLocal),
    turns,
    calls,
    tools: toolsOffered(chats.flatMap(listDefinitions), serversByModelName(toolSpans, turns)),
  };
}

/** Whether a model call went to this machine. */
export function isLocal(span: SpanRow): boolean {
  return LOCAL_HOSTS.has(textAt(span, semconv.ATTR_SERVER_ADDRESS) ?? '');
}

/** Whether a span is that of a finished run of `mcpGhost`. */
export function isRun({ operation, attributes }: SpanRow): boolean {
  return operation === 'invoke_agent' && attributes[ATTR_STOP_REASON] !== undefined;
}

function findAgent(traceId: string, spans: readonly SpanRow[], wanted: string | undefined): SpanRow {
  const agents = spans.filter(isRun);
  const chosen = wanted === undefined ? agents : agents.filter(({ spanId }) => isSpan(spanId, wanted));
  const [agent, ...more] = chosen;
  if (agent !== undefined && more.length === 0) return agent;
  if (agent === undefined) {
    const where = wanted === undefined ? '' : ` with the span id ${wanted}`;
    throw unusable(
      `The trace ${traceId} holds no finished run of mcpGhost${where} (a span invoke_agent with ${ATTR_STOP_REASON})`,
    );
  }
  const ids = agents.map(({ spanId }) => spanId).join(', ');
  throw unusable(`The trace ${traceId} holds ${agents.length} runs; choose one with --span: ${ids}`);
}

/** Whether a span id matches user input: 16 hex digits, or the UUID of the table. */
function isSpan(spanId: string, wanted: string): boolean {
  return wanted.replaceAll('-', '').toLowerCase().slice(-spanId.length) === spanId;
}

/** The spans of a run, without those of nested runs. */
function spansUnder(agent: SpanRow, spans: readonly SpanRow[]): SpanRow[] {
  const children = new Map<string, SpanRow[]>();
  for (const span of spans) {
    if (span.parentId === null) continue;
    const siblings = children.get(span.parentId);
    if (siblings === undefined) children.set(span.parentId, [span]);
    else siblings.push(span);
  }
  const found: SpanRow[] = [];
  const open = [agent.spanId];
  const seen = new Set(open);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const child of children.get(id) ?? []) {
      if (child.operation === 'invoke_agent' || seen.has(child.spanId)) continue;
      seen.add(child.spanId);
      found.push(child);
      open.push(child.spanId);
    }
  }
  return found.sort((a, b) => a.startedMs - b.startedMs);
}

function toTurn(span: SpanRow): StoredTurn {
  const { input, output } = toContent(span);
  return {
    input,
    output: span.failed ? undefined : output,
    errorType: span.failed ? (textAt(span, semconv.ATTR_ERROR_TYPE) ?? 'error') : undefined,
    finishReason: span.finishReason ?? undefined,
    usage: readUsage(span),
    model: span.model ?? '',
    responseId: span.responseId ?? undefined,
    durationMs: span.endedMs - span.startedMs,
  };
}

export function readUsage({ tokens }: SpanRow): TokenUsage | undefined {
  if (tokens.estimated || (tokens.input === null && tokens.output === null)) return undefined;
  return {
    inputTokens: tokens.input ?? undefined,
    outputTokens: tokens.output ?? undefined,
    cacheReadTokens: tokens.cacheRead ?? undefined,
    cacheWriteTokens: tokens.cacheWrite ?? undefined,
    reasoningTokens: tokens.reasoning ?? undefined,
  };
}

function toCall(span: SpanRow, turns: readonly StoredTurn[]): StoredCall {
  const args = attributeAt(span, semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS);
  const server = textAt(span, ATTR_SERVER);
  if (server === undefined) {
    throw unusable(
      `The span ${span.name} (${span.spanId}) does not name its server; a newer mcp-observatory must trace the run`,
    );
  }
  const errorType = textAt(span, semconv.ATTR_ERROR_TYPE);
  const result = attributeAt(span, semconv.ATTR_GEN_AI_TOOL_CALL_RESULT) ?? shownResult(span, turns);
  if (args === undefined || result === undefined) throw notCaptured(span);
  if (errorType !== undefined && errorType !== 'tool_error' && !/^-?\d+$/.test(errorType)) {
    throw unusable(
      `The call of ${server}.${span.toolName} ended without an answer (${errorType}); such a run cannot be played back from its trace`,
    );
  }
  return {
    server,
    tool: span.toolName ?? '',
    arguments: args as Record<string, unknown>,
    result: result as Record<string, unknown>,
    errorCode: errorType === undefined || errorType === 'tool_error' ? undefined : Number(errorType),
    durationMs: span.endedMs - span.startedMs,
  };
}

/** Behind a gate the tool's span has no result; use the one that the model saw. */
function shownResult(span: SpanRow, turns: readonly StoredTurn[]): object | undefined {
  const id = textAt(span, semconv.ATTR_GEN_AI_TOOL_CALL_ID);
  for (const { input } of turns) {
    for (const { parts } of input) {
      for (const part of parts) {
        if (part.type !== 'tool_call_response' || part.id !== id) continue;
        const text = typeof part.response === 'string' ? part.response : JSON.stringify(part.response);
        return { content: [{ type: 'text', text }], ...(part.isError === true ? { isError: true } : {}) };
      }
    }
  }
  return undefined;
}

function listDefinitions(span: SpanRow): readonly unknown[] {
  const tools = attributeAt(span, semconv.ATTR_GEN_AI_TOOL_DEFINITIONS);
  return Array.isArray(tools) ? (tools as unknown[]) : [];
}

/** Server and tool by the name the model used. The call id links the two. */
function serversByModelName(
  toolSpans: readonly SpanRow[],
  turns: readonly StoredTurn[],
): ReadonlyMap<string, { readonly server: string; readonly tool: string }> {
  const names = new Map<string, string>();
  for (const { output } of turns) {
    for (const part of (output as Message | undefined)?.parts ?? []) {
      if (part.type === 'tool_call' && part.id !== undefined && part.name !== undefined)
        names.set(part.id, part.name);
    }
  }
  const found = new Map<string, { readonly server: string; readonly tool: string }>();
  for (const span of toolSpans) {
    const name = names.get(textAt(span, semconv.ATTR_GEN_AI_TOOL_CALL_ID) ?? '');
    const server = textAt(span, ATTR_SERVER);
    if (name !== undefined && server !== undefined) found.set(name, { server, tool: span.toolName ?? '' });
  }
  return found;
}

function textAt({ attributes }: SpanRow, name: string): string | undefined {
  const value = attributes[name];
  return value === undefined || value === null ? undefined : String(value);
}

/** Between server and tool in names for models. */
const SEPARATOR = '__';
const OWN_TOOL = 'read_tool_result';

/**
 * The tools of the servers, from the definitions sent to the model. Server and tool come from a call if there was one,
 * else from the name, `server__tool`.
 */
function toolsOffered(
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
