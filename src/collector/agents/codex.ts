/**
 * Codex: events of `codex-rs/otel` (openai/codex), whose names and fields are those of its documentation
 * (developers.openai.com/codex, "Observability and telemetry"). A run is a conversation: Codex has no id for a prompt.
 * Input tokens include those of the cache, output tokens those of reasoning. The end of a stream is two events: the one
 * that every item of the stream has, and the one with the tokens, which is the call.
 */
import { semconv } from '../../base/index.ts';
import { promptContent } from '../../interaction/index.ts';
import { type AgentCall, type AgentDialect, modelAttributes, toolAttributes } from './agent-call.ts';
import type { AgentEvent } from './event.ts';

export const codex: AgentDialect = {
  agent: 'codex',
  events: {
    'codex.conversation_starts': conversationStarts,
    'codex.user_prompt': userPrompt,
    'codex.api_request': apiRequest,
    'codex.sse_event': streamEvent,
    'codex.tool_result': toolResult,
  },
};

const OPENAI_MODEL = /^(?:gpt-|o\d|codex|computer-use)/u;

function readRun(event: AgentEvent): readonly string[] {
  return [event.text('conversation.id') ?? '', ''];
}

function conversationStarts(event: AgentEvent): AgentCall {
  return {
    kind: 'prompt',
    run: readRun(event),
    isRoot: true,
    key: 'start',
    name: 'invoke_agent codex',
    attributes: {},
  };
}

function userPrompt(event: AgentEvent): AgentCall {
  return {
    kind: 'prompt',
    run: readRun(event),
    key: event.fingerprint,
    name: 'invoke_agent codex',
    attributes: promptContent(event.content('prompt')),
  };
}

/** Failed requests only: successful ones are reported by the events of their stream. */
function apiRequest(event: AgentEvent): AgentCall | undefined {
  const message = event.content('error.message');
  const status = event.count(semconv.ATTR_HTTP_RESPONSE_STATUS_CODE);
  if (message === undefined && (status ?? 200) < 400) return undefined;
  const call = modelCall(event, { type: String(status ?? 'api_error'), message });
  return { ...call, attributes: { ...call.attributes, [semconv.ATTR_HTTP_RESPONSE_STATUS_CODE]: status } };
}

function streamEvent(event: AgentEvent): AgentCall | undefined {
  const kind = event.text('event.kind');
  const message = event.content('error.message');
  if (message !== undefined) return modelCall(event, { type: kind ?? 'stream_error', message });
  const hasTokens = event.count('input_token_count') !== undefined;
  return kind === 'response.completed' && hasTokens ? modelCall(event, undefined) : undefined;
}

function modelCall(event: AgentEvent, failure: AgentCall['failure']): AgentCall {
  const model = event.text('model', 'slug');
  return {
    kind: 'model',
    run: readRun(event),
    key: undefined,
    name: `chat ${model ?? ''}`.trim(),
    attributes: modelAttributes({
      provider: model !== undefined && OPENAI_MODEL.test(model) ? 'openai' : undefined,
      model,
      inputTokens: event.count('input_token_count'),
      outputTokens: event.count('output_token_count'),
      cacheReadTokens: event.count('cached_token_count'),
      cacheWriteTokens: event.count('cache_write_token_count'),
      reasoningTokens: event.count('reasoning_token_count'),
    }),
    failure,
  };
}

function toolResult(event: AgentEvent): AgentCall | undefined {
  const tool = event.text('tool_name');
  if (tool === undefined) return undefined;
  const server = event.text('mcp_server');
  const callId = event.text('call_id');
  const output = event.content('output');
  const isFailed = event.flag('success') === false;
  return {
    kind: 'tool',
    run: readRun(event),
    key: callId,
    name: `execute_tool ${tool}`,
    attributes: toolAttributes({
      tool,
      server,
      callId,
      arguments: event.content('arguments'),
      result: output,
    }),
    failure: isFailed ? { type: 'tool_error', message: output } : undefined,
  };
}
