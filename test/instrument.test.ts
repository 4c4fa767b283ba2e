import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import {
  context,
  DiagConsoleLogger,
  type DiagLogger,
  diag,
  propagation,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { instrument, ObservatorySpanProcessor } from '../src/index.ts';
import { spanToRow } from './support/span-row.ts';

let exporter: InMemorySpanExporter;
let provider: NodeTracerProvider;

beforeEach(() => {
  exporter = new InMemorySpanExporter();
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
});
afterEach(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
  propagation.disable();
});

const interceptor = instrument({ serviceName: 'payments-mcp' });

function onlyRow() {
  const spans = exporter.getFinishedSpans();
  assert.equal(spans.length, 1);
  return spanToRow(spans[0] as never);
}

test("the seed's quick start gives the row the seed describes", async () => {
  const prompt =
    'Invoice #92311 at 2026-02-10T12:01:00Z for customer 1002 uuid 550e8400-e29b-41d4-a716-446655440000';
  const response = 'Needs human review before approval.';
  const { result, record } = await interceptor.recordModelCall({
    model: 'gpt-4o',
    toolName: 'payment_risk_check',
    prompt,
    response,
    riskTier: 'high',
    promptTemplateId: 'payment-risk-v3',
    isShadow: true,
    shadowParentTraceId: '11111111-1111-4111-8111-111111111111',
    confidence: 0.42,
    gateBlocked: true,
    fallbackUsed: true,
    fallbackType: 'human_review',
    fallbackReason: 'low_confidence',
    retries: 1,
  });
  assert.equal(result, response);
  const row = onlyRow();
  const expected = {
    service: 'payments-mcp',
    model: 'gpt-4o',
    tool_name: 'payment_risk_check',
    risk_tier: 'high',
    prompt_template_id: 'payment-risk-v3',
    is_shadow: true,
    shadow_parent_trace_id: '11111111-1111-4111-8111-111111111111',
    confidence: 0.42,
    gate_blocked: true,
    fallback_used: true,
    fallback_type: 'human_review',
    fallback_reason: 'low_confidence',
    retries: 1,
    prompt_size_chars: [...prompt].length,
    prompt_hash: sha256(prompt),
    normalized_prompt_hash: sha256('invoice #<number> at <timestamp> for customer <number> uuid <uuid>'),
    answer_hash: sha256('needs human review before approval.'),
    tokens_estimated: true,
    cost_source: 'genai-prices',
    self_consistency_score: null,
    grounding_score: null,
    status_code: 'unset',
  };
  for (const [column, value] of Object.entries(expected)) {
    assert.deepEqual(row[column as keyof typeof row], value, column);
  }
  assert.ok((row.cost_usd ?? 0) > 0);
  assert.equal(record.fields.promptHash, expected.prompt_hash);
  assert.equal(record.fields.hallucinationRiskScore, row.hallucination_risk_score);
  assert.equal(record.traceId, exporter.getFinishedSpans()[0]?.spanContext().traceId);
});

test('a call runs inside its span, gets prompt and model, and its result comes back unchanged', async () => {
  const reply = { text: 'four', other: Symbol('kept') };
  const result = await interceptor.interceptModelCall({
    model: 'm',
    prompt: '2 + 2?',
    call: (request) => {
      assert.deepEqual(request, { model: 'm', prompt: '2 + 2?' });
      assert.ok(trace.getActiveSpan());
      return reply;
    },
  });
  assert.equal(result, reply);
  assert.equal(onlyRow().answer_hash, sha256('four'));
});

test("a call's error is rethrown after the span is marked, and its message stays off the span", async () => {
  class ProviderDown extends Error {}
  const error = new ProviderDown('the prompt was: secret');
  const call = () => Promise.reject(error);
  await assert.rejects(
    interceptor.interceptModelCall({ model: 'gpt-4o', prompt: 'Hello', call }),
    (thrown) => {
      assert.equal(thrown, error);
      return true;
    },
  );
  const row = onlyRow();
  assert.equal(row.status_code, 'error');
  assert.equal(row.status_message, null);
  assert.equal(row.attributes['error.type'], 'Error');
  assert.equal(row.prompt_hash, sha256('Hello'));
  assert.equal(row.answer_hash, null);
  assert.ok(!JSON.stringify(row).includes('secret'));
});

test('with captureContent the error message and the texts are on the span', async () => {
  const open = instrument({ serviceName: 's', captureContent: true });
  await assert.rejects(
    open.interceptModelCall({ model: 'm', prompt: 'Hello', call: () => Promise.reject(new Error('why')) }),
  );
  const [span] = exporter.getFinishedSpans();
  assert.deepEqual(span?.status, { code: SpanStatusCode.ERROR, message: 'why' });
  assert.match(String(span?.attributes['gen_ai.input.messages']), /Hello/);
});

test('a confidence below its threshold blocks the gate unless the caller says otherwise', async () => {
  const cases = [
    [{ confidence: 0.5, confidenceGateThreshold: 0.6 }, true],
    [{ confidence: 0.6, confidenceGateThreshold: 0.6 }, false],
    [{ confidenceGateThreshold: 0.6 }, false],
    [{ confidence: 0.5, confidenceGateThreshold: 0.6, gateBlocked: false }, false],
    [{ gateBlocked: true }, true],
  ] as const;
  for (const [options, blocked] of cases) {
    exporter.reset();
    await interceptor.interceptModelCall({ model: 'm', prompt: 'p', response: 'r', ...options });
    assert.equal(onlyRow().gate_blocked, blocked);
  }
});

test('the parent of a shadow run is kept only on a shadow run', async () => {
  const shadowParentTraceId = '11111111-1111-4111-8111-111111111111';
  await interceptor.interceptModelCall({ model: 'm', prompt: 'p', response: 'r', shadowParentTraceId });
  assert.equal(onlyRow().shadow_parent_trace_id, null);
});

test("usage, model and finish reason of a provider's response stand on the span", async () => {
  const response = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, message: { role: 'assistant', content: 'four' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 400 } },
  };
  await interceptor.interceptModelCall({ model: 'gpt-4o', provider: 'openai', prompt: '2 + 2?', response });
  const row = onlyRow();
  assert.equal(row.model, 'gpt-4o-2024-08-06');
  assert.equal(row.response_id, 'chatcmpl-1');
  assert.equal(row.finish_reason, 'stop');
  assert.equal(row.prompt_tokens, 1000);
  assert.equal(row.completion_tokens, 10);
  assert.equal(row.cached_prompt_tokens, 400);
  assert.equal(row.tokens_estimated, null);
  // gpt-4o: 2.50 USD per million input tokens, 1.25 cached, 10.00 output.
  const cost = (600 * 2.5 + 400 * 1.25 + 10 * 10) / 1e6;
  assert.ok(Math.abs((row.cost_usd ?? 0) - cost) < 1e-12, `${row.cost_usd} is not ${cost}`);
});

test('grounding, tool-claim mismatch and a second answer are scored from what the caller gives', async () => {
  const scored = instrument({ serviceName: 's' });
  await scored.interceptModelCall({
    model: 'm',
    prompt: 'p',
    response: 'payment sent',
    secondaryResponse: { text: 'payment sent' },
    retrievedContext: 'payment declined',
    toolResultSummary: 'error: declined',
  });
  const row = onlyRow();
  assert.equal(row.grounding_score, 1 / 3);
  assert.equal(row.self_consistency_score, 1);
  assert.equal(row.tool_claim_mismatch, true);
});

test('a registered processor does not enrich a second time', async () => {
  const processor = new ObservatorySpanProcessor();
  const own = new NodeTracerProvider({ spanProcessors: [processor, new SimpleSpanProcessor(exporter)] });
  const direct = instrument({ serviceName: 's', tracerProvider: own });
  await direct.interceptModelCall({ model: 'm', prompt: 'p', response: 'r' });
  assert.equal(onlyRow().prompt_hash, sha256('p'));
  assert.equal(processor.stats.enriched, 0);
  await own.shutdown();
});

test('a tool call is an execute_tool span with the hash of its arguments, and isError marks it', async () => {
  const args = { b: 1, a: 'secret' };
  const result = await interceptor.interceptToolCall({
    toolName: 'send_payment',
    callId: 'call_1',
    arguments: args,
    call: () => ({ content: [], isError: true }),
  });
  assert.equal(result.isError, true);
  const row = onlyRow();
  assert.equal(row.span_name, 'execute_tool send_payment');
  assert.equal(row.tool_name, 'send_payment');
  assert.equal(row.tool_args_hash, sha256('{"a":"secret","b":1}'));
  assert.equal(row.attributes['error.type'], 'tool_error');
  assert.equal(row.cost_usd, null);
  assert.ok(!JSON.stringify(row).includes('secret'));
});

test('without a registered provider the call works, and its fields are computed all the same', async () => {
  const call = { model: 'gpt-4o', prompt: 'p', response: 'r', retrievedContext: 'r s' };
  const recorded = await interceptor.recordModelCall(call);
  trace.disable();
  const { result, record } = await interceptor.recordModelCall(call);
  assert.equal(result, 'r');
  assert.deepEqual(record.fields, recorded.record.fields);
  assert.ok(Object.keys(record.fields).length > 15);
});

test('a call that cannot be described is made all the same, and logged', async (t) => {
  const logged: unknown[] = [];
  diag.setLogger({
    ...new DiagConsoleLogger(),
    error: (...said: unknown[]) => logged.push(said),
  } as DiagLogger);
  t.after(() => diag.disable());
  const hostile = {
    get: () => {
      throw new Error('a getter');
    },
  };
  const bad = [undefined, null, 42, Symbol('model'), Object.create(null), new Proxy({}, hostile)];
  const fails = { startSpan: () => assert.fail('no span') };
  const broken = instrument({ serviceName: 's', tracerProvider: { getTracer: () => fails } as never });
  for (const each of [interceptor, broken]) {
    for (const value of bad as never[]) {
      const call = () => Promise.resolve('done');
      for (const field of [
        'model',
        'operation',
        'provider',
        'prompt',
        'usage',
        'toolName',
        'riskTier',
      ] as const) {
        const described = { model: 'm', prompt: 'p', [field]: value, call };
        assert.equal((await each.recordModelCall(described)).result, 'done', field);
        assert.equal(await each.interceptModelCall(described), 'done', field);
      }
      assert.equal(await each.interceptToolCall({ toolName: value, call }), 'done');
      const fallback = { fallbackType: value, fallbackReason: value, toolName: value, call };
      assert.equal((await each.recordFallback(fallback)).result, 'done');
    }
  }
  assert.ok(logged.length > 0);
  const names = new Set(exporter.getFinishedSpans().map(({ name }) => name));
  assert.ok(names.has('chat') && names.has('execute_tool') && names.has('fallback'), [...names].join());
});

test('neither call nor response, and an empty service name, are refused', async () => {
  await assert.rejects(interceptor.interceptModelCall({ model: 'm', prompt: 'p' }), {
    code: 'INVALID_OPTION',
  });
  assert.throws(() => instrument({ serviceName: ' ' }), { code: 'INVALID_OPTION' });
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
