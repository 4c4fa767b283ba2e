/** A day of a fleet as rows of `mcp_traces`, made in the database: sessions of 50 spans, one after the other. */

const AGENT_STEP = 0;
const MODEL_CALL = 1;
const TOOL_CALL = 2;

/**
 * SQL that inserts this many rows, evenly over today (UTC) or a day so many days before. A third each are steps of agents, model calls and tool calls.
 * A session has one service, client, user and model, and five of 300 tools on 15 servers; a trace has 20 spans.
 */
export function insertDay(rows: number, daysAgo = 0): string {
  const only = (kind: number, value: string) => `CASE WHEN n % 3 = ${kind} THEN ${value} END`;
  const spanId = (n: string) =>
    `('00000000-0000-0000-' || left(md5('s' || ${n}), 4) || '-' || left(md5('t' || ${n}), 12))::uuid`;
  const tool = '(s * 7 + n % 5) % 300';
  const values: Readonly<Record<string, string>> = {
    trace_id: `md5('t' || n / 20)::uuid`,
    span_id: spanId('n'),
    parent_span_id: `CASE WHEN n % 20 > 0 THEN ${spanId('(n - n % 20)')} END`,
    service: `'service-' || s % 6`,
    model: only(MODEL_CALL, `'model-' || s % 8`),
    tool_name: only(TOOL_CALL, `'tool-' || ${tool}`),
    start_time: 'start',
    end_time: `start + (n % 977) * interval '1.3 ms'`,
    prompt_tokens: only(MODEL_CALL, 'n % 4000'),
    completion_tokens: only(MODEL_CALL, 'n % 700'),
    cost_usd: only(MODEL_CALL, 'n % 700 / 1e5'),
    prompt_hash: only(MODEL_CALL, `md5('p' || n) || md5('q' || n)`),
    normalized_prompt_hash: only(MODEL_CALL, `md5('p' || n % 5000) || md5('q')`),
    hallucination_risk_score: only(MODEL_CALL, 'n % 97 / 97.0'),
    hallucination_risk_level: only(MODEL_CALL, `CASE WHEN n % 401 = 0 THEN 'high' ELSE 'low' END`),
    gate_blocked: only(TOOL_CALL, 'n % 503 = 0'),
    span_name: `'span of kind ' || n % 3`,
    span_kind: `CASE WHEN n % 3 = ${AGENT_STEP} THEN 'internal' ELSE 'client' END`,
    status_code: `CASE WHEN n % 53 = 0 THEN 'error' ELSE 'unset' END`,
    scope: `'mcp-observatory/mcp'`,
    provider: only(MODEL_CALL, `'openai'`),
    operation: `(ARRAY['invoke_agent', 'chat', 'execute_tool'])[n % 3 + 1]`,
    method: only(TOOL_CALL, `'tools/call'`),
    session_id: `'session-' || md5('c' || s)`,
    conversation_id: only(MODEL_CALL, `'conversation-' || md5('c' || n / 40)`),
    response_id: only(MODEL_CALL, `'chatcmpl-' || md5('r' || n)`),
    cost_source: only(MODEL_CALL, `'genai-prices'`),
    attributes: `'{"server.address": "api.openai.com", "network.transport": "tcp", "mcp.protocol.version": "2025-11-25",
      "app.note": "a text that the application adds", "app.route": "/v1/assistants/{assistant}/threads/{thread}"}'::jsonb`,
    resource: `'{"host.name": "app-1", "process.pid": 4711, "telemetry.sdk.name": "opentelemetry"}'::jsonb`,
    events: `'[]'::jsonb`,
    links: `'[]'::jsonb`,
    server_name: only(TOOL_CALL, `'server-' || ${tool} / 20`),
    client_name: only(TOOL_CALL, `'client-' || s % 12`),
    user_id: `'user-' || s / 400 * 10 + s % 10`,
    connection_id: only(TOOL_CALL, `'session-' || md5('c' || s)`),
    offered_tools: only(MODEL_CALL, '20'),
    offered_tools_tokens: only(MODEL_CALL, 'n % 4000 / 4'),
    offered_tools_cost_usd: only(MODEL_CALL, 'n % 700 / 4e5'),
    offered_tools_hash: only(MODEL_CALL, `md5('o' || s % 90) || md5('p')`),
    offered_tools_list: `CASE WHEN n % 2998 = ${MODEL_CALL} THEN '{"total": 900, "tools": {"server-1": {"tool-' || s % 90 || '": 800}}}' END`,
    run_id: only(TOOL_CALL, `'run-' || n / 20`),
  };
  return `INSERT INTO mcp_traces (${Object.keys(values).join(', ')})
    SELECT ${Object.values(values).join(',\n')}
    FROM (SELECT n, n / 50 AS s, date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' -
      ${daysAgo} * interval '1 day' + n * interval '1 day' / ${rows} AS start FROM generate_series(0, ${rows - 1}) AS n) AS spans`;
}

/** Trace id of {@link insertLongRun}. */
export const LONG_RUN_ID: string = 'f'.repeat(32);

/** SQL that inserts one run of this many spans, of the last minutes: its root, and calls of seven tools. */
export function insertLongRun(spans: number): string {
  const start = (n: string) => `now() - interval '5 minutes' + ${n} * interval '1 ms'`;
  return `INSERT INTO mcp_traces (trace_id, span_id, parent_span_id, service, start_time, end_time, span_name, span_kind,
      status_code, method, tool_name, server_name, attributes, resource, events, links)
    SELECT '${LONG_RUN_ID}'::uuid, ('00000000-0000-0000-0000-' || lpad(to_hex(n + 1), 12, '0'))::uuid,
      CASE WHEN n > 0 THEN '00000000-0000-0000-0000-000000000001'::uuid END, 'long', ${start('n')}, ${start('(n + 1)')},
      'tools/call tool-' || n % 7, 'client', CASE WHEN n % 999 = 0 THEN 'error' ELSE 'unset' END, 'tools/call',
      'tool-' || n % 7, 'server-1', jsonb_build_object('gen_ai.tool.call.arguments', '{"page": 1}'), '{}', '[]', '[]'
    FROM generate_series(0, ${spans - 1}) AS n`;
}

/** The questions that have an index of their own, about the middle of the rows. */
export function questions(rows: number): Readonly<Record<string, string>> {
  const session = Math.floor(rows / 100);
  const call = 3 * Math.floor(rows / 6) + MODEL_CALL;
  const of = (condition: string) => `SELECT * FROM mcp_traces WHERE ${condition} ORDER BY start_time`;
  const newest = (condition: string) =>
    `SELECT * FROM mcp_traces WHERE ${condition} ORDER BY start_time DESC LIMIT 50`;
  return {
    'a trace': of(`trace_id = md5('t${Math.floor(call / 20)}')::uuid`),
    'a service': newest(`service = 'service-3'`),
    'a model': newest(`model = 'model-5'`),
    'a prompt': of(`prompt_hash = md5('p${call}') || md5('q${call}')`),
    'a normalized prompt': newest(`normalized_prompt_hash = md5('p${call % 5000}') || md5('q')`),
    'a session': of(`session_id = 'session-' || md5('c${session}')`),
    'a conversation': of(`conversation_id = 'conversation-' || md5('c${session}')`),
    'a run': of(`run_id = 'run-${session}'`),
    'newest runs': newest('parent_span_id IS NULL'),
    'a tool': newest(`tool_name = 'tool-7'`),
    'high risk': newest(`hallucination_risk_level = 'high'`),
    'high evidence risk': newest(`evidence_risk_level = 'high'`),
    errors: newest(`status_code = 'error'`),
    'gate-blocked': newest('gate_blocked'),
  };
}
