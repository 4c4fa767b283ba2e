import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProviderResponse } from '../src/interaction/index.ts';

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
