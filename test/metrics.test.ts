import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, metrics } from '@opentelemetry/api';
import { DurableSpanProcessor } from '../src/durable/index.ts';
import { instrument } from '../src/execution/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { setGovernance } from '../src/processor/index.ts';
import { SpendMetrics } from '../src/processor/metrics.ts';
import { CollectingExporter, unreachable } from './support/collecting-exporter.ts';
import { MetricReader } from './support/metric-reader.ts';
import { CHAT_ATTRIBUTES, chat, chatContent, observe } from './support/observed.ts';
import { spanWith } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const USAGE = { 'gen_ai.usage.input_tokens': 1_000_000, 'gen_ai.usage.output_tokens': 0 };
const NAMES = 10_000;
/** Names of an attribute that may have series of their own, and the one for all others. */
const MOST = 51;

test('cost in US dollars and hallucination risk flow through a meter provider of the SDK', async () => {
  await using reader = new MetricReader();
  const { tracer, spans } = observe({ options: { meterProvider: reader.provider } });
  for (let i = 0; i < 3; i += 1) chat(tracer, { ...chatContent('question', 'Maybe.'), ...USAGE });
  const [cost, ...more] = await reader.points('observatory.cost');
  assert.deepEqual(more, []);
  const each = spans()[0]?.attributes['observatory.cost_usd'] as number;
  assert.ok(each > 0);
  assert.ok(Math.abs((cost?.value ?? 0) - 3 * each) < 1e-12);
  assert.deepEqual(
    { ...cost?.attributes },
    {
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'observatory.is_shadow': false,
      'observatory.cost_source': 'genai-prices',
    },
  );
  const [risk] = await reader.points('observatory.hallucination_risk');
  const score = spans()[0]?.attributes['observatory.hallucination_risk_score'] as number;
  assert.equal(risk?.count, 3);
  assert.ok(Math.abs((risk?.value ?? 0) - 3 * score) < 1e-12);
});

test('a call is counted once, however many processors see its span', async () => {
  await using reader = new MetricReader();
  metrics.setGlobalMeterProvider(reader.provider);
  const { tracer } = observe({ others: [observe().processor] });
  chat(tracer, USAGE);
  const telemetry = observe();
  const interceptor = instrument({
    serviceName: 's',
    tracerProvider: { getTracer: () => telemetry.tracer },
  });
  await interceptor.interceptModelCall({
    model: 'gpt-4o',
    prompt: 'p',
    response: 'a',
    usage: { inputTokens: 1_000_000, outputTokens: 0 },
  });
  metrics.disable();
  const points = await reader.points('observatory.cost');
  const expected = 2 * Number(telemetry.span().attributes['observatory.cost_usd']);
  const total = points.reduce((sum, { value }) => sum + value, 0);
  assert.ok(Math.abs(total - expected) < 1e-12, `${total} for ${expected}`);
});

test('templates and shadow runs are distinguished, and metrics can be switched off', async () => {
  await using reader = new MetricReader();
  metrics.setGlobalMeterProvider(reader.provider);
  try {
    const { tracer } = observe();
    const governed = setGovernance(context.active(), { promptTemplateId: 'review-v3', isShadow: true });
    const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES }, governed);
    span.setAttributes(USAGE);
    span.end();
    chat(observe({ options: { meterProvider: false } }).tracer, USAGE);
  } finally {
    metrics.disable();
  }
  const points = await reader.points('observatory.cost');
  assert.deepEqual(
    points.map(({ attributes }) => [
      attributes['observatory.prompt_template_id'],
      attributes['observatory.is_shadow'],
    ]),
    [['review-v3', true]],
  );
});

test(`${NAMES} models, providers, templates and sources do not multiply the series`, async () => {
  await using reader = new MetricReader();
  const spend = new SpendMetrics(reader.provider);
  for (let i = 0; i < NAMES; i += 1) {
    const attributes = {
      'gen_ai.request.model': `model-${i}`,
      'gen_ai.provider.name': `provider-${i}`,
      'observatory.prompt_template_id': `template-${i}`,
      'observatory.tool_name': `tool-${i}`,
      'observatory.cost_source': `source-${i}`,
    };
    spend.record(attributes, { cost_usd: 1, hallucination_risk_score: 0.5 });
  }
  for (const metric of ['observatory.cost', 'observatory.hallucination_risk']) {
    const points = await reader.points(metric);
    assert.ok(points.length > 1 && points.length <= MOST, `${metric}: ${points.length} series`);
    assert.equal(
      points.reduce((sum, { value }) => sum + value, 0),
      metric === 'observatory.cost' ? NAMES : NAMES / 2,
    );
  }
});

test('a decision of the gate is counted by what it was, and made-up tools are one', async () => {
  await using reader = new MetricReader();
  metrics.setGlobalMeterProvider(reader.provider);
  try {
    const inputSchema = { type: 'object', properties: {} };
    using gate = new PolicyGate({
      policy: { version: 1, rules: [{ id: 'a', effect: 'allow', server: 'mail', tool: 'send' }] },
      tools: {
        mail: {
          tools: [
            { name: 'send', inputSchema },
            { name: 'purge', inputSchema },
          ],
        },
      },
    });
    await gate.authorize({ server: 'mail', tool: 'send', args: {} });
    await gate.authorize({ server: 'mail', tool: 'purge', args: {} });
    for (let i = 0; i < NAMES; i += 1) {
      await gate.authorize({ server: `server-${i}`, tool: `tool-${i}`, args: {} });
    }
  } finally {
    metrics.disable();
  }
  const points = await reader.points('observatory.gate.decisions');
  assert.deepEqual(
    points.map(({ attributes, value }) => [
      attributes['observatory.policy_decision'],
      attributes['observatory.server'],
      attributes['gen_ai.tool.name'],
      value,
    ]),
    [
      ['allow', 'mail', 'send', 1],
      ['deny', 'mail', 'purge', 1],
      ['deny', '_other', '_other', NAMES],
    ],
  );
  assert.equal(points[0]?.attributes['observatory.policy_enforcement'], 'enforced');
  assert.equal(points[2]?.attributes['observatory.policy_reason'], 'server_unknown');
});

test('the health of an exporter and its spool is reported', async () => {
  await using reader = new MetricReader();
  const exporter = new CollectingExporter(unreachable);
  const processor = new DurableSpanProcessor({
    exporter,
    meterProvider: reader.provider,
    scheduledDelayMs: 1,
    flushTimeoutMs: 1000,
  });
  const health = async () => {
    const names = ['observatory.exporter.up', 'observatory.exporter.failures', 'observatory.spool.damaged'];
    const values = await Promise.all(names.map((name) => reader.points(name)));
    return values.map((points) => points[0]?.value);
  };
  assert.deepEqual(await health(), [1, 0, 0]);
  processor.onEnd(spanWith({}));
  await waitUntil(() => processor.stats.failedExports > 0);
  const [up, failures = 0] = await health();
  assert.equal(up, 0);
  assert.ok(failures >= 1);
  exporter.verdict = () => undefined;
  await waitUntil(() => processor.stats.exported === 1);
  assert.equal((await health())[0], 1);
  await processor.shutdown();
});

test('without a meter provider nothing is recorded and nothing fails', async () => {
  const { tracer, processor } = observe();
  chat(tracer, USAGE);
  assert.deepEqual([processor.stats.enriched, processor.stats.faults], [1, 0]);
});
