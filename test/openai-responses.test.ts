/** The orchestrator on OpenAI's Responses API: requests, history, answers, streams, faults. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Completion,
  type CompletionOptions,
  createProvider,
  listToolCalls,
  type ModelMessage,
  ProviderError,
  type ProviderOptions,
  userText,
  visibleText,
} from '../src/orchestrator/providers/index.ts';
import { openAiResponses } from '../src/wire/index.ts';
import { exchanges, hasCassettes } from './support/recordings.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies as the API takes and gives them
type Json = any;

const TOOLS = [{ name: 'add', description: 'adds', parameters: { type: 'object' } }];

/** A `fetch` that answers in turn and keeps what it was sent. */
function answering(...answers: (Json | { status: number; body: Json })[]) {
  const sent: { path: string; body: Json }[] = [];
  const play: typeof fetch = async (input, init) => {
    sent.push({ path: new URL(String(input)).pathname, body: JSON.parse(String(init?.body)) });
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    const { status = 200, body = answer } = typeof answer.status === 'number' ? answer : {};
    const type = typeof body === 'string' ? 'text/event-stream' : 'application/json';
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return new Response(text, { status, headers: { 'content-type': type } });
  };
  return { sent, play };
}

async function ask(
  play: typeof fetch,
  messages: readonly ModelMessage[],
  options: CompletionOptions = {},
  settings: ProviderOptions = {},
): Promise<Completion> {
  const provider = await createProvider('openai', {
    apiKey: 'sk-test-key',
    fetch: play,
    retry: { maxAttempts: 1 },
    ...settings,
  });
  return await provider.createCompletion(messages, TOOLS, {
    model: 'gpt-5.3-codex',
    stream: false,
    ...options,
  });
}

const REASONING = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Then.' },
  ],
  encrypted_content: 'gAAAA',
  status: null,
};
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{"a":1}' };
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 80 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 12 },
};

function response(output: Json[], more: Json = {}): Json {
  return {
    id: 'resp_1',
    object: 'response',
    model: 'gpt-5.3-codex',
    status: 'completed',
    service_tier: 'flex',
    output,
    usage: USAGE,
    ...more,
  };
}

function message(text: string, more: Json = {}): Json {
  return {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text }],
    ...more,
  };
}

function sse(events: Json[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

test('models that Chat does not serve go to the Responses API, others only when asked to', async () => {
  const paths = async (model: string, settings: ProviderOptions = {}): Promise<string | undefined> => {
    const isResponses = settings.api === 'responses';
    const { play, sent } = answering(
      isResponses ? response([message('ok')]) : { object: 'response', output: [], choices: [] },
    );
    await ask(play, [userText('hi')], { model }, settings);
    return sent[0]?.path;
  };
  for (const model of [
    'o1-pro',
    'o3-deep-research',
    'gpt-5-pro',
    'gpt-5.2-pro',
    'gpt-5.1-codex-mini',
    'codex-mini-latest',
  ]) {
    assert.equal(await paths(model), '/v1/responses', model);
    assert.equal(await paths(model, { api: 'chat' }), '/v1/chat/completions', model);
  }
  for (const model of [
    'gpt-5.4-mini',
    'o3',
    'gpt-4o',
    'google/gemini-2.5-pro',
    'gpt-oss-120b',
    'pro-codex',
  ]) {
    assert.equal(await paths(model), '/v1/chat/completions', model);
    assert.equal(await paths(model, { api: 'responses' }), '/v1/responses', model);
  }
  await assert.rejects(createProvider('openai', { apiKey: 'k', api: 'assistants' }), {
    code: 'INVALID_OPTION',
    message: /"chat" or "responses", got "assistants"/,
  });
});

test('a request stores nothing at OpenAI and asks a model that reasons for its reasoning', async () => {
  const { play, sent } = answering(response([message('ok')]));
  const options = { toolChoice: 'required', maxOutputTokens: 50, temperature: 0.5 } as const;
  await ask(play, [{ role: 'system', text: 'be brief' }, userText('hi')], {
    ...options,
    extraBody: { reasoning: { effort: 'low' } },
  });
  assert.deepEqual(sent[0]?.body, {
    model: 'gpt-5.3-codex',
    input: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
    ],
    tools: [
      { type: 'function', name: 'add', description: 'adds', parameters: { type: 'object' }, strict: false },
    ],
    tool_choice: 'required',
    max_output_tokens: 50,
    temperature: 0.5,
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low' },
    stream: false,
  });
  await ask(play, [userText('hi')], { model: 'gpt-4o' }, { api: 'responses' });
  assert.equal(sent[1]?.body.include, undefined, 'gpt-4o refuses a request for encrypted reasoning');
});

test('reasoning goes back with the call it led to, and the result with the id of the call', async () => {
  const first = response([REASONING, message('Adding.', { phase: 'commentary' }), CALL]);
  const { play, sent } = answering(first, response([message('2')]));
  const turn = await ask(play, [userText('add')]);
  assert.equal(turn.finishReason, 'tool_calls');
  const [call] = listToolCalls(turn.message);
  assert.ok(call);
  const content = [
    { type: 'text', text: 'sum: 2' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
  ] as const;
  const result = { type: 'tool_result', id: call.id, name: 'add', content, isError: false } as const;
  await ask(play, [userText('add'), turn.message, { role: 'tool', parts: [result] }]);
  assert.deepEqual(sent[1]?.body.input, [
    { role: 'user', content: 'add' },
    { type: 'reasoning', id: 'rs_1', summary: REASONING.summary, encrypted_content: 'gAAAA' },
    { role: 'assistant', content: 'Adding.', phase: 'commentary' },
    { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{"a":1}' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_text', text: 'sum: 2' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      ],
    },
  ]);
});

test('reasoning that OpenAI could not find again, or that led to nothing, is left out', async () => {
  const { encrypted_content: _, ...unkept } = REASONING;
  const { play, sent } = answering(response([message('ok')]));
  const turns: ModelMessage[] = [];
  for (const output of [
    [unkept, CALL],
    [message('Hm.'), REASONING],
  ]) {
    const { play: once } = answering(response(output));
    turns.push((await ask(once, [userText('go')])).message);
  }
  await ask(play, [userText('go'), ...turns]);
  assert.deepEqual(
    sent[0]?.body.input.map((item: Json) => item.type ?? item.role),
    ['user', 'function_call', 'function_call_output', 'assistant'],
  );
});

test('a whole answer and its stream read the same: text, reasoning, calls, usage, tier', async () => {
  const whole = response([REASONING, message('Adding.'), CALL, { ...CALL, id: 'fc_2', call_id: 'call_2' }]);
  const events = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'reasoning', id: 'rs_1', summary: [] },
    },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'First.' },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 1, delta: 'Then.' },
    { type: 'response.output_item.done', output_index: 0, item: REASONING },
    { type: 'response.output_item.added', output_index: 1, item: message('') },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Add' },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'ing.' },
    { type: 'response.completed', response: whole },
  ];
  const deltas: Json[] = [];
  const plain = await ask(answering(whole).play, [userText('add')]);
  const streamed = await ask(answering(sse(events)).play, [userText('add')], {
    stream: true,
    onDelta: (delta) => deltas.push([delta.type, delta.text]),
  });
  for (const { message, usage, model, responseId, finishReason, rawFinishReason, serviceTier } of [
    plain,
    streamed,
  ]) {
    assert.equal(visibleText(message.parts), 'Adding.');
    assert.deepEqual(
      message.parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])),
      ['First.', 'Then.'],
    );
    assert.deepEqual(
      listToolCalls(message).map(({ id, arguments: args }) => [id, args]),
      [
        ['call_1', { a: 1 }],
        ['call_2', { a: 1 }],
      ],
    );
    assert.deepEqual(JSON.parse(JSON.stringify(usage)), {
      inputTokens: 100,
      outputTokens: 20,
      cacheReadTokens: 80,
      reasoningTokens: 12,
    });
    assert.deepEqual(
      [model, responseId, finishReason, rawFinishReason, serviceTier],
      ['gpt-5.3-codex', 'resp_1', 'tool_calls', 'tool_call', 'flex'],
    );
  }
  assert.deepEqual(deltas, [
    ['reasoning', 'First.'],
    ['reasoning', 'Then.'],
    ['text', 'Add'],
    ['text', 'ing.'],
  ]);
});

test('an answer that stopped early says why', async () => {
  const stopped = async (more: Json, output: Json[] = [message('x')]) => {
    const { finishReason, rawFinishReason } = await ask(answering(response(output, more)).play, [
      userText('hi'),
    ]);
    return [finishReason, rawFinishReason];
  };
  const incomplete = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason } });
  assert.deepEqual(await stopped(incomplete('max_output_tokens')), ['length', 'length']);
  assert.deepEqual(await stopped(incomplete('content_filter')), ['content_filter', 'content_filter']);
  const refusal = message('', { content: [{ type: 'refusal', refusal: 'No.' }] });
  assert.deepEqual(await stopped({}, [refusal]), ['content_filter', 'stop']);
});

test('a stream that is cut, and answers that report an error under status 200, are failures', async () => {
  const failure = async (body: Json, options: CompletionOptions = {}): Promise<ProviderError> => {
    const error = await ask(answering(body).play, [userText('hi')], options).catch(
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ProviderError, String(error));
    return error;
  };
  const failed = (code: string) => response([], { status: 'failed', error: { code, message: 'Sorry.' } });
  const server = await failure(failed('server_error'));
  assert.deepEqual([server.kind, server.type, server.retryable], ['stream', 'server_error', true]);
  const full = await failure(failed('context_length_exceeded'));
  assert.deepEqual([full.kind, full.retryable], ['context_length', false]);
  const event = { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down.' };
  const limited = await failure(sse([event]), { stream: true });
  assert.deepEqual([limited.kind, limited.type, limited.retryable], ['stream', 'rate_limit_exceeded', true]);
  const begun = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hal' };
  const cut = await failure(sse([begun]), { stream: true });
  assert.deepEqual([cut.kind, cut.retryable], ['network', true]);
});

test('the code alone says that the context is full, whatever the words beside it', async () => {
  for (const api of ['chat', 'responses'] as const) {
    const body = {
      error: { code: 'context_length_exceeded', type: 'invalid_request_error', message: 'Too much.' },
    };
    const { play } = answering({ status: 400, body });
    const error = await ask(play, [userText('hi')], {}, { api }).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof ProviderError, String(error));
    assert.deepEqual([error.kind, error.status, error.retryable], ['context_length', 400, false], api);
  }
});

test('a router that passes on that the context is full is understood, and an error without any text is one', async () => {
  const raw = '{"error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens"}}';
  const error = {
    code: 400,
    message: 'Provider returned error',
    metadata: { raw, provider_name: 'Anthropic' },
  };
  const { play } = answering({ status: 400, body: { error } });
  const thrown = await ask(play, [userText('hi')], {}, { api: 'chat' }).catch((one: unknown) => one);
  assert.ok(thrown instanceof ProviderError, String(thrown));
  assert.equal(thrown.kind, 'context_length');
  assert.match(thrown.message, /Provider returned error: .*prompt is too long/);
  const hook = () => Promise.reject(Object.create(null));
  const odd = await ask(hook, [userText('hi')]).catch((one: unknown) => one);
  assert.ok(odd instanceof ProviderError, String(odd));
});

test('of a stream that was cut the reader has what came', () => {
  const stream = openAiResponses.newStream();
  for (const event of [
    { type: 'response.created', response: response([], { status: 'in_progress', usage: null }) },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'reasoning', id: 'rs_1', summary: [] },
    },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Fir' },
    { type: 'response.output_item.done', output_index: 1, item: message('One.') },
    { type: 'response.output_item.added', output_index: 2, item: { ...CALL, arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a":' },
    // A server that announces no items.
    { type: 'response.output_text.delta', output_index: 3, content_index: 0, delta: 'Two' },
  ]) {
    stream.push(event);
  }
  assert.equal(stream.isComplete, false);
  const answer = openAiResponses.readAnswer(stream.whole());
  assert.deepEqual([answer.id, answer.finishReasons, answer.toolCallCount], ['resp_1', [], 1]);
  const parts = answer.choices()[0]?.parts ?? [];
  assert.equal(visibleText(parts), 'One.Two');
  assert.deepEqual(
    parts.map((part) => (part.type === 'tool_call' ? part.invalidArguments?.text : part.type)),
    ['reasoning', 'text', '{"a":', 'text'],
  );
});

test('the recorded turns of reasoning models are asked as they were recorded', {
  skip: hasCassettes ? false : 'no recordings beside the repository',
}, async () => {
  const rows = exchanges(['openai']).filter(
    ({ request, response: { status } }) => status === 200 && Array.isArray(request?.body.include),
  );
  const conversations = new Map<string, typeof rows>();
  for (const row of rows) {
    const id = row.id.replace(/-\d+$/, '');
    conversations.set(id, [...(conversations.get(id) ?? []), row]);
  }
  const long = [...conversations].filter(([, turns]) => turns.length > 1);
  assert.deepEqual(
    long.map(([, turns]) => turns.length),
    [4, 4],
  );
  for (const [id, turns] of long) {
    const messages: ModelMessage[] = [];
    for (const { model, request, response: recorded } of turns) {
      const input = request?.body.input as Json[];
      if (messages.length === 0) messages.push(userText(input[0].content));
      const result = input.findLast((item) => item.type === 'function_call_output');
      if (result !== undefined) {
        const content = [{ type: 'text', text: result.output }] as const;
        const part = { type: 'tool_result', id: result.call_id, name: 'x', content, isError: false } as const;
        messages.push({ role: 'tool', parts: [part] });
      }
      const { play, sent } = answering(recorded.body);
      const { message: turn } = await ask(play, messages, { model: model ?? '' }, { api: 'responses' });
      assert.deepEqual(sent[0]?.body.input.map(comparable), input.map(comparable), id);
      assert.deepEqual(sent[0]?.body.include, request?.body.include);
      messages.push(turn);
    }
  }
});

/** An input item in one form: some clients leave the id of reasoning out. */
function comparable({ id: _, ...item }: Json): Json {
  return item.arguments === undefined ? item : { ...item, arguments: JSON.parse(item.arguments) };
}
