/** A golden of a program that knows nothing of it, from the spans of its model calls and calls of MCP tools. */
import { semconv } from '../../base/index.ts';
import {
  interactionKind,
  isModelCall,
  type Message,
  type RequestedToolCall,
  readSpanMessages,
  toolResultText,
} from '../../interaction/index.ts';
import { isObject, type JsonObject, parseContainerOrKeep } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { openAiChat, openAiResponses, PROVIDERS, type WireApi } from '../../wire/index.ts';
import {
  contentMessages,
  contentTools,
  exchangeUsage,
  goldenOfProgram,
  type McpCall,
  oddFinish,
  type ProgramHead,
  type ProgramPart,
  type RequestContent,
  Scrubber,
  type UnsealedGolden,
  type WireResponse,
  writeWhole,
  writtenCalls,
} from '../file/index.ts';
import { type StoredCall, toolsByServer } from './offered-tools.ts';
import { notCaptured, type SpanRow, textAt, unusable } from './spans.ts';

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '[::1]']);

/** What no trace holds. */
const NEVER_HELD =
  'parameters of requests but the model, media, reasoning, pieces of streams, failed attempts, and how servers are reached';

interface ModelCall {
  readonly span: SpanRow;
  readonly api: WireApi;
  readonly input: readonly Message[];
  readonly content: RequestContent;
  /** Calls that the model asked for. */
  readonly asked: readonly RequestedToolCall[];
  readonly response: WireResponse;
}

/** Positions of starts and ends among all of them; a call that took no time ends after it began. */
type OrderOf = (span: SpanRow) => readonly [asked: number, answered: number];

interface TracedGolden extends UnsealedGolden {
  /** In words. */
  readonly lacks: readonly string[];
  /** Of a model or tool call without its content. */
  readonly missing: SpanRow | undefined;
}

/** @throws ObservatoryError `TRACE_UNUSABLE` for a trace of which no model call has its content. */
export function goldenOfTrace(
  traceId: string,
  spans: readonly SpanRow[],
  head: ProgramHead,
  isGhost = false,
): TracedGolden {
  const models = innermost(
    spans.filter(({ view }) => isModelCall(interactionKind(view))),
    spans,
  );
  const told = models.flatMap((span) => toModelCall(span) ?? []);
  const [first] = models;
  if (first === undefined) throw unusable(`The trace ${traceId} holds no model call`);
  if (told.length === 0) throw notCaptured(first);
  const tools = spans.filter(({ method, kind }) => method === 'tools/call' && kind !== 'server');
  const calls = tools.flatMap((span) => toCall(span, told) ?? []);
  const order = inOrder([...told, ...calls].map(({ span }) => span));
  const known = (['model', 'tools'] as const).filter((name) => told.every(({ content }) => name in content));
  const offered = told.flatMap(({ content }) => content.tools ?? []);
  const asked = told.flatMap(({ asked }) => asked);
  const parts: ProgramPart[] = [
    ...[...toolsByServer(offered, asked, calls, isGhost)].flatMap(([server, tools]) =>
      serverParts(server, tools, calls),
    ),
    ...told.map((one) => exchangePart(one, known, order(one.span))),
    ...calls.map(({ span, call }) => ({ call: { ...call, order: order(span) } })),
  ];
  const hasSystem = told.some(({ content }) => content.messages.some(({ role }) => role === 'system'));
  const lacks = listLacks(spans, models.length - told.length, tools.length - calls.length, known, hasSystem);
  const golden = goldenOfProgram(head, new Scrubber().clean(parts), undefined);
  const held = new Set([...told, ...calls].map(({ span }) => span));
  return { ...golden, lacks, missing: [...models, ...tools].find((span) => !held.has(span)) };
}

/** Frameworks repeat what the call below theirs says. A parent that had ended is the call before. */
function innermost(calls: readonly SpanRow[], spans: readonly SpanRow[]): SpanRow[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const [outer, seen] = [new Set<SpanRow>(), new Set<SpanRow>()];
  for (const call of calls) {
    let above = byId.get(call.parentId ?? '');
    // What ended before an earlier call began had ended before this one too.
    while (above !== undefined && !seen.has(above)) {
      seen.add(above);
      if (above.endedMs > call.startedMs) outer.add(above);
      above = byId.get(above.parentId ?? '');
    }
  }
  return calls.filter((call) => !outer.has(call));
}

function toModelCall(span: SpanRow): ModelCall | undefined {
  const { input, output } = readSpanMessages(span.view);
  const api = findApi(span);
  const [said] = output ?? [];
  if (input === undefined || (said === undefined && !span.failed)) return undefined;
  const model = textAt(span, semconv.ATTR_GEN_AI_REQUEST_MODEL);
  const given = span.attributes[semconv.ATTR_GEN_AI_TOOL_DEFINITIONS] ?? span.attributes['ai.prompt.tools'];
  const tools = contentTools(given);
  const content = {
    ...(model === undefined ? {} : { model }),
    messages: contentMessages(input),
    ...(tools.length === 0 ? {} : { tools }),
  };
  const asked = (said?.parts ?? []).filter((part) => part.type === 'tool_call');
  if (said === undefined) return { span, api, input, content, asked, response: failedResponse(span) };
  const response = writeWhole(api, {
    id: span.responseId ?? span.spanId,
    model: span.model ?? model,
    text: said.parts.map((part) => (part.type === 'text' ? part.content : '')).join(''),
    calls: writtenCalls(asked),
    finishReason: oddFinish(span.finishReason ?? undefined),
    usage: readUsage(span),
  });
  return { span, api, input, content, asked, response };
}

/** In which a golden holds answers: OpenAI's, which most imitate, where a span does not tell. */
function findApi({ provider, attributes }: SpanRow): WireApi {
  if (attributes[semconv.ATTR_OPENAI_API_TYPE] === 'responses') return openAiResponses;
  const [own] = PROVIDERS.find(({ name }) => name === provider)?.apis ?? [];
  return own === undefined || own === openAiResponses ? openAiChat : own;
}

function failedResponse(span: SpanRow): WireResponse {
  const kind = textAt(span, semconv.ATTR_ERROR_TYPE) ?? 'error';
  const status = Number(textAt(span, semconv.ATTR_HTTP_RESPONSE_STATUS_CODE) ?? kind);
  if (!(status >= 400 && status < 600))
    return { status: 0, headers: {}, error: { code: null, message: `${span.name} failed: ${kind}` } };
  const error = { message: 'The provider refused the request', type: kind };
  return { status, headers: { 'content-type': 'application/json' }, body: { error } };
}

function exchangePart(
  { span, api, content, response }: ModelCall,
  known: readonly string[],
  order: readonly [number, number],
): ProgramPart {
  const { messages, ...rest } = content;
  const kept = Object.fromEntries(Object.entries(rest).filter(([name]) => known.includes(name)));
  const exchange = {
    content_only: true as const,
    request: { method: 'POST', path: toPath(api), headers: {}, body: { ...kept, messages } },
    response,
    token_usage: exchangeUsage(readUsage(span)),
    duration_ms: toDuration(span),
    started_at: new Date(span.startedMs).toISOString(),
    order,
  };
  return {
    exchange,
    is_from_provider: !LOCAL_HOSTS.has(textAt(span, semconv.ATTR_SERVER_ADDRESS) ?? ''),
    sdk: null,
  };
}

function toCall(span: SpanRow, told: readonly ModelCall[]): StoredCall | undefined {
  const given = readSpanMessages(span.view).toolArguments ?? {};
  const stored = span.attributes[semconv.ATTR_GEN_AI_TOOL_CALL_RESULT] ?? shownResult(span, told);
  const result = parseContainerOrKeep(stored);
  const code = Number(textAt(span, semconv.ATTR_ERROR_TYPE));
  const isError = span.failed && Number.isInteger(code);
  if (!isObject(given) || (result === undefined && !isError)) return undefined;
  const isResult = isObject(result) && ('content' in result || 'structuredContent' in result);
  const text = isResult
    ? toolResultText(result)
    : typeof result === 'string'
      ? result
      : JSON.stringify(result);
  const call: McpCall = {
    server: textAt(span, 'observatory.mcp_server') ?? span.serverName ?? 'server',
    tool: span.toolName ?? '',
    arguments: given,
    ...(isError
      ? { outcome: 'error', error: { code, message: text.replace(`MCP error ${code}: `, '') } }
      : { outcome: 'result', result: isResult ? result : { content: [{ type: 'text', text }] } }),
    duration_ms: toDuration(span),
  };
  return { span, call };
}

/** Behind a gate the span of a tool has no result; the model saw one. */
function shownResult(span: SpanRow, told: readonly ModelCall[]): unknown {
  const id = textAt(span, semconv.ATTR_GEN_AI_TOOL_CALL_ID);
  if (id === undefined) return undefined;
  const parts = told.flatMap(({ input }) => input.flatMap((message) => message.parts));
  const shown = parts.find((part) => part.type === 'tool_call_response' && part.id === id);
  if (shown?.type !== 'tool_call_response') return undefined;
  const text = toolResultText(shown.response);
  return { content: [{ type: 'text', text }], ...(shown.isError === true ? { isError: true } : {}) };
}

/** How a server opened, and what it offered. */
function serverParts(
  server: string,
  tools: readonly JsonObject[],
  calls: readonly StoredCall[],
): ProgramPart[] {
  const span = calls.find(({ call }) => call.server === server)?.span;
  const info = { name: server, version: textAt(span, 'observatory.mcp.server.version') ?? '0' };
  const version = textAt(span, semconv.ATTR_MCP_PROTOCOL_VERSION) ?? '2025-06-18';
  const capabilities = { tools: {} };
  const answer = (tool: string, result: JsonObject): ProgramPart => ({
    call: { server, tool, arguments: {}, outcome: 'result', result, duration_ms: 0 },
  });
  const connection = {
    outcome: 'ready' as const,
    protocol_version: version,
    server_info: info,
    capabilities,
    instructions: null,
    tool_lists: [tools],
  };
  return [
    { server, at: 0, connection },
    answer('initialize', { protocolVersion: version, capabilities, serverInfo: info }),
    answer('tools/list', { tools }),
  ];
}

function inOrder(spans: readonly SpanRow[]): OrderOf {
  const ends = spans.flatMap((span) => [
    { span, at: span.startedMs, side: 0 },
    { span, at: Math.max(span.endedMs, span.startedMs + 0.0005), side: 1 },
  ]);
  const positions = new Map<SpanRow, [number, number]>(spans.map((span) => [span, [0, 0]]));
  // What ended when another began was what that one waited for. The first positions are those of what servers offer.
  for (const [index, { span, side }] of ends.sort((a, b) => a.at - b.at || b.side - a.side).entries())
    (positions.get(span) as [number, number])[side] = index + FIRST_POSITION;
  return (span) => positions.get(span) ?? [0, 0];
}

const FIRST_POSITION = 10_000;

function listLacks(
  spans: readonly SpanRow[],
  models: number,
  tools: number,
  known: readonly string[],
  hasSystem: boolean,
): string[] {
  const methods = spans.flatMap(({ method }) => (method === null || HELD.test(method) ? [] : [method]));
  return [
    models > 0 && `the content of ${models} model calls`,
    tools > 0 && `arguments or results of ${tools} tool calls`,
    !known.includes('tools') && 'definitions of tools',
    !known.includes('model') && 'models that were asked for',
    !hasSystem && 'messages of the system',
    methods.length > 0 && `answers to ${[...new Set(methods)].join(', ')}`,
    NEVER_HELD,
  ].filter((one) => one !== false);
}

/** Methods whose answers a golden from a trace has, or needs not. */
const HELD = /^(?:tools\/call|tools\/list|initialize|ping|server\/discover|notifications\/.*)$/;

function toPath({ name }: WireApi): string {
  return PATHS.get(name) ?? '/v1/chat/completions';
}

const PATHS: ReadonlyMap<string, string> = new Map([
  ['openai.responses', '/v1/responses'],
  ['anthropic.messages', '/v1/messages'],
  ['gemini.generate_content', '/v1beta/models/model:generateContent'],
]);

function readUsage({ tokens }: SpanRow): TokenUsage | undefined {
  if (tokens.estimated || (tokens.input === null && tokens.output === null)) return undefined;
  return {
    inputTokens: tokens.input ?? undefined,
    outputTokens: tokens.output ?? undefined,
    cacheReadTokens: tokens.cacheRead ?? undefined,
    cacheWriteTokens: tokens.cacheWrite ?? undefined,
    reasoningTokens: tokens.reasoning ?? undefined,
  };
}

function toDuration({ startedMs, endedMs }: SpanRow): number {
  return Math.round(endedMs - startedMs);
}
