import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, type Span, trace } from '@opentelemetry/api';
import { attachInteraction } from '../src/interaction/index.ts';
import { CHAT_ATTRIBUTES, chat, chatContent, observe } from './support/observed.ts';

const USAGE = { 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 100 };

function costOf(attributes: Readonly<Record<string, unknown>>, options = {}, startTime?: Date): unknown {
  const { tracer, span } = observe({ options });
  const request = tracer.startSpan('chat', {
    kind: 2,
    attributes: { ...CHAT_ATTRIBUTES, ...USAGE, ...attributes },
    ...(startTime === undefined ? {} : { startTime }),
  });
  request.end();
  return span().attributes['observatory.cost_usd'];
}

test('tokens of the provider are not repeated under our names', () => {
  const { tracer, span } = observe();
  chat(tracer, {
    ...chatContent('q', 'a'),
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
  });
  const names = Object.keys(span().attributes);
  assert.ok(!names.includes('observatory.prompt_tokens'));
  assert.ok(!names.includes('observatory.completion_tokens'));
  assert.ok(!names.includes('observatory.tokens_estimated'));
  assert.ok(!names.includes('observatory.model'));
  assert.ok(!names.includes('observatory.provider'));
});

test('input tokens that left the cache out are corrected under our name', () => {
  const { tracer, span } = observe();
  chat(tracer, {
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 90,
  });
  assert.equal(span().attributes['gen_ai.usage.input_tokens'], 10);
  assert.equal(span().attributes['observatory.prompt_tokens'], 100);
});

test('tokens are estimated, and said to be, only when the provider reported none', () => {
  const { tracer, span } = observe();
  chat(tracer, chatContent('Count these words please', 'One two three'));
  const { attributes } = span();
  assert.equal(attributes['observatory.tokens_estimated'], true);
  assert.ok(Number(attributes['observatory.prompt_tokens']) > 0);
  assert.ok(Number(attributes['observatory.completion_tokens']) > 0);
  assert.equal(attributes['gen_ai.usage.input_tokens'], undefined);
  assert.equal(attributes['gen_ai.usage.output_tokens'], undefined);
});

test('a model nobody prices has no cost and says unknown', () => {
  const { tracer, span } = observe();
  chat(tracer, {
    'gen_ai.request.model': 'my-own-model-7',
    'gen_ai.provider.name': 'home',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
  });
  assert.equal(span().attributes['observatory.cost_usd'], undefined);
  assert.equal(span().attributes['observatory.cost_source'], 'unknown');
});

test('only the request to the model carries the cost, not what surrounds it', () => {
  const { tracer, spans } = observe();
  const usage = { 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 100 };
  const outer = [
    { 'gen_ai.operation.name': 'invoke_workflow', ...usage },
    { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'gpt-4o', ...usage },
    {
      'ai.operationId': 'ai.generateText',
      'ai.model.id': 'gpt-4o',
      'ai.usage.inputTokens': 1000,
      'ai.usage.outputTokens': 100,
    },
    { 'openinference.span.kind': 'CHAIN', 'llm.model_name': 'gpt-4o', 'llm.token_count.prompt': 1000 },
    { 'mcp.method.name': 'sampling/createMessage', 'gen_ai.request.model': 'gpt-4o', ...usage },
  ];
  let parent = context.active();
  const open: Span[] = [];
  for (const attributes of outer) {
    const span = tracer.startSpan('outer', { attributes }, parent);
    open.push(span);
    parent = trace.setSpan(parent, span);
  }
  const inner = tracer.startSpan('chat', { attributes: { ...CHAT_ATTRIBUTES, ...usage } }, parent);
  inner.end();
  for (const span of open.reverse()) span.end();
  const costs = spans().map((span) => span.attributes['observatory.cost_usd']);
  assert.equal(costs.filter((cost) => cost !== undefined).length, 1);
  assert.equal(typeof costs[0], 'number');
});

test('the price of the time the call started holds', () => {
  const o3 = { 'gen_ai.request.model': 'o3' };
  const before = Number(costOf(o3, {}, new Date('2025-05-01T00:00:00Z')));
  const after = Number(costOf(o3, {}, new Date('2025-09-01T00:00:00Z')));
  // 1000 input and 100 output tokens: o3 fell from $10 and $40 per million to $2 and $8 on 2025-06-10.
  assert.ok(Math.abs(before - 0.014) < 1e-12, String(before));
  assert.ok(Math.abs(after - 0.0028) < 1e-12, String(after));
});

test('prices of the user go before the table', () => {
  const prices = [{ model: 'gpt-4o', inputUsdPerMillion: 1, outputUsdPerMillion: 10 }];
  assert.equal(costOf({}, { prices }), 0.002);
});

test('the tier that served the call is priced', () => {
  const standard = Number(costOf({ 'openai.response.service_tier': 'default' }));
  assert.equal(costOf({ 'openai.response.service_tier': 'flex' }), standard / 2);
  assert.equal(costOf({ 'openai.response.service_tier': 'priority' }), undefined);
});

test('the host that served the call is priced, not the maker of the client', () => {
  const attributes = { 'gen_ai.request.model': 'llama-3.3-70b-versatile' };
  assert.equal(costOf(attributes), undefined);
  assert.equal(typeof costOf({ ...attributes, 'server.address': 'api.groq.com' }), 'number');
});

test('a cost the provider reported is taken as it is', () => {
  assert.equal(costOf({ 'llm.cost.total': 0.5 }), 0.5);
  const { tracer, span } = observe();
  chat(tracer, USAGE, (s) => attachInteraction(s, { providerCostUsd: 0.25 }));
  assert.equal(span().attributes['observatory.cost_usd'], 0.25);
  assert.equal(span().attributes['observatory.cost_source'], 'provider');
});

test('a cost in another currency is left out, wherever the currency is said', () => {
  const cost = { 'gen_ai.usage.cost': 0.5 };
  const priced = costOf({});
  const gateway = (told: unknown) => ({ 'ai.response.providerMetadata': JSON.stringify({ gateway: told }) });
  const foreign = [
    { ...cost, 'gen_ai.usage.currency': 'CNY' },
    { ...cost, 'gen_ai.currency': 'EUR' },
    { ...cost, currency: 'RMB' },
    { ...cost, 'llm.usage.currencyCode': 'JPY' },
    { ...cost, 'billing.currency': 'INR' },
    { ...cost, 'gen_ai.usage.cost_unit': 'credits' },
    { 'gen_ai.usage.total_cost': 0.5, 'gen_ai.usage.cost': '¥0.5' },
    { 'mlflow.llm.cost': JSON.stringify({ total_cost: 0.5, currency: 'CNY' }) },
    gateway({ cost: 0.5, currency: 'CNY' }),
    gateway({ cost: { amount: 0.5, unit: 'points' } }),
    { 'my.usage': JSON.stringify({ usage: { cost: 0.5 }, currency: 'CNY' }) },
    { ...cost, metadata: JSON.stringify({ cost_currency: 'CNY' }) },
  ];
  for (const told of foreign) assert.equal(costOf(told), priced, JSON.stringify(told));
  const inDollars = [
    { ...cost, 'gen_ai.usage.currency': 'usd' },
    { ...cost, 'gen_ai.usage.cost.unit': 'US$' },
    { ...cost, 'app.user.currency': 'EUR', 'gen_ai.usage.unit': 'TOKENS' },
    gateway({ cost: { amount: 0.5, currency: 'USD' } }),
  ];
  for (const told of inDollars) assert.equal(costOf(told), 0.5, JSON.stringify(told));
});
