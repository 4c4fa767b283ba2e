/**
 * Claude Code: events of its page "Monitoring" (code.claude.com/docs/en/monitoring-usage), Claude Code 2.1. A run is a
 * prompt (`prompt.id`). Input tokens exclude those of the cache, as in Anthropic's API.
 */
import { semconv } from '../../base/index.ts';
import { answerContent, promptContent } from '../../interaction/index.ts';
import {
  type AgentCall,
  type AgentDialect,
  modelAttributes,
  tokenSum,
  toolAttributes,
} from './agent-call.ts';
import type { AgentEvent } from './event.ts';

export const claudeCode: AgentDialect = {
  agent: 'claude-code',
  events: {
    'claude_code.user_prompt': userPrompt,
    'claude_code.api_request': apiRequest,
    'claude_code.api_error': apiError,
    'claude_code.assistant_response': assistantResponse,
    'claude_code.tool_result': toolResult,
    'claude_code.tool_decision': toolDecision,
  },
};

function runOf(event: AgentEvent): readonly string[] {
  return [event.text('session.id') ?? '', event.text('prompt.id') ?? ''];
}

function userPrompt(event: AgentEvent): AgentCall {
  return {
    kind: 'prompt',
    run: runOf(event),
    key: event.text('message.uuid', 'prompt.id'),
    name: 'invoke_agent claude-code',
    attributes: promptContent(event.content('prompt')),
  };
}

function apiRequest(event: AgentEvent): AgentCall {
  const model = event.text('model');
  const cacheReadTokens = event.count('cache_read_tokens');
  const cacheWriteTokens = event.count('cache_creation_tokens');
  const micros = event.number('cost_usd_micros');
  return {
    kind: 'model',
    run: runOf(event),
    key: requestId(event),
    name: `chat ${model ?? ''}`.trim(),
    attributes: modelAttributes({
      provider: 'anthropic',
      model,
      inputTokens: tokenSum(event.count('input_tokens'), cacheReadTokens, cacheWriteTokens),
      outputTokens: event.count('output_tokens'),
      cacheReadTokens,
      cacheWriteTokens,
      costUsd: event.number('cost_usd') ?? (micros === undefined ? undefined : micros / 1e6),
      responseId: event.text('request_id'),
    }),
  };
}

function apiError(event: AgentEvent): AgentCall {
  const model = event.text('model');
  const status = event.text('status_code');
  return {
    kind: 'model',
    run: runOf(event),
    key: undefined,
    name: `chat ${model ?? ''}`.trim(),
    attributes: {
      ...modelAttributes({ provider: 'anthropic', model, responseId: event.text('request_id') }),
      [semconv.ATTR_HTTP_RESPONSE_STATUS_CODE]: event.count('status_code'),
      [semconv.ATTR_HTTP_REQUEST_RESEND_COUNT]: resends(event),
    },
    failure: { type: status ?? 'api_error', message: event.content('error') },
  };
}

function resends(event: AgentEvent): number | undefined {
  const attempts = event.count('attempt');
  return attempts === undefined ? undefined : Math.max(0, attempts - 1);
}

function assistantResponse(event: AgentEvent): AgentCall | undefined {
  const answer = event.content('response');
  if (answer === undefined) return undefined;
  const model = event.text('model');
  return {
    kind: 'answer',
    run: runOf(event),
    key: requestId(event),
    name: `chat ${model ?? ''}`.trim(),
    attributes: {
      ...modelAttributes({ provider: 'anthropic', model, responseId: event.text('request_id') }),
      ...answerContent(answer),
    },
  };
}

function toolResult(event: AgentEvent): AgentCall | undefined {
  return toolCall(
    event,
    event.flag('success') === false
      ? { type: event.text('error_type') ?? 'tool_error', message: event.content('error') }
      : undefined,
  );
}

/** A refused call has no result; the result of an allowed one is another event. */
function toolDecision(event: AgentEvent): AgentCall | undefined {
  if (event.text('decision') !== 'reject') return undefined;
  return toolCall(event, { type: 'rejected', message: event.text('source') });
}

function toolCall(event: AgentEvent, failure: AgentCall['failure']): AgentCall | undefined {
  const name = event.text('tool_name');
  if (name === undefined) return undefined;
  const { mcp_server_name: givenServer, mcp_tool_name: givenTool } = event.object('tool_parameters');
  // Claude Code names the tool of an MCP server `mcp__server__tool`.
  const [, server, tool] = /^mcp__(.{1,200}?)__(.{1,300})$/su.exec(name) ?? [];
  const callId = event.text('tool_use_id');
  const shown = typeof givenTool === 'string' ? givenTool : (tool ?? name);
  return {
    kind: 'tool',
    run: runOf(event),
    key: callId,
    name: `execute_tool ${shown}`,
    attributes: toolAttributes({
      tool: shown,
      server: typeof givenServer === 'string' ? givenServer : server,
      callId,
      arguments: event.content('tool_input') ?? event.content('tool_parameters'),
    }),
    failure,
  };
}

function requestId(event: AgentEvent): string | undefined {
  return event.text('request_id', 'client_request_id');
}
