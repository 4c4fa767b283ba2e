import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interactionKind, readInteraction, type SpanView } from '../src/interaction/index.ts';
import { assertGrowth } from './support/cpu-time.ts';

function view(attributes: Record<string, unknown>, events: SpanView['events'] = []): SpanView {
  return { name: 'span', kind: 2, attributes, events };
}

const CONTENT_KEYS = [
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.system_instructions',
  'gen_ai.prompt',
  'gen_ai.completion',
  'gen_ai.prompt.0.content',
  'gen_ai.prompt.0.role',
  'gen_ai.prompt.0.tool_calls.0.arguments',
  'gen_ai.completion.0.content',
  'gen_ai.retrieval.documents',
  'gen_ai.tool.call.arguments',
  'gen_ai.usage.input_tokens',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'llm.input_messages.0.message.content',
  'llm.input_messages.0.message.contents.0.message_content.text',
  'llm.output_messages.0.message.role',
  'llm.token_count.prompt',
  'llm.cost.total',
  'input.value',
  'output.value',
  'retrieval.documents.0.document.content',
  'embedding.embeddings.0.embedding.text',
  'traceloop.entity.input',
  'traceloop.entity.output',
  'ai.prompt',
  'ai.prompt.messages',
  'ai.response.text',
  'ai.values',
  'ai.toolCall.args',
];

const KINDS = [
  { 'gen_ai.operation.name': 'chat' },
  { 'openinference.span.kind': 'LLM' },
  { 'openinference.span.kind': 'TOOL' },
  { 'openinference.span.kind': 'EMBEDDING' },
  { 'openinference.span.kind': 'AGENT' },
  { 'traceloop.span.kind': 'workflow' },
  { 'traceloop.span.kind': 'tool' },
  { 'ai.operationId': 'ai.generateText.doGenerate' },
  { 'ai.operationId': 'ai.embed.doEmbed' },
  { 'ai.operationId': 'ai.toolCall' },
  { 'mcp.method.name': 'tools/call' },
];

const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
const cyclic: Record<string, unknown> = { role: 'user' };
cyclic.content = cyclic;
cyclic.parts = [cyclic];

const VALUES: readonly unknown[] = [
  null,
  undefined,
  0,
  -1,
  1.5,
  Number.NaN,
  true,
  '',
  '{',
  '[1,2',
  '[null]',
  '[[[]]]',
  '{"messages":7}',
  '[{"role":"user","parts":[{"type":"text"}]}]',
  '[{"role":5,"content":[{"type":"tool_result","content":{"a":[1]}}]}]',
  deep,
  JSON.parse(deep),
  '\ud800 lone',
  'nul \0',
  [],
  {},
  [undefined, null, 5, 'text', { role: 'user' }],
  new Uint8Array(4),
  cyclic,
  [cyclic],
  10n,
  () => 1,
  Symbol('s'),
];

test('no value of any content attribute makes a reader throw', () => {
  for (const kind of KINDS) {
    for (const key of CONTENT_KEYS) {
      for (const value of VALUES) {
        const read = readInteraction(view({ ...kind, [key]: value }));
        for (const field of ['prompt', 'answer', 'retrievedContext', 'model', 'provider'] as const) {
          assert.ok(read[field] === undefined || typeof read[field] === 'string', `${key} ${field}`);
        }
        assert.ok(read.usage?.inputTokens === undefined || Number.isSafeInteger(read.usage.inputTokens), key);
        assert.ok(read.providerCostUsd === undefined || Number.isFinite(read.providerCostUsd), key);
      }
    }
  }
});

test('no value in a message event makes a reader throw', () => {
  const names = [
    'system.message',
    'user.message',
    'assistant.message',
    'tool.message',
    'choice',
    'content.prompt',
  ];
  for (const name of [...names, 'content.completion', 'client.inference.operation.details']) {
    for (const key of [
      'content',
      'message',
      'tool_calls',
      'gen_ai.event.content',
      'gen_ai.prompt',
      'gen_ai.completion',
    ]) {
      for (const value of VALUES) {
        const event = { name: `gen_ai.${name}`, attributes: { [key]: value } };
        readInteraction(view({ 'gen_ai.operation.name': 'chat' }, [event, { name: 'gen_ai.choice' }]));
      }
    }
  }
});

test('JSON that a length limit cut off gives no prompt in place of a wrong one', () => {
  const whole = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'hello there' }] }]);
  const read = readInteraction(
    view({ 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': whole.slice(0, 40) }),
  );
  assert.equal(read.prompt, undefined);
});

test('takes indices in numeric order, with gaps, and ignores what is no index', () => {
  const message = (index: string, text: string) => ({
    [`llm.input_messages.${index}.message.role`]: 'user',
    [`llm.input_messages.${index}.message.content`]: text,
  });
  const read = readInteraction(
    view({
      'openinference.span.kind': 'LLM',
      ...message('10', 'c'),
      ...message('999999999', 'd'),
      ...message('2', 'b'),
      ...message('0', 'a'),
      ...message('-1', 'x'),
      ...message('1e3', 'x'),
      ...message('', 'x'),
      ...message('99999999999999999999', 'x'),
    }),
  );
  assert.equal(read.prompt, 'a\n\nb\n\nc\n\nd');
});

test('reading 20,000 numbered messages takes time in proportion', () => {
  const attributesOf = (count: number) => {
    const attributes: Record<string, unknown> = { 'openinference.span.kind': 'LLM' };
    for (let i = 0; i < count; i += 1) {
      attributes[`llm.input_messages.${i * 1009}.message.role`] = 'user';
      attributes[`llm.input_messages.${i * 1009}.message.contents.${i}.message_content.text`] = 'x';
    }
    return attributes;
  };
  const reading = (count: number) => {
    const span = view(attributesOf(count));
    return () => assert.equal(readInteraction(span).prompt?.length, count * 3 - 2);
  };
  // Ten times the messages; a quadratic reader would take a hundred times as long.
  assertGrowth('2,000 messages', reading(2_000), reading(20_000), 40);
});

test('spans of other kinds are recognized', () => {
  assert.equal(
    interactionKind(view({ 'http.request.method': 'GET', 'server.address': 'x', llm: 1 })),
    undefined,
  );
  assert.equal(interactionKind(view({})), undefined);
  const kinds: [Record<string, unknown>, string][] = [
    [{ 'gen_ai.operation.name': 'chat' }, 'model'],
    [{ 'gen_ai.operation.name': 'embeddings' }, 'embeddings'],
    [{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 9 }, 'other'],
    [{ 'gen_ai.operation.name': 'execute_tool' }, 'tool'],
    [{ 'gen_ai.operation.name': 'invoke_workflow' }, 'other'],
    [{ 'gen_ai.operation.name': 'custom', 'gen_ai.request.model': 'm' }, 'model'],
    [{ 'gen_ai.request.model': 'm' }, 'model'],
    [{ 'gen_ai.agent.name': 'a' }, 'other'],
    [{ 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool' }, 'tool'],
    [{ 'mcp.method.name': 'sampling/createMessage', 'gen_ai.request.model': 'm' }, 'other'],
    [{ 'openinference.span.kind': 'LLM' }, 'model'],
    [{ 'openinference.span.kind': 'CHAIN', 'llm.model_name': 'm' }, 'other'],
    [{ 'traceloop.span.kind': 'agent', 'llm.model_name': 'm' }, 'other'],
    [{ 'llm.request.type': 'chat' }, 'model'],
    [{ 'ai.operationId': 'ai.generateText', 'ai.model.id': 'm', 'ai.usage.inputTokens': 5 }, 'other'],
    [{ 'ai.operationId': 'ai.embed.doEmbed' }, 'embeddings'],
    [{ 'ai.operationId': 'ai.streamText.doStream', 'ai.model.id': 'm' }, 'model'],
  ];
  for (const [attributes, expected] of kinds) {
    assert.equal(interactionKind(view(attributes)), expected, JSON.stringify(attributes));
  }
  const internal = { ...view({ 'gen_ai.operation.name': 'custom', 'gen_ai.request.model': 'm' }), kind: 0 };
  assert.equal(interactionKind(internal), 'other');
  for (const name of ['com.anthropic.sdk.typescript', 'com.anthropic.sdk.typescript.vertex']) {
    const counting = {
      ...view({ 'gen_ai.request.model': 'claude-sonnet-4-5' }),
      instrumentationScope: { name },
    };
    assert.equal(interactionKind(counting), 'other');
  }
});
