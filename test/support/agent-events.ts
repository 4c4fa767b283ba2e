/**
 * What coding agents send over OTLP, made from their documents, not recorded:
 * - Claude Code 2.1: code.claude.com/docs/en/monitoring-usage (events with their attributes; numbers as numbers, flags
 *   as text, the name in the body and without its prefix in `event.name`).
 * - Codex: codex-rs/otel/src/events/session_telemetry.rs and shared/log.rs of openai/codex (numbers as text).
 * - Gemini CLI: docs/cli/telemetry.md of google-gemini/gemini-cli, with the event that repeats a response.
 * - VS Code Copilot Chat: docs/monitoring/agent_monitoring.md of microsoft/vscode-copilot-chat (spans, and the event
 *   that repeats a model call).
 */
import { keyValues as allKeyValues } from './otlp-encode.ts';

type Value = string | number | boolean | readonly string[];
type Attributes = Readonly<Record<string, Value | undefined>>;

/** One event: its name, when it was logged (ms after the start) and its attributes. */
export interface DocumentedEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Attributes;
}

/** When the documented sessions start; inside the last day, so that lists show them. */
export const STARTED_MS = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;

export const nanosAt = (ms: number) => `${BigInt(STARTED_MS + ms) * 1_000_000n}`;

const keyValues = (attributes: Attributes) => allKeyValues(JSON.parse(JSON.stringify(attributes)));

/** An `ExportLogsServiceRequest` in OTLP/JSON. `named` says where the name of each event is besides its attribute. */
export function logsRequest(
  service: string,
  events: readonly DocumentedEvent[],
  named: 'body' | 'field' | 'attribute',
): object {
  const logRecords = events.map(({ name, at, attributes }) => ({
    // Codex's bridge sets the time of observation only.
    ...(named === 'attribute' ? { observedTimeUnixNano: nanosAt(at) } : { timeUnixNano: nanosAt(at) }),
    ...(named === 'field' ? { eventName: name } : {}),
    body: { stringValue: named === 'body' ? name : 'said in words' },
    attributes: keyValues({
      'event.name': named === 'body' ? name.replace('claude_code.', '') : name,
      'event.timestamp': new Date(STARTED_MS + at).toISOString(),
      ...attributes,
    }),
  }));
  return {
    resourceLogs: [
      { resource: { attributes: keyValues({ 'service.name': service }) }, scopeLogs: [{ logRecords }] },
    ],
  };
}

const claudeCommon = {
  'session.id': '8f1c2a40-91c5-4d5e-8a4e-6f7a8b9c0d1e',
  'prompt.id': '0b7e5a3c-2d4f-4e6a-9c8b-1a2b3c4d5e6f',
  'user.account_uuid': 'a1b2c3d4-0000-4000-8000-000000000001',
  'terminal.type': 'vscode',
};

/** A prompt of Claude Code: two model calls, a failed and a good tool call of an MCP server, one refused by the user. */
export const CLAUDE_CODE: readonly DocumentedEvent[] = [
  ['user_prompt', 0, { prompt_length: 27, prompt: 'Why does the build fail?' }],
  [
    'api_request',
    2100,
    {
      model: 'claude-sonnet-5',
      cost_usd: 0.0123,
      cost_usd_micros: 12300,
      duration_ms: 2000,
      input_tokens: 12,
      output_tokens: 180,
      cache_read_tokens: 9000,
      cache_creation_tokens: 1500,
      request_id: 'req_011a',
      query_source: 'repl_main_thread',
    },
  ],
  [
    'tool_result',
    2500,
    {
      tool_name: 'Bash',
      tool_use_id: 'toolu_1',
      success: 'false',
      duration_ms: 300,
      error_type: 'ShellError',
      error: 'npm ERR! missing script: build',
      tool_input: '{"command":"npm run build"}',
      decision_type: 'accept',
      decision_source: 'config',
    },
  ],
  [
    'tool_result',
    2900,
    {
      tool_name: 'mcp__ci__get_log',
      tool_use_id: 'toolu_2',
      success: 'true',
      duration_ms: 250,
      tool_parameters: '{"mcp_server_name":"ci","mcp_tool_name":"get_log"}',
      tool_input: '{"job":7}',
    },
  ],
  [
    'tool_decision',
    3000,
    { tool_name: 'Write', tool_use_id: 'toolu_3', decision: 'reject', source: 'user_reject' },
  ],
  [
    'tool_decision',
    3001,
    { tool_name: 'Bash', tool_use_id: 'toolu_1', decision: 'accept', source: 'config' },
  ],
  [
    'api_error',
    3500,
    { model: 'claude-sonnet-5', error: 'Overloaded', status_code: 529, duration_ms: 400, attempt: 2 },
  ],
  [
    'api_request',
    5500,
    {
      model: 'claude-sonnet-5',
      cost_usd: 0.0077,
      duration_ms: 1500,
      // Earlier versions send numbers as text.
      input_tokens: '20',
      output_tokens: '90',
      cache_read_tokens: '10500',
      cache_creation_tokens: '0',
      request_id: 'req_011b',
    },
  ],
  [
    'assistant_response',
    5501,
    { model: 'claude-sonnet-5', request_id: 'req_011b', response: 'The script is missing.' },
  ],
  ['mcp_server_connection', 5600, { status: 'connected' }],
].map(([name, at, attributes], i) => ({
  name: `claude_code.${name as string}`,
  at: at as number,
  attributes: { ...claudeCommon, 'event.sequence': i, ...(attributes as Attributes) },
}));

/** What Claude Code sent in that prompt. */
export const CLAUDE_CODE_TRUTH = { input: 10_512 + 10_520, output: 270, cached: 19_500, cost: 0.02 };

const codexCommon = {
  'conversation.id': '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  'app.version': '0.145.0',
  'user.account_id': 'acct-1',
  model: 'gpt-5.2-codex',
  slug: 'gpt-5.2-codex',
};

/** A conversation of Codex. */
export const CODEX: readonly DocumentedEvent[] = [
  ['conversation_starts', 0, { provider_name: 'OpenAI', approval_policy: 'on-request' }],
  ['user_prompt', 100, { prompt_length: '9', prompt: '[REDACTED]' }],
  ['api_request', 900, { duration_ms: '700', 'http.response.status_code': 200, attempt: 0 }],
  ['sse_event', 1000, { 'event.kind': 'response.created', duration_ms: '3' }],
  [
    'sse_event',
    2400,
    {
      'event.kind': 'response.completed',
      input_token_count: '8000',
      output_token_count: '400',
      cached_token_count: 6000,
      reasoning_token_count: 256,
      tool_token_count: '8400',
    },
  ],
  ['tool_decision', 2500, { tool_name: 'shell', call_id: 'call_1', decision: 'approved', source: 'config' }],
  [
    'tool_result',
    2900,
    {
      tool_name: 'shell',
      call_id: 'call_1',
      arguments: '{"command":["ls"]}',
      duration_ms: '350',
      success: 'true',
      output: 'a.txt',
      mcp_server: '',
    },
  ],
  [
    'tool_result',
    3200,
    {
      tool_name: 'search_issues',
      call_id: 'call_2',
      arguments: '{}',
      duration_ms: '120',
      success: 'false',
      output: 'rate limited',
      mcp_server: 'github',
    },
  ],
  [
    'api_request',
    3300,
    { duration_ms: '50', 'http.response.status_code': 429, 'error.message': 'slow down', attempt: 1 },
  ],
  [
    'sse_event',
    4400,
    {
      'event.kind': 'response.completed',
      input_token_count: '9000',
      output_token_count: '100',
      cached_token_count: 8000,
      tool_token_count: '9100',
    },
  ],
].map(([name, at, attributes]) => ({
  name: `codex.${name as string}`,
  at: at as number,
  attributes: { ...codexCommon, ...(attributes as Attributes) },
}));

export const CODEX_TRUTH = { input: 17_000, output: 500, cached: 14_000 };

const geminiCommon = {
  'session.id': 'c0ffee00-1111-4222-8333-444455556666',
  'installation.id': 'install-1',
  prompt_id: 'c0ffee00########0',
  auth_type: 'gemini-api-key',
};

/** A prompt of Gemini CLI. Tokens of tool results are not part of the input, thoughts not of the output. */
export const GEMINI_CLI: readonly DocumentedEvent[] = [
  ['gemini_cli.user_prompt', 0, { prompt_length: 12, prompt: 'List the TODOs' }],
  ['gemini_cli.api_request', 50, { model: 'gemini-2.5-pro', request_text: '[]' }],
  [
    'gemini_cli.api_response',
    1600,
    {
      model: 'gemini-2.5-pro',
      status_code: 200,
      duration_ms: 1500,
      input_token_count: 12_000,
      output_token_count: 350,
      cached_content_token_count: 8000,
      thoughts_token_count: 420,
      tool_token_count: 10,
      total_token_count: 12_780,
      finish_reasons: ['STOP'],
    },
  ],
  [
    'gen_ai.client.inference.operation.details',
    1600,
    {
      'gen_ai.request.model': 'gemini-2.5-pro',
      'gen_ai.usage.input_tokens': 12_000,
      'gen_ai.usage.output_tokens': 350,
    },
  ],
  [
    'gemini_cli.tool_call',
    1900,
    {
      function_name: 'search_file_content',
      function_args: '{"pattern":"TODO"}',
      duration_ms: 200,
      success: true,
      decision: 'auto_accept',
      tool_type: 'native',
    },
  ],
  [
    'gemini_cli.tool_call',
    2300,
    {
      function_name: 'create_issue',
      function_args: '{}',
      duration_ms: 90,
      success: false,
      error: 'no such repository',
      error_type: 'mcp_tool_error',
      tool_type: 'mcp',
      mcp_server_name: 'github',
    },
  ],
  [
    'gemini_cli.api_error',
    2500,
    { model: 'gemini-2.5-pro', error: 'quota', error_type: 'ApiError', status_code: 429, duration_ms: 100 },
  ],
].map(([name, at, attributes]) => ({
  name: name as string,
  at: at as number,
  attributes: { ...geminiCommon, ...(attributes as Attributes) },
}));

export const GEMINI_CLI_TRUTH = { input: 12_010, output: 770, cached: 8000 };

const conversation = { 'gen_ai.conversation.id': 'a1b2c3d4-copilot' };

/** Spans of VS Code Copilot Chat: the sum on the agent repeats its model calls. */
export const COPILOT_SPANS = {
  resourceSpans: [
    {
      resource: {
        attributes: keyValues({ 'service.name': 'copilot-chat', 'session.id': 'window-1' }),
      },
      scopeSpans: [
        {
          scope: { name: 'copilot-chat' },
          spans: [
            copilotSpan(1, undefined, 'invoke_agent copilot', 0, 9000, {
              'gen_ai.operation.name': 'invoke_agent',
              'gen_ai.agent.name': 'copilot',
              'gen_ai.usage.input_tokens': 4000,
              'gen_ai.usage.output_tokens': 600,
            }),
            ...[2, 4].map((id) =>
              copilotSpan(id, 1, 'chat gpt-4o', 1000 * id, 1000 * id + 900, {
                'gen_ai.operation.name': 'chat',
                'gen_ai.request.model': 'gpt-4o',
                'gen_ai.response.model': 'gpt-4o-2024-08-06',
                'gen_ai.response.id': `chatcmpl-${id}`,
                'gen_ai.usage.input_tokens': 2000,
                'gen_ai.usage.output_tokens': 300,
              }),
            ),
            copilotSpan(3, 1, 'execute_tool readFile', 3000, 3050, {
              'gen_ai.operation.name': 'execute_tool',
              'gen_ai.tool.name': 'readFile',
              'gen_ai.tool.type': 'function',
              'gen_ai.tool.call.id': 'call_abc123',
            }),
          ],
        },
      ],
    },
  ],
};

/** The event beside each of its model calls. */
export const COPILOT_EVENTS: readonly DocumentedEvent[] = [2900, 4900].map((at) => ({
  name: 'gen_ai.client.inference.operation.details',
  at,
  attributes: {
    ...conversation,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 2000,
    'gen_ai.usage.output_tokens': 300,
  },
}));

export const COPILOT_TRUTH = { input: 4000, output: 600 };

function copilotSpan(
  id: number,
  parent: number | undefined,
  name: string,
  from: number,
  to: number,
  attributes: Attributes,
): object {
  const hex = (number: number) => number.toString(16).padStart(16, '0');
  return {
    traceId: 'c0b1107'.padEnd(32, '1'),
    spanId: hex(id),
    parentSpanId: parent === undefined ? '' : hex(parent),
    name,
    kind: name.startsWith('chat') ? 3 : 1,
    startTimeUnixNano: nanosAt(from),
    endTimeUnixNano: nanosAt(to),
    attributes: keyValues({ 'gen_ai.provider.name': 'github', ...conversation, ...attributes }),
  };
}
