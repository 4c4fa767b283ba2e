import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanKind } from '@opentelemetry/api';
import { listAttributeNames } from '../src/base/field-lookup.ts';
import { FIELDS } from '../src/base/fields.ts';
import { type Interaction, interactionKind, readInteraction } from '../src/interaction/index.ts';
import { CHAT, DIALECT_CASES, MESSAGES, OUTPUT, SYSTEM } from './support/dialect-cases.ts';
import { recordSpan } from './support/span-fixture.ts';

for (const { dialect, span, expected } of DIALECT_CASES) {
  test(`reads ${dialect}`, () => {
    assert.deepEqual(defined(readInteraction(recordSpan(span))), expected);
  });
}

test('reads structured content as SDK 3 keeps it', () => {
  const read = readInteraction({
    name: 'chat gpt-4o',
    kind: SpanKind.CLIENT,
    attributes: {
      ...CHAT,
      'gen_ai.system_instructions': SYSTEM,
      'gen_ai.input.messages': MESSAGES,
      'gen_ai.output.messages': OUTPUT,
    },
  });
  assert.equal(read.prompt, 'Be brief.\n\nWhat is the weather?');
  assert.equal(read.answer, 'It rains.');
  assert.equal(read.retrievedContext, 'Rain in Bonn');
  const tool = readInteraction({
    name: 'tools/call weather',
    attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.call.arguments': { city: 'Bonn' } },
  });
  assert.deepEqual(tool.toolArguments, { city: 'Bonn' });
});

test('believes text beside the span over attributes', () => {
  const span = recordSpan({
    attributes: {
      ...CHAT,
      'gen_ai.input.messages': JSON.stringify(MESSAGES),
      'gen_ai.output.messages': JSON.stringify(OUTPUT),
    },
  });
  const read = readInteraction(span, { prompt: 'exact prompt', answer: 'exact answer', model: 'mine' });
  assert.equal(read.prompt, 'exact prompt');
  assert.equal(read.answer, 'exact answer');
  assert.equal(read.model, 'mine');
  // The evidence belongs to the prompt that was given.
  assert.equal(read.retrievedContext, undefined);
  const half = readInteraction(span, { answer: 'exact answer' });
  assert.equal(half.prompt, 'What is the weather?');
  assert.equal(half.answer, 'exact answer');
});

test('adds cached tokens that a reporter left out of the input', () => {
  const usageOf = (scope: string, attributes: Record<string, number | string>) =>
    readInteraction(recordSpan({ scope, attributes: { ...CHAT, ...attributes } })).usage?.inputTokens;
  const anthropic = { 'gen_ai.provider.name': 'anthropic' };
  const counts = (input: number, cached: number) => ({
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': cached,
  });
  // More cached than there is input: they cannot be part of it.
  assert.equal(usageOf('any', counts(10, 90)), 100);
  // The total says which counts are apart.
  assert.equal(usageOf('any', { ...counts(50, 10), 'gen_ai.usage.total_tokens': 65 }), 60);
  assert.equal(usageOf('any', { ...counts(50, 10), 'gen_ai.usage.total_tokens': 55 }), 50);
  // Known to pass Anthropic's own count on.
  assert.equal(usageOf('@traceloop/instrumentation-anthropic', { ...anthropic, ...counts(50, 10) }), 60);
  assert.equal(usageOf('@traceloop/instrumentation-openai', counts(50, 10)), 50);
  assert.equal(usageOf('any', { ...anthropic, ...counts(50, 10) }), 50);
});

test('believes the first name of a column that holds a value of its type, whatever the order of the attributes', () => {
  for (const field of FIELDS) {
    if (field.origin !== 'attribute' || !isScalar(field.column)) continue;
    const names = listAttributeNames(field);
    const counts = field.wireType === 'integer';
    const given = names.map((name, rank): [string, unknown] => [name, counts ? 10 + rank : `text ${rank}`]);
    for (const order of [given, given.toReversed()]) {
      assert.equal(scalarOf(field.column, order), given[0]?.[1], field.column);
      const wrong = order.map(([name, value]): [string, unknown] =>
        name === names[0] ? [name, counts ? -1 : ''] : [name, value],
      );
      assert.equal(scalarOf(field.column, wrong), given[1]?.[1], `${field.column}, the first of no use`);
    }
  }
});

const SCALARS = { model: 'model', prompt_tokens: 'inputTokens', completion_tokens: 'outputTokens' } as const;

function isScalar(column: string): column is keyof typeof SCALARS {
  return column in SCALARS;
}

function scalarOf(
  column: keyof typeof SCALARS,
  attributes: readonly (readonly [string, unknown])[],
): unknown {
  const read = readInteraction({ name: 'chat', attributes: Object.fromEntries(attributes) });
  return column === 'model' ? read.model : read.usage?.[SCALARS[column]];
}

test('takes no estimate of ours for a report of the provider', () => {
  const read = readInteraction(
    recordSpan({
      attributes: { ...CHAT, 'observatory.prompt_tokens': 3, 'observatory.tokens_estimated': true },
    }),
  );
  assert.equal(read.usage, undefined);
});

function defined(interaction: Interaction): Interaction {
  const entries = Object.entries(interaction).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'usage' ? definedUsage(value as object) : value]),
  );
}

function definedUsage(usage: object): object {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined));
}

const HI = JSON.stringify([{ role: 'user', content: 'hi' }]);
const COUNTS =
  '{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":40}}';
const REPLY = `{"role":"assistant","meta":{"model":"gpt-4o","usage":${COUNTS}},"name":null,"content":[{"text":"hello"}]}`;
const WHOLE_VALUES = {
  Langfuse: {
    'langfuse.observation.type': 'generation',
    'langfuse.observation.model.name': 'gpt-4o',
    'langfuse.observation.input': HI,
    'langfuse.observation.output': 'hello',
    'langfuse.observation.usage_details':
      '{"input":60,"input_cached_tokens":40,"output":8,"output_reasoning_tokens":2}',
  },
  MLflow: {
    'mlflow.spanType': '"CHAT_MODEL"',
    'mlflow.llm.model': '"gpt-4o"',
    'mlflow.spanInputs': `{"messages":${HI}}`,
    'mlflow.spanOutputs': '{"choices":[{"message":{"role":"assistant","content":"hello"}}]}',
    'mlflow.chat.tokenUsage':
      '{"input_tokens":100,"output_tokens":10,"total_tokens":110,"cache_read_input_tokens":40}',
  },
  Braintrust: {
    'braintrust.span_attributes': '{"type":"llm"}',
    'braintrust.metadata': '{"model":"gpt-4o","provider":"openai"}',
    'braintrust.input_json': HI,
    'braintrust.output_json': '[{"index":0,"message":{"role":"assistant","content":"hello"}}]',
    'braintrust.metrics':
      '{"prompt_tokens":100,"completion_tokens":10,"tokens":110,"prompt_cached_tokens":40}',
  },
  LangWatch: {
    'langwatch.span.type': 'llm',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.cached_input_tokens': 40,
    'langwatch.input': `{"type":"chat_messages","value":${HI}}`,
    'langwatch.output': '{"type":"chat_messages","value":[{"role":"assistant","content":"hello"}]}',
    'langwatch.metrics': '{"type":"json","value":{"promptTokens":100,"completionTokens":10}}',
  },
  'Spring AI': {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.prompt': '["hi"]',
    'gen_ai.completion': '["hello"]',
    'gen_ai.usage.input_tokens': '100',
    'gen_ai.usage.output_tokens': '10',
    'gen_ai.usage.total_tokens': '110',
    'gen_ai.usage.cache_read.input_tokens': '40',
  },
  Rig: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.input.messages': HI,
    'gen_ai.output.messages': '[{"role":"assistant","content":[{"type":"text","text":"hello"}]}]',
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 10,
    'gen_ai.usage.cached_tokens': 40,
  },
  Genkit: {
    'genkit:metadata:subtype': 'model',
    'genkit:name': 'openai/gpt-4o',
    'genkit:input': '{"messages":[{"role":"user","content":[{"text":"hi"}]}]}',
    'genkit:output':
      '{"message":{"role":"model","content":[{"text":"hello"}]},"usage":{"inputTokens":100,"outputTokens":8,"thoughtsTokens":2,"totalTokens":110,"cachedContentTokens":40}}',
  },
  'Haystack, a component': {
    'haystack.component.type': 'OpenAIChatGenerator',
    'haystack.component.input':
      '{"messages":[{"role":"user","meta":{},"name":null,"content":[{"text":"hi"}]}]}',
    'haystack.component.output': `{"replies":[${REPLY}]}`,
  },
  'Haystack, a step of an agent': {
    'haystack.agent.step.llm.input': `{"messages":${HI}}`,
    // Two choices, of which each tells the usage of both.
    'haystack.agent.step.llm.output': `{"replies":[${REPLY},${REPLY}]}`,
  },
};

test('a count that no table names is taken by its words, and what only looks like one is not', () => {
  const read = (more: Record<string, unknown>) => {
    const counts = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 10 };
    const { usage } = readInteraction({ name: 'chat', kind: 2, attributes: { ...CHAT, ...counts, ...more } });
    return [usage?.cacheReadTokens, usage?.cacheWriteTokens, usage?.reasoningTokens];
  };
  for (const [name, right] of [
    ['llm.usage.cache.read.tokens', [7, undefined, undefined]],
    ['my.usage.promptTokensCached', [7, undefined, undefined]],
    ['gen_ai.usage.prompt_cache_hit_tokens', [7, undefined, undefined]],
    ['gen_ai.usage.tokens_cache_written', [undefined, 7, undefined]],
    ['gen_ai.usage.cacheCreationTokens', [undefined, 7, undefined]],
    ['gen_ai.usage.thinking_tokens', [undefined, undefined, 7]],
    ...[
      'gen_ai.usage.cache_miss_tokens',
      'gen_ai.usage.cache_read_cost',
      'gen_ai.usage.cached_audio_tokens',
      'gen_ai.usage.cache_hit_rate',
      'gen_ai.request.thinking.budget_tokens',
      'gen_ai.usage.cached_at',
      'gen_ai.usage.cache_hits',
      'gen_ai.usage.max_reasoning_tokens',
      'gen_ai.usage.nonCachedTokens',
      'gen_ai.usage.cached_output_tokens',
      'gen_ai.usage.reasoning_steps',
      'gen_ai.usage.reasoning_tokens_per_second',
      'http.cache.read.bytes',
    ].map((other) => [other, [undefined, undefined, undefined]] as const),
  ] as const)
    assert.deepEqual(read({ [name]: 7 }), right, name);
});

test('a model and whole counts that no table names are taken by their words, and sums over a session are not', () => {
  const read = (attributes: Record<string, unknown>) => {
    const { model, usage } = readInteraction({ name: 'call', kind: 0, attributes });
    return [model, usage?.inputTokens, usage?.outputTokens];
  };
  const counts = { 'llm.usage.prompt_tokens': 7, 'llm.usage.completion_tokens': 2 };
  for (const [attributes, right] of [
    [{ ...counts, 'llm.model': 'm' }, ['m', 7, 2]],
    [{ ...counts, 'llm.model.id': 'm' }, ['m', 7, 2]],
    [{ ...counts, 'gen_ai.model_name': 'n', 'gen_ai.request.model': 'm' }, ['m', 7, 2]],
    [{ model: 'm', input_tokens: 7, output_tokens: 2 }, ['m', 7, 2]],
    [{ model: 'm', 'db.system': 'postgresql' }, [undefined, undefined, undefined]],
    [{ ...CHAT, 'agent.usage.input_tokens': 7, 'agent.usage.outputTokens': 2 }, ['gpt-4o', 7, 2]],
    [{ ...CHAT, 'usage.prompt_tokens': 7, 'usage.completion_tokens': 2 }, ['gpt-4o', 7, 2]],
    [{ ...CHAT, 'session.usage.input_tokens': 7 }, ['gpt-4o', undefined, undefined]],
  ] as const)
    assert.deepEqual(read(attributes), right, JSON.stringify(attributes));
});

test('the service tier is read by its name in any dialect, the one that answered first', () => {
  const tierOf = (attributes: Record<string, string>) =>
    readInteraction({ name: 'chat', kind: 2, attributes: { ...CHAT, ...attributes } }).serviceTier;
  const asked = { 'litellm.request.service_tier': 'flex' };
  assert.equal(tierOf(asked), 'flex');
  assert.equal(tierOf({ ...asked, 'any.response.service_tier': 'default' }), 'default');
  assert.equal(tierOf({ 'any.response.service_tier': 'default', ...asked }), 'default');
});

for (const [dialect, attributes] of Object.entries(WHOLE_VALUES)) {
  test(`${dialect}: a model call with its whole input and output, and counts in JSON`, () => {
    const span = { name: 'call', kind: 0, attributes };
    const { prompt, answer, model, usage } = readInteraction(span);
    assert.equal(interactionKind(span), 'model');
    assert.deepEqual([prompt, answer, model], ['hi', 'hello', 'gpt-4o']);
    assert.deepEqual([usage?.inputTokens, usage?.outputTokens, usage?.cacheReadTokens], [100, 10, 40]);
  });
}

test('counts that one event of a call has, or the answer in its output, are those of a span without counts', () => {
  const usageOf = (attributes: Record<string, unknown>, ...events: readonly Record<string, unknown>[]) => {
    const named = events.map((event) => ({ name: 'gen_ai.choice', attributes: event }));
    const { usage } = readInteraction({ name: 'call', kind: 2, attributes, events: named });
    return usage && [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens];
  };
  const counts = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 10 };
  const output = { 'output.value': `{"object":"chat.completion","usage":${COUNTS}}` };
  assert.deepEqual(usageOf(CHAT, { content: 'hello' }, counts), [100, 10, undefined]);
  assert.deepEqual(usageOf(CHAT, { usage: COUNTS }), [100, 10, 40]);
  assert.deepEqual(usageOf({ ...CHAT, ...output }), [100, 10, 40]);
  assert.deepEqual(usageOf({ ...CHAT, 'gen_ai.usage.input_tokens': 7 }, counts), [7, undefined, undefined]);
  // Two may be parts, or say the same again; and an agent's are of its calls.
  assert.equal(usageOf(CHAT, counts, counts), undefined);
  assert.equal(usageOf({ 'gen_ai.operation.name': 'invoke_agent' }, counts), undefined);
  const two = [COUNTS, COUNTS.replace('100', '99')].map((usage) => `{"meta":{"usage":${usage}}}`);
  assert.equal(usageOf({ ...CHAT, 'my.output': `{"replies":[${two}]}` }), undefined);
});
