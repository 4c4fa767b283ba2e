/**
 * Claude Code: events and spans of its page "Monitoring" (code.claude.com/docs/en/monitoring-usage), Claude Code 2.1. A
 * run is a prompt (`prompt.id`), or a call that Claude Code makes for itself, such as that for the title of a session.
 * Input tokens exclude those of the cache, as in Anthropic's API. A span has the attributes of its event.
 */
import { semconv } from '../../base/index.ts';
import { answerContent, promptContent } from '../../interaction/index.ts';
import { addUp } from '../../json/index.ts';
import { readUsageUnits } from '../../signals/index.ts';
import {
  type AgentCall,
  type AgentDialect,
  type AgentSpan,
  modelAttributes,
  toolAttributes,
} from './agent-call.ts';
import type { AgentAttributes, AgentEvent } from './event.ts';

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
  spans: {
    'claude_code.interaction': interaction,
    'claude_code.llm_request': modelRequest,
    'claude_code.tool': toolUse,
  },
};

function readRun(event: AgentEvent): readonly string[] {
  return [event.text('session.id') ?? '', event.text('prompt.id') ?? ''];
}

/** The run of a model call. Versions that name the source of a query also name its prompt, if it has one. */
function runOfQuery(event: AgentEvent): readonly string[] {
  return isForItself(event) ? [...readRun(event), requestId(event) ?? event.fingerprint] : readRun(event);
}

function isForItself(event: AgentEvent): boolean {
  return event.text('prompt.id') === undefined && event.text('query_source') !== undefined;
}

function userPrompt(event: AgentEvent): AgentCall {
  return {
    kind: 'prompt',
    run: readRun(event),
    isRoot: event.text('prompt.id') !== undefined,
    key: event.text('message.uuid', 'prompt.id'),
    name: 'invoke_agent claude-code',
    attributes: promptContent(event.content('prompt')),
  };
}

function apiRequest(event: AgentEvent): AgentCall {
  const { name, attributes } = modelRequest(event);
  return {
    kind: 'model',
    run: runOfQuery(event),
    isRoot: isForItself(event),
    key: requestId(event),
    name,
    attributes,
  };
}

function interaction(span: AgentAttributes): AgentSpan {
  return {
    name: 'invoke_agent claude-code',
    attributes: {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: 'invoke_agent',
      ...promptContent(span.content('user_prompt')),
    },
  };
}

/** A request that failed says why in its event or, on a span, in `error`. */
function modelRequest(told: AgentAttributes): AgentSpan {
  const model = told.text('model');
  const cacheReadTokens = told.count('cache_read_tokens');
  const cacheWriteTokens = told.count('cache_creation_tokens');
  const micros = told.number('cost_usd_micros');
  return {
    name: `chat ${model ?? ''}`.trim(),
    attributes: modelAttributes({
      provider: 'anthropic',
      model,
      inputTokens: addUp(told.count('input_tokens'), cacheReadTokens, cacheWriteTokens),
      outputTokens: told.count('output_tokens'),
      cacheReadTokens,
      cacheWriteTokens,
      // Of transcripts: see ClaudeReader.
      ...readUsageUnits(told.object('usage_units')),
      costUsd: told.number('cost_usd') ?? (micros === undefined ? undefined : micros / 1e6),
      responseId: told.text('request_id'),
    }),
    failure:
      told.flag('success') === false
        ? { type: told.text('status_code') ?? 'api_error', message: told.content('error') }
        : undefined,
  };
}

function apiError(event: AgentEvent): AgentCall {
  const model = event.text('model');
  const status = event.text('status_code');
  return {
    kind: 'model',
    run: runOfQuery(event),
    isRoot: isForItself(event),
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
    run: runOfQuery(event),
    key: requestId(event),
    name: `chat ${model ?? ''}`.trim(),
    attributes: {
      ...modelAttributes({ provider: 'anthropic', model, responseId: event.text('request_id') }),
      ...answerContent(answer),
    },
  };
}

function toolResult(event: AgentEvent): AgentCall | undefined {
  return toolCall(event, toolUse(event));
}

/** A refused call has no result; the result of an allowed one is another event. */
function toolDecision(event: AgentEvent): AgentCall | undefined {
  if (event.text('decision') !== 'reject') return undefined;
  const use = toolUse(event);
  return toolCall(event, use && { ...use, failure: { type: 'rejected', message: event.text('source') } });
}

function toolCall(event: AgentEvent, use: AgentSpan | undefined): AgentCall | undefined {
  if (use === undefined) return undefined;
  return { kind: 'tool', run: readRun(event), key: event.text('tool_use_id'), ...use };
}

function toolUse(told: AgentAttributes): AgentSpan | undefined {
  const name = told.text('tool_name');
  if (name === undefined) return undefined;
  const { mcp_server_name: givenServer, mcp_tool_name: givenTool } = told.object('tool_parameters');
  // Claude Code names the tool of an MCP server `mcp__server__tool`.
  const [, server, tool] = /^mcp__(.{1,200}?)__(.{1,300})$/su.exec(name) ?? [];
  const shown = typeof givenTool === 'string' ? givenTool : (tool ?? name);
  return {
    name: `execute_tool ${shown}`,
    attributes: toolAttributes({
      tool: shown,
      server: typeof givenServer === 'string' ? givenServer : server,
      callId: told.text('tool_use_id'),
      arguments: told.content('tool_input') ?? told.content('tool_parameters'),
    }),
    failure:
      told.flag('success') === false
        ? { type: told.text('error_type') ?? 'tool_error', message: told.content('error') }
        : undefined,
  };
}

function requestId(event: AgentEvent): string | undefined {
  return event.text('request_id', 'client_request_id');
}
