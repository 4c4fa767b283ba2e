import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProviderResponse } from '../src/interaction/index.ts';
import { openAiChat } from '../src/wire/index.ts';

test('units beside text, modes and one-hour writes are read of each form', () => {
  const interaction = {
    status: 'completed',
    steps: [],
    usage: {
      total_input_tokens: 100,
      total_output_tokens: 20,
      total_tokens: 120,
      input_tokens_by_modality: [
        { modality: 'text', tokens: 40 },
        { modality: 'audio', tokens: 60 },
      ],
      output_tokens_by_modality: [{ modality: 'audio', tokens: 20 }],
      grounding_tool_count: [{ type: 'google_search', count: 2 }],
    },
  };
  const { usage } = readProviderResponse(interaction);
  assert.deepEqual([usage?.inputAudioTokens, usage?.outputAudioTokens, usage?.webSearches], [60, 20, 2]);
  const converse = readProviderResponse({
    output: { message: { role: 'assistant', content: [] } },
    stopReason: 'end_turn',
    serviceTier: { type: 'flex' },
    performanceConfig: { latency: 'optimized' },
    usage: {
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 115,
      cacheWriteInputTokens: 100,
      cacheDetails: [
        { ttl: '5m', inputTokens: 30 },
        { ttl: '1h', inputTokens: 70 },
      ],
    },
  });
  assert.equal(converse.serviceTier, 'flex');
  assert.deepEqual(converse.usage?.modes, ['latency optimized']);
  const { inputTokens, cacheWriteTokens, cacheWrite1hTokens } = converse.usage ?? {};
  assert.deepEqual([inputTokens, cacheWriteTokens, cacheWrite1hTokens], [110, 100, 70]);
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, serviceTier: 'priority' };
  assert.equal(readProviderResponse({ candidates: [], usageMetadata }).serviceTier, 'priority');
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

test('leaves out a cost in another currency, named beside it, in it or around it', () => {
  const counts = { prompt_tokens: 3, completion_tokens: 1 };
  const costOf = (usage: object, rest = {}) =>
    readProviderResponse({ object: 'chat.completion', choices: [], usage: { ...counts, ...usage }, ...rest })
      .costUsd;
  assert.equal(costOf({ cost: 0.5, currency: 'USD' }), 0.5);
  assert.equal(costOf({ cost: 0.5, currency: 'CNY' }), undefined);
  assert.equal(costOf({ cost: 0.5, cost_currency: 'CNY' }), undefined);
  assert.equal(costOf({ cost: { total: 0.5, currency: 'EUR' } }), undefined);
  assert.equal(costOf({ cost: 0.5 }, { currency: 'CNY' }), undefined);
});

test('a currency counts on any chunk of a stream, before the cost or after it', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 1, cost: 0.5 };
  const costOf = (...chunks: readonly object[]) => {
    const stream = openAiChat.newStream();
    for (const chunk of chunks) stream.push({ object: 'chat.completion.chunk', choices: [], ...chunk });
    return readProviderResponse(stream.whole()).costUsd;
  };
  assert.equal(costOf({}, { usage }), 0.5);
  assert.equal(costOf({ currency: 'USD' }, { usage }), 0.5);
  assert.equal(costOf({ currency: 'CNY' }, {}, { usage }), undefined);
  assert.equal(costOf({ usage }, { billing: { currency: 'CNY' } }), undefined);
  assert.equal(costOf({ usage: { ...usage, currency: 'CNY' } }, { usage }), undefined);
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
