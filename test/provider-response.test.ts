import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProviderResponse } from '../src/interaction/index.ts';
import { readDataLines } from './support/data.ts';

interface Exchange {
  readonly id: string;
  readonly api: string;
  readonly response: { readonly status: number; readonly body?: unknown } | null;
}

// biome-ignore lint/suspicious/noExplicitAny: recorded bodies have the shapes of four APIs
type Body = any;

function exchangesOf(api: string): { id: string; body: Body }[] | undefined {
  const files = ['openai', 'anthropic', 'gemini'].map((name) => readDataLines(`cassettes/${name}.jsonl`));
  if (files.some((lines) => lines === undefined)) return undefined;
  return (files.flat() as Exchange[])
    .filter((row) => row.api === api && row.response?.status === 200 && row.response.body !== undefined)
    .map((row) => ({
      id: row.id,
      body: typeof row.response?.body === 'string' ? JSON.parse(row.response.body) : row.response?.body,
    }))
    .filter(({ body }) => body !== null);
}

function testRecordings(api: string, check: (body: Body, id: string) => void): void {
  const exchanges = exchangesOf(api);
  test(`reads every recorded ${api} response`, { skip: exchanges === undefined && 'no recordings' }, () => {
    assert.ok(exchanges !== undefined && exchanges.length > 0);
    for (const { id, body } of exchanges) check(body, id);
  });
}

const optional = (value: number | undefined) => value ?? undefined;

testRecordings('chat.completions', (body, id) => {
  const read = readProviderResponse(body);
  assert.equal(read.answer, body.choices[0].message.content ?? undefined, id);
  assert.equal(read.model, body.model, id);
  assert.equal(read.responseId, body.id, id);
  assert.deepEqual(
    read.finishReasons,
    body.choices.map((c: Body) => c.finish_reason),
    id,
  );
  assert.deepEqual(
    read.toolCalls.map((call) => [call.id, call.name]),
    (body.choices[0].message.tool_calls ?? []).map((c: Body) => [c.id, c.function.name]),
    id,
  );
  for (const call of read.toolCalls) assert.equal(typeof call.arguments, 'object', id);
  assert.equal(read.usage?.inputTokens, body.usage.prompt_tokens, id);
  assert.equal(read.usage?.outputTokens, body.usage.completion_tokens, id);
  assert.equal(read.usage?.cacheReadTokens, optional(body.usage.prompt_tokens_details?.cached_tokens), id);
  assert.equal(
    read.usage?.reasoningTokens,
    optional(body.usage.completion_tokens_details?.reasoning_tokens),
    id,
  );
  assert.equal((read.usage?.inputTokens ?? 0) + (read.usage?.outputTokens ?? 0), body.usage.total_tokens, id);
});

testRecordings('responses', (body, id) => {
  const read = readProviderResponse(body);
  const texts = body.output
    .filter((item: Body) => item.type === 'message')
    .flatMap((item: Body) => item.content.map((part: Body) => part.text));
  const calls = body.output.filter((item: Body) => item.type === 'function_call');
  assert.equal(read.answer, texts.length === 0 ? undefined : texts.join(''), id);
  assert.deepEqual(read.finishReasons, [calls.length > 0 ? 'tool_call' : 'stop'], id);
  assert.deepEqual(
    read.toolCalls,
    calls.map((c: Body) => ({ id: c.call_id, name: c.name, arguments: JSON.parse(c.arguments) })),
    id,
  );
  assert.equal(read.usage?.inputTokens, body.usage.input_tokens, id);
  assert.equal(read.usage?.outputTokens, body.usage.output_tokens, id);
  assert.equal(read.usage?.cacheReadTokens, body.usage.input_tokens_details.cached_tokens, id);
  assert.equal(read.usage?.reasoningTokens, body.usage.output_tokens_details.reasoning_tokens, id);
});

testRecordings('messages', (body, id) => {
  const read = readProviderResponse(body);
  const texts = body.content.filter((block: Body) => block.type === 'text').map((block: Body) => block.text);
  assert.equal(read.provider, 'anthropic', id);
  assert.equal(read.answer, texts.length === 0 ? undefined : texts.join(''), id);
  assert.deepEqual(read.finishReasons, [body.stop_reason], id);
  assert.deepEqual(
    read.toolCalls,
    body.content
      .filter((block: Body) => block.type === 'tool_use')
      .map((block: Body) => ({ id: block.id, name: block.name, arguments: block.input })),
    id,
  );
  const cached = (body.usage.cache_read_input_tokens ?? 0) + (body.usage.cache_creation_input_tokens ?? 0);
  assert.equal(read.usage?.inputTokens, body.usage.input_tokens + cached, id);
  assert.equal(read.usage?.outputTokens, body.usage.output_tokens, id);
});

testRecordings('generateContent', (body, id) => {
  const read = readProviderResponse(body);
  const parts: Body[] = body.candidates[0].content?.parts ?? [];
  const texts = parts.filter((part) => typeof part.text === 'string' && part.thought !== true);
  assert.equal(read.answer, texts.length === 0 ? undefined : texts.map((part) => part.text).join(''), id);
  assert.equal(read.model, body.modelVersion, id);
  const usage = body.usageMetadata;
  // The provider's own total is the check on which counts belong together.
  const total = (read.usage?.inputTokens ?? 0) + (read.usage?.outputTokens ?? 0);
  assert.equal(total, usage.totalTokenCount, id);
  assert.equal(read.usage?.inputTokens, usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0), id);
  assert.equal(read.usage?.reasoningTokens, usage.thoughtsTokenCount, id);
});

test('sums the cache into Anthropic input tokens and keeps the one-hour share', () => {
  const { usage } = readProviderResponse({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'hi' }],
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 3,
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 4 },
    },
  });
  assert.deepEqual(usage, {
    inputTokens: 15,
    outputTokens: 7,
    cacheReadTokens: 3,
    cacheWriteTokens: 2,
    cacheWrite1hTokens: 1,
    reasoningTokens: 4,
  });
});

test('adds Gemini thoughts to the output and the tool prompt to the input', () => {
  const { usage } = readProviderResponse({
    candidates: [],
    usageMetadata: {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
    },
  });
  assert.equal(usage?.inputTokens, 15);
  assert.equal(usage?.outputTokens, 50);
  assert.equal(usage?.cacheReadTokens, 4);
  assert.equal(usage?.reasoningTokens, 30);
});

test('keeps Gemini thoughts out of the answer', () => {
  const { answer } = readProviderResponse({
    candidates: [
      { content: { parts: [{ text: 'hm', thought: true }, { text: 'Hello ' }, { text: 'you' }] } },
    ],
  });
  assert.equal(answer, 'Hello you');
});

test('takes the cost OpenRouter reports', () => {
  const read = readProviderResponse({
    provider: 'Groq',
    model: 'meta-llama/llama-3.3-70b-instruct',
    choices: [{ message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, cost: 0.0000021 },
  });
  assert.equal(read.provider, 'openrouter');
  assert.equal(read.costUsd, 0.0000021);
});

test('reads a refusal as the answer', () => {
  const read = readProviderResponse({
    choices: [{ message: { role: 'assistant', content: null, refusal: 'I cannot.' }, finish_reason: 'stop' }],
  });
  assert.equal(read.answer, 'I cannot.');
});

test('keeps tool arguments that are no JSON as the model wrote them', () => {
  const [call] = readProviderResponse({
    choices: [{ message: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"x":' } }] } }],
  }).toolCalls;
  assert.deepEqual(call, { id: 'a', name: 'f', arguments: '{"x":' });
});

test('reads text and objects that carry their text in a field', () => {
  assert.equal(readProviderResponse('plain').answer, 'plain');
  assert.equal(readProviderResponse('').answer, '');
  assert.equal(readProviderResponse({ text: 'a' }).answer, 'a');
  assert.equal(readProviderResponse({ content: 'b' }).answer, 'b');
  assert.equal(readProviderResponse({ output: 'c' }).answer, 'c');
  assert.equal(readProviderResponse({ message: { content: 'd' } }).answer, 'd');
  assert.equal(readProviderResponse({ content: [{ type: 'text', text: 'e' }] }).answer, 'e');
});

test('never throws, whatever it is given', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.message = cyclic;
  const hostile = {
    get choices(): never {
      throw new Error('getter');
    },
  };
  const values = [null, undefined, 0, NaN, [], [1], () => 1, Symbol('s'), 10n, new Map(), cyclic, hostile];
  for (const value of values) assert.deepEqual(readProviderResponse(value).toolCalls, []);
  for (const wrong of [
    { choices: [null, 1, { message: 7, finish_reason: {} }], usage: 'none', id: 5 },
    { object: 'response', output: [null, { type: 'message', content: 5 }], usage: [] },
    { type: 'message', role: 'assistant', content: [null, 5, { type: 'text' }], usage: { input_tokens: -1 } },
    { candidates: [5, { content: { parts: [null, 7] } }], usageMetadata: { promptTokenCount: 'x' } },
    { usage: { prompt_tokens: 1.5, completion_tokens: Number.POSITIVE_INFINITY } },
  ]) {
    assert.equal(readProviderResponse(wrong).usage, undefined);
  }
});
