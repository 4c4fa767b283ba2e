/** A handwritten golden with every kind of step, failures and recoveries, and malicious content. */
import { type Golden, sealGolden } from '../../src/golden/index.ts';

export const HOSTILE =
  '</pre></style><script>document.title="owned"</script><img src="http://127.0.0.1:9/x" onerror="document.title=\'owned\'">' +
  '<a href="javascript:alert(1)">x</a>\u001b[2J\u001b]0;owned\u0007\u202eevil';

export interface StoryGoldenOptions {
  /** Characters of the longest tool result. @defaultValue 2000 */
  readonly resultChars?: number;
  /** Turns between the task and the answer. @defaultValue 2 */
  readonly turns?: number;
}

const SYSTEM = 'You keep the books of a small shop. Use the tools; answer only from what they return.';
const TASK = 'How many orders are open, and what are they worth? <b>Be brief.</b>';
const ANSWER =
  'There are 3 open orders worth 412.50 EUR. The archive could not be read, so orders before 2024 are not counted.';

/** One answered turn per call, the last of which fails and is made again with other arguments. */
export function storyGolden({ resultChars = 2000, turns = 2 }: StoryGoldenOptions = {}): Golden {
  const rows = Array.from({ length: Math.ceil(resultChars / 60) }, (_, index) => ({
    id: 4100 + index,
    customer: `customer ${index}`,
    total_eur: 10 + index / 4,
  }));
  const calls = [
    ...Array.from({ length: turns - 1 }, (_, index) => ({
      tool: 'query',
      arguments: { sql: `SELECT * FROM orders WHERE state = 'open' LIMIT ${index + 10}` },
      result: JSON.stringify(rows),
      failed: false,
    })),
    {
      tool: 'read_archive',
      arguments: { path: '/archive/2023.csv' },
      result: `ENOENT: ${HOSTILE}`,
      failed: true,
    },
  ];
  const messages: object[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: TASK },
  ];
  const provider_responses: Golden['provider_responses'][number][] = [
    exchange(1, messages, 429, undefined, 40),
  ];
  for (const [index, call] of calls.entries()) {
    const id = `call_${index}`;
    const wireCall = {
      id,
      type: 'function',
      function: { name: `shop__${call.tool}`, arguments: JSON.stringify(call.arguments) },
    };
    const said = {
      role: 'assistant',
      content: index === 0 ? 'I look at the orders first.' : null,
      tool_calls: [wireCall],
    };
    provider_responses.push(exchange(index + 1, messages, 200, said, 800 + 300 * index));
    messages.push(said, { role: 'tool', tool_call_id: id, content: call.result });
    if (call.failed)
      messages.push({ role: 'user', content: 'The previous approach failed. Try another way.' });
  }
  const last = calls.length + 1;
  provider_responses.push(exchange(last, messages, 200, { role: 'assistant', content: ANSWER }, 1900));
  return sealGolden({
    format_version: 1,
    test_name: 'open_orders <i>and</i> their worth',
    description: 'Counts open orders; the archive is missing and the run says so instead of guessing.',
    category: 'error_recovery',
    runner: 'mcp_ghost',
    source: 'scripted',
    recorded_at: '2026-11-01T10:00:00.000Z',
    expires_at: null,
    versions: {
      observatory: '0.1.0',
      sdk: { name: 'openai', version: '6.49.0' },
      models: ['gpt-4o-2024-08-06'],
      tools: {},
    },
    input: { provider: 'openai', model: 'gpt-4o', system_prompt: SYSTEM, user_prompt: TASK },
    golden_output: {
      success: true,
      final_result: ANSWER,
      tool_chain: calls.map((call, index) => ({
        iteration: index + 1,
        tool_name: `shop.${call.tool}`,
        arguments: call.arguments,
        success: !call.failed,
        result: call.failed ? call.result : JSON.parse(call.result),
        error: call.failed ? call.result : null,
        execution_time: 0.12 * (index + 1),
        reasoning: '',
        retry_attempt: 0,
        cached: false,
        depends_on: [],
      })),
      errors: [
        {
          iteration: 0,
          tool_name: 'mailer',
          error: 'Server "mailer" could not be started',
          recovery_action: null,
        },
        {
          iteration: calls.length,
          tool_name: 'shop.read_archive',
          error: 'ENOENT',
          recovery_action: 'retry_with_modified_arguments',
        },
      ],
      execution_metadata: { stop_reason: 'completed' },
    },
    comparison: { final_answer: { check: 'exact' }, matchers: {}, bounds: {} },
    provider_responses,
    mcp_cassette: null,
  });
}

function exchange(
  iteration: number,
  messages: readonly object[],
  status: number,
  said: object | undefined,
  durationMs: number,
): Golden['provider_responses'][number] {
  const prompt = 200 + messages.length * 90;
  const usage = { prompt_tokens: prompt, completion_tokens: 46, total_tokens: prompt + 46 };
  const body =
    said === undefined
      ? { error: { message: 'Rate limit reached for gpt-4o', type: 'requests', code: 'rate_limit_exceeded' } }
      : {
          id: `chatcmpl-${iteration}`,
          object: 'chat.completion',
          created: 1_761_990_000 + iteration,
          model: 'gpt-4o-2024-08-06',
          choices: [
            {
              index: 0,
              message: said,
              logprobs: null,
              finish_reason: 'tool_calls' in said ? 'tool_calls' : 'stop',
            },
          ],
          usage,
        };
  return {
    iteration,
    request: {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {},
      body: { model: 'gpt-4o', messages: [...messages] },
    },
    response: { status, headers: { 'content-type': 'application/json' }, body },
    token_usage: said === undefined ? null : usage,
    duration_ms: durationMs,
  };
}
