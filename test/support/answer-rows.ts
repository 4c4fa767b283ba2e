/** Forms of answers that readers once disagreed on, whole and streamed, with what they say. */
import type { Said } from './recorded-truth.ts';
import type { Exchange, Json } from './recordings.ts';

interface Row {
  readonly name: string;
  readonly said: Partial<Said>;
  /** The whole answer; it is also played as the stream that a provider makes of it. */
  readonly body?: Json;
  /** The events of a stream, where that is not the whole answer in pieces. */
  readonly events?: readonly Json[];
}

/** A row as an exchange, with what must be read of it. */
export interface AnswerRow extends Exchange {
  readonly said: Said;
}

const CHAT: readonly Row[] = [
  {
    name: 'a cost that a router reports',
    body: chat({ content: 'ok' }, { usage: { prompt_tokens: 3, completion_tokens: 1, cost: 0.25 } }),
    said: { text: 'ok', usage: { inputTokens: 3, outputTokens: 1 }, costUsd: 0.25 },
  },
  {
    name: 'a cost in another currency, which the chunk of a stream names beside its usage',
    events: [
      chunk({ delta: { content: 'ok' } }),
      {
        ...chunk({ delta: {}, finish_reason: 'stop' }),
        usage: { prompt_tokens: 3, completion_tokens: 1, cost: 0.25 },
        billing: { currency: 'CNY' },
      },
    ],
    said: { text: 'ok', usage: { inputTokens: 3, outputTokens: 1 } },
  },
  {
    name: "DeepSeek's name for cached tokens",
    body: chat(
      { content: 'ok' },
      { usage: { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 90 } },
    ),
    said: { text: 'ok', usage: { inputTokens: 100, outputTokens: 5, cacheReadTokens: 90 } },
  },
  {
    name: "Groq's place for the usage of a stream",
    events: [
      chunk({ delta: { content: 'ok' } }),
      {
        ...chunk({ delta: {}, finish_reason: 'stop' }),
        x_groq: { usage: { prompt_tokens: 3, completion_tokens: 1 } },
      },
    ],
    said: { text: 'ok', usage: { inputTokens: 3, outputTokens: 1 } },
  },
  {
    name: 'counts that are null, negative, broken or text',
    body: chat(
      { content: 'ok' },
      {
        usage: {
          prompt_tokens: null,
          completion_tokens: 7,
          prompt_tokens_details: { cached_tokens: '3' },
          completion_tokens_details: { reasoning_tokens: -1 },
        },
      },
    ),
    said: { text: 'ok', usage: { outputTokens: 7, cacheReadTokens: 3 } },
  },
  {
    name: 'more cached tokens than prompt tokens, which are counted apart then',
    body: chat(
      { content: 'ok' },
      { usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 90 } } },
    ),
    said: { text: 'ok', usage: { inputTokens: 100, outputTokens: 5, cacheReadTokens: 90 } },
  },
  {
    name: "Mistral's content in parts",
    body: chat({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'Hello' },
        { type: 'text', text: ' you' },
      ],
    }),
    said: { text: 'Hello you', reasoning: 'hm' },
  },
  {
    name: 'reasoning under the name of DeepSeek',
    body: chat({ content: 'ok', reasoning_content: 'hm' }),
    said: { text: 'ok', reasoning: 'hm' },
  },
  {
    name: 'reasoning under the name of OpenRouter',
    body: chat({ content: 'ok', reasoning: 'hm' }),
    said: { text: 'ok', reasoning: 'hm' },
  },
  {
    name: 'a refusal',
    body: chat({ content: null, refusal: 'I cannot.' }),
    said: { text: 'I cannot.' },
  },
  {
    name: 'two calls of one index',
    events: [
      chunk({ delta: { tool_calls: [toolCall('a', 'f', '{"x":1}', 0), toolCall('b', 'g', '{"y":2}', 0)] } }),
      chunk({ delta: {}, finish_reason: 'tool_calls' }),
    ],
    said: {
      calls: [
        { id: 'a', name: 'f', arguments: { x: 1 } },
        { id: 'b', name: 'g', arguments: { y: 2 } },
      ],
      finishReasons: ['tool_calls'],
    },
  },
  {
    name: 'arguments that are an object, and a reason to stop that does not tell of the call',
    body: chat({ content: null, tool_calls: [toolCall('a', 'f', { x: { y: [1] } })] }),
    said: { calls: [{ id: 'a', name: 'f', arguments: { x: { y: [1] } } }] },
  },
  {
    name: 'arguments that are no JSON',
    body: chat({ content: null, tool_calls: [toolCall('a', 'f', '{"x":')] }, { finish: 'tool_calls' }),
    said: { calls: [{ id: 'a', name: 'f', arguments: '{"x":' }], finishReasons: ['tool_calls'] },
  },
  {
    name: 'an error with status 200',
    body: { error: { code: 'upstream_failed', message: 'The provider failed' } },
    events: [{ ...chunk(), choices: [], error: { code: 'upstream_failed', message: 'The provider failed' } }],
    said: { error: 'upstream_failed', finishReasons: [] },
  },
];

const RESPONSES: readonly Row[] = [
  {
    name: 'a summary of the reasoning, and a call',
    body: response([
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [
          { type: 'summary_text', text: 'First.' },
          { type: 'summary_text', text: 'Then.' },
        ],
      },
      { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{"x":1}' },
    ]),
    said: {
      reasoning: 'First.Then.',
      calls: [{ id: 'a', name: 'f', arguments: { x: 1 } }],
      finishReasons: ['tool_call'],
    },
  },
  {
    name: 'the reasoning itself, as open models give it',
    body: response([
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] },
    ]),
    said: { reasoning: 'hm', text: 'ok' },
  },
  {
    name: 'an answer cut by its limit',
    body: {
      ...response([{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Once' }] }]),
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    },
    said: { text: 'Once', finishReasons: ['length'] },
  },
  {
    name: 'a failed response',
    body: { ...response([]), status: 'failed', error: { code: 'server_error', message: 'Sorry' } },
    said: { error: 'server_error', finishReasons: ['error'] },
  },
];

const ANTHROPIC: readonly Row[] = [
  {
    name: 'thinking, hidden thinking, text and a call',
    body: message(
      [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'redacted_thinking', data: 'x' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      ],
      { stop_reason: 'tool_use' },
    ),
    said: {
      reasoning: 'hm',
      text: 'Hello',
      calls: [{ id: 'a', name: 'f', arguments: { x: 1 } }],
      finishReasons: ['tool_use'],
    },
  },
  {
    name: 'counts that are null, negative, broken or text',
    body: message([{ type: 'text', text: 'ok' }], {
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: null,
        cache_creation_input_tokens: '4',
        cache_creation: { ephemeral_1h_input_tokens: -1 },
        output_tokens_details: { thinking_tokens: 1.5 },
      },
    }),
    said: { text: 'ok', usage: { inputTokens: 14, outputTokens: 5, cacheWriteTokens: 4 } },
  },
  {
    name: 'no count of the input',
    body: message([{ type: 'text', text: 'ok' }], { usage: { input_tokens: null, output_tokens: 5 } }),
    said: { text: 'ok', usage: { outputTokens: 5 } },
  },
  {
    name: 'all kinds of tokens',
    body: message([{ type: 'text', text: 'ok' }], {
      usage: {
        input_tokens: 10,
        output_tokens: 7,
        cache_read_input_tokens: 3,
        cache_creation_input_tokens: 2,
        cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
        output_tokens_details: { thinking_tokens: 4 },
      },
    }),
    said: {
      text: 'ok',
      usage: {
        inputTokens: 15,
        outputTokens: 7,
        cacheReadTokens: 3,
        cacheWriteTokens: 2,
        cacheWrite1hTokens: 1,
        reasoningTokens: 4,
      },
    },
  },
  {
    name: 'no usage',
    body: message([{ type: 'text', text: 'ok' }], { usage: null }),
    said: { text: 'ok' },
  },
  {
    name: 'input that is JSON text, a list, null or missing',
    body: message(
      [
        { type: 'tool_use', id: 'a', name: 'f', input: '{"x":1}' },
        { type: 'tool_use', id: 'b', name: 'f', input: [1] },
        { type: 'tool_use', id: 'c', name: 'f', input: null },
        { type: 'tool_use', id: 'd', name: 'f' },
      ],
      { stop_reason: 'tool_use' },
    ),
    said: {
      calls: [
        { id: 'a', name: 'f', arguments: { x: 1 } },
        { id: 'b', name: 'f', arguments: [1] },
        { id: 'c', name: 'f', arguments: {} },
        { id: 'd', name: 'f', arguments: {} },
      ],
      finishReasons: ['tool_use'],
    },
  },
  {
    name: 'a block that opens with text',
    events: [
      { type: 'message_start', message: message([]) },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: 'h', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'm' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'Hel' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
    said: { reasoning: 'hm', text: 'Hello', usage: { outputTokens: 2 } },
  },
  {
    name: 'input that is no JSON',
    events: [
      { type: 'message_start', message: message([]) },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"x":' } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: null },
      { type: 'message_stop' },
    ],
    said: { calls: [{ id: 'a', name: 'f', arguments: '{"x":' }], finishReasons: ['tool_use'] },
  },
  {
    name: 'a model that another one falls back to',
    events: [
      { type: 'message_start', message: message([]) },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'fallback', to: { model: 'claude-other' } },
      },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'ok' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ],
    said: { model: 'claude-other', text: 'ok' },
  },
  {
    name: 'a tool that Anthropic ran, and a turn to be sent back',
    body: message(
      [
        { type: 'server_tool_use', id: 'srv', name: 'web_search', input: { query: 'x' } },
        { type: 'web_search_tool_result', tool_use_id: 'srv', content: [] },
        { type: 'text', text: 'Found' },
      ],
      { stop_reason: 'pause_turn' },
    ),
    said: { text: 'Found', finishReasons: ['pause_turn'] },
  },
  {
    name: 'an error with status 200',
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    events: [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    said: { error: 'overloaded_error', finishReasons: [], model: undefined, id: undefined },
  },
];

const GEMINI: readonly Row[] = [
  {
    name: 'a thought, text and a call without id and arguments',
    body: candidate([
      { text: 'hm', thought: true },
      { text: 'Hello ' },
      { text: 'you' },
      { functionCall: { name: 'f' } },
      { functionCall: { id: '', name: 'g', args: null } },
    ]),
    said: {
      reasoning: 'hm',
      text: 'Hello you',
      calls: [
        { name: 'f', arguments: {} },
        { name: 'g', arguments: {} },
      ],
    },
  },
  {
    name: 'arguments that are JSON text, a list or no JSON',
    body: candidate([
      { functionCall: { id: 'a', name: 'f', args: '{"x":1}' } },
      { functionCall: { id: 'b', name: 'f', args: [1] } },
      { functionCall: { id: 'c', name: 'f', args: '{"x":' } },
    ]),
    said: {
      calls: [
        { id: 'a', name: 'f', arguments: { x: 1 } },
        { id: 'b', name: 'f', arguments: [1] },
        { id: 'c', name: 'f', arguments: '{"x":' },
      ],
    },
  },
  {
    name: 'arguments in pieces that say they go on',
    events: pieces([
      { name: 'f', id: 'a', willContinue: true },
      { partialArgs: [{ jsonPath: '$.city', stringValue: 'New', willContinue: true }], willContinue: true },
      {
        partialArgs: [
          { jsonPath: '$.city', stringValue: ' York' },
          { jsonPath: '$.days', numberValue: 2 },
        ],
        willContinue: true,
      },
      {
        partialArgs: [
          { jsonPath: '$.stops[1].name', stringValue: 'b' },
          { jsonPath: '$.stops[0]', nullValue: 'NULL_VALUE' },
        ],
        willContinue: true,
      },
      { partialArgs: [{ jsonPath: "$['odd key']", boolValue: true }], willContinue: true },
      {},
      { name: 'g', args: { y: 2 } },
    ]),
    said: {
      calls: [
        {
          id: 'a',
          name: 'f',
          arguments: { city: 'New York', days: 2, stops: [null, { name: 'b' }], 'odd key': true },
        },
        { name: 'g', arguments: { y: 2 } },
      ],
    },
  },
  {
    name: 'arguments in pieces that do not say so',
    events: pieces([
      { name: 'f', partialArgs: [{ jsonPath: '$.city', stringValue: 'New' }] },
      { partialArgs: [{ jsonPath: '$.city', stringValue: ' York' }] },
      { name: 'f', partialArgs: [{ jsonPath: '$.city', stringValue: 'Bonn' }] },
    ]),
    said: {
      calls: [
        { name: 'f', arguments: { city: 'New York' } },
        { name: 'f', arguments: { city: 'Bonn' } },
      ],
    },
  },
  {
    name: 'all kinds of tokens',
    body: {
      ...candidate([{ text: 'ok' }]),
      usageMetadata: {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 5,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 30,
      },
    },
    said: {
      text: 'ok',
      usage: { inputTokens: 15, outputTokens: 50, cacheReadTokens: 4, reasoningTokens: 30 },
    },
  },
  {
    name: 'counts that are null, negative, broken or text',
    body: {
      ...candidate([{ text: 'ok' }]),
      usageMetadata: {
        promptTokenCount: 10,
        toolUsePromptTokenCount: null,
        cachedContentTokenCount: -1,
        candidatesTokenCount: '20',
        thoughtsTokenCount: 1.5,
      },
    },
    said: { text: 'ok', usage: { inputTokens: 10, outputTokens: 20 } },
  },
  {
    name: 'counts that later chunks leave out',
    events: [
      {
        ...candidate([{ text: 'o' }], ''),
        usageMetadata: { promptTokenCount: 10, cachedContentTokenCount: 4 },
      },
      { ...candidate([{ text: 'k' }]), usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2 } },
    ],
    said: { text: 'ok', usage: { inputTokens: 10, outputTokens: 2, cacheReadTokens: 4 } },
  },
  {
    name: 'a prompt that was blocked',
    body: { responseId: 'id-1', modelVersion: 'some-model', promptFeedback: { blockReason: 'SAFETY' } },
    said: { finishReasons: ['SAFETY'] },
  },
  {
    name: 'a call that could not be read',
    body: candidate([], 'MALFORMED_FUNCTION_CALL'),
    said: { finishReasons: ['MALFORMED_FUNCTION_CALL'] },
  },
  {
    name: 'code that Gemini ran by itself',
    body: candidate([
      { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
      { text: 'One' },
    ]),
    said: { text: 'One' },
  },
];

/** Every row, whole and streamed as far as there is both. */
export function answerRows(): AnswerRow[] {
  return [
    ...CHAT.flatMap((row) => both('openai', 'chat.completions', row, 'stop', chatEvents)),
    ...RESPONSES.flatMap((row) => both('openai', 'responses', row, 'stop', responseEvents)),
    ...ANTHROPIC.flatMap((row) => both('anthropic', 'messages', row, 'end_turn', messageEvents)),
    ...GEMINI.flatMap((row) => both('gemini', 'generateContent', row, 'STOP', (body) => [body])),
  ];
}

/** How the usage of an answer is written, and what else the answer says. */
export interface ToldUsage {
  readonly api: 'chat.completions' | 'responses' | 'messages' | 'generateContent';
  readonly model: string;
  readonly usage: Json;
  readonly more?: Json;
}

/** An answer with this usage, whole and streamed. */
export function answersWith(name: string, { api, model, usage, more }: ToldUsage): AnswerRow[] {
  const rows = (() => {
    switch (api) {
      case 'chat.completions': {
        const body = { ...chat({ content: 'ok' }, { usage }), ...more };
        return both('openai', api, { name, body, said: {} }, 'stop', chatEvents);
      }
      case 'responses': {
        const text = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] };
        const body = { ...response([text]), usage, ...more };
        return both('openai', api, { name, body, said: {} }, 'stop', responseEvents);
      }
      case 'messages': {
        const body = message([{ type: 'text', text: 'ok' }], { usage, ...more });
        return both('anthropic', api, { name, body, said: {} }, 'end_turn', messageEvents);
      }
      case 'generateContent': {
        const body = { ...candidate([{ text: 'ok' }]), usageMetadata: usage, ...more };
        return both('gemini', api, { name, body, said: {} }, 'STOP', (whole) => [whole]);
      }
    }
  })();
  return JSON.parse(JSON.stringify(rows).replaceAll('some-model', model)) as AnswerRow[];
}

function both(
  provider: Exchange['provider'],
  api: string,
  { name, body, events, said }: Row,
  finish: string,
  eventsOf: (body: Json) => readonly Json[],
): AnswerRow[] {
  const isAnswer = said.error === undefined || api === 'responses';
  const head = { provider, api, model: 'some-model', request: null };
  const known = isAnswer ? { model: 'some-model', id: 'id-1' } : {};
  const expected: Said = { ...known, text: '', reasoning: '', calls: [], finishReasons: [finish], ...said };
  const row = (form: string, response: Pick<Exchange['response'], 'body' | 'sse'>): AnswerRow => ({
    ...head,
    id: `${name}, ${form}`,
    response: { status: 200, headers: {}, ...response },
    said: expected,
  });
  const stream = (events ?? eventsOf(body)).map((event) => {
    const type = provider === 'anthropic' ? `event: ${event.type}\n` : '';
    return `${type}data: ${JSON.stringify(event)}\n\n`;
  });
  return [...(body === undefined ? [] : [row('whole', { body })]), row('streamed', { sse: stream.join('') })];
}

function chat(said: Json, { finish = 'stop', usage }: { finish?: string; usage?: Json } = {}): Json {
  return {
    id: 'id-1',
    object: 'chat.completion',
    model: 'some-model',
    choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  };
}

function chunk(choice?: Json): Json {
  const choices = choice === undefined ? [] : [{ index: 0, finish_reason: null, ...choice }];
  return { id: 'id-1', object: 'chat.completion.chunk', model: 'some-model', choices };
}

function toolCall(id: string, name: string, args: unknown, index?: number): Json {
  return {
    ...(index === undefined ? {} : { index }),
    id,
    type: 'function',
    function: { name, arguments: args },
  };
}

function chatEvents(whole: Json): Json[] {
  const { usage, service_tier: tier } = whole;
  const [{ message: said, finish_reason: finish }] = whole.choices;
  const calls = said.tool_calls?.map((call: Json, index: number) => ({ index, ...call }));
  return [
    chunk({ delta: calls === undefined ? said : { ...said, tool_calls: calls } }),
    chunk({ delta: {}, finish_reason: finish }),
    ...(usage === undefined ? [] : [{ ...chunk(), usage, service_tier: tier }]),
  ];
}

function response(output: Json[]): Json {
  return { id: 'id-1', object: 'response', model: 'some-model', status: 'completed', error: null, output };
}

function responseEvents(whole: Json): Json[] {
  return [
    { type: 'response.created', response: { ...whole, status: 'in_progress', error: null, output: [] } },
    ...whole.output.map((item: Json, at: number) => ({
      type: 'response.output_item.done',
      output_index: at,
      item,
    })),
    { type: `response.${whole.status}`, response: whole },
  ];
}

function message(content: Json[], more: Json = {}): Json {
  return {
    id: 'id-1',
    type: 'message',
    role: 'assistant',
    model: 'some-model',
    content,
    stop_reason: 'end_turn',
    ...more,
  };
}

function messageEvents({ content, stop_reason, usage, ...whole }: Json): Json[] {
  return [
    {
      type: 'message_start',
      message: { ...whole, content: [], stop_reason: null, usage: usage && { ...usage, output_tokens: 1 } },
    },
    ...content.flatMap((block: Json, index: number) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ];
}

function candidate(parts: Json[], finishReason = 'STOP'): Json {
  const end = finishReason === '' ? {} : { finishReason };
  return {
    responseId: 'id-1',
    modelVersion: 'some-model',
    candidates: [{ index: 0, content: { role: 'model', parts }, ...end }],
  };
}

/** A stream that gives one piece of a call in each chunk. */
function pieces(calls: readonly Json[]): Json[] {
  return calls.map((functionCall, at) =>
    candidate([{ functionCall }], at === calls.length - 1 ? 'STOP' : ''),
  );
}
