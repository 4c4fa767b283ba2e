/**
 * Gemini CLI: events of docs/cli/telemetry.md (google-gemini/gemini-cli). A run is a prompt (`prompt_id`). Input tokens
 * include those of the cache and not those of tool results; output tokens exclude thoughts, as in Gemini's API. The
 * event `gen_ai.client.inference.operation.details` repeats a response and is left out, as are its spans: each call has a
 * trace of its own there, without tokens.
 */
import { semconv } from '../../base/index.ts';
import { answerContent, promptContent, readProviderResponse } from '../../interaction/index.ts';
import { addUp, isObject, parseContainer } from '../../json/index.ts';
import { type AgentCall, type AgentDialect, modelAttributes, toolAttributes } from './agent-call.ts';
import type { AgentEvent } from './event.ts';

export const geminiCli: AgentDialect = {
  agent: 'gemini-cli',
  events: {
    'gemini_cli.user_prompt': userPrompt,
    'gemini_cli.api_response': apiResponse,
    'gemini_cli.api_error': apiError,
    'gemini_cli.tool_call': toolCall,
  },
  repeatingScope: 'gemini-cli',
};

function readRun(event: AgentEvent): readonly string[] {
  return [event.text('session.id') ?? '', event.text('prompt_id') ?? ''];
}

function userPrompt(event: AgentEvent): AgentCall {
  return {
    kind: 'prompt',
    run: readRun(event),
    isRoot: event.text('prompt_id') !== undefined,
    key: event.text('prompt_id'),
    name: 'invoke_agent gemini-cli',
    attributes: promptContent(event.content('prompt')),
  };
}

function apiResponse(event: AgentEvent): AgentCall {
  const reasoningTokens = event.count('thoughts_token_count');
  const call = modelCall(event, undefined, {
    inputTokens: addUp(event.count('input_token_count'), event.count('tool_token_count')),
    outputTokens: addUp(event.count('output_token_count'), reasoningTokens),
    cacheReadTokens: event.count('cached_content_token_count'),
    reasoningTokens,
  });
  return {
    ...call,
    attributes: { ...call.attributes, ...answerContent(findAnswer(event.content('response_text'))) },
  };
}

/** What the model said; newer versions send the chunks of the API's answer as JSON in place of its text. */
function findAnswer(sent: string | undefined): string | undefined {
  const chunks = sent?.startsWith('[{') === true ? parseContainer(sent) : undefined;
  if (!Array.isArray(chunks) || !chunks.every((one) => isObject(one) && 'candidates' in one)) return sent;
  return chunks.map((one) => readProviderResponse(one).answer ?? '').join('') || undefined;
}

function apiError(event: AgentEvent): AgentCall {
  const type = event.text('error_type', 'status_code') ?? 'api_error';
  return modelCall(event, { type, message: event.content('error') ?? event.content('error.message') }, {});
}

function modelCall(
  event: AgentEvent,
  failure: AgentCall['failure'],
  usage: Omit<Parameters<typeof modelAttributes>[0], 'provider' | 'model'>,
): AgentCall {
  const model = event.text('model');
  const isVertex = event.text('auth_type')?.includes('vertex') === true;
  const provider = isVertex ? 'gcp.vertex_ai' : 'gcp.gemini';
  return {
    kind: 'model',
    run: readRun(event),
    key: undefined,
    name: `chat ${model ?? ''}`.trim(),
    attributes: modelAttributes({ provider, model, ...usage }),
    failure,
  };
}

function toolCall(event: AgentEvent): AgentCall | undefined {
  const tool = event.text('function_name');
  if (tool === undefined) return undefined;
  const isRejected = event.text('decision') === 'reject';
  const isFailed = event.flag('success') === false;
  return {
    kind: 'tool',
    run: readRun(event),
    key: undefined,
    name: `execute_tool ${tool}`,
    attributes: toolAttributes({
      tool,
      server: event.text('mcp_server_name'),
      callId: undefined,
      arguments: event.content('function_args'),
    }),
    failure:
      isFailed || isRejected
        ? {
            type: isRejected
              ? 'rejected'
              : (event.text('error_type', semconv.ATTR_ERROR_TYPE) ?? 'tool_error'),
            message: event.content('error') ?? event.content('error.message'),
          }
        : undefined,
  };
}
