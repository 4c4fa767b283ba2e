import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { DiagConsoleLogger, type DiagLogger, diag, SpanStatusCode, trace } from '@opentelemetry/api';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { govern, instrument, ObservatorySpanProcessor } from '../src/index.ts';
import { spanToRow } from './support/span-row.ts';
import { Telemetry } from './support/telemetry.ts';

let telemetry: Telemetry;
beforeEach(() => {
  telemetry = new Telemetry();
});
afterEach(() => telemetry.shutdown());

const interceptor = instrument({ serviceName: 'payments-mcp' });

function onlyRow() {
  const spans = telemetry.spans;
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
  assert.equal(record.traceId, telemetry.spans[0]?.spanContext().traceId);
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
  const [span] = telemetry.spans;
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
    telemetry.reset();
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
  const own = new NodeTracerProvider({
    spanProcessors: [processor, new SimpleSpanProcessor(telemetry.spanExporter)],
  });
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
  const names = new Set(telemetry.spans.map(({ name }) => name));
  assert.ok(names.has('chat') && names.has('execute_tool') && names.has('fallback'), [...names].join());
});

test('the tier that a provider answers with is priced, and its tokens are in the record', async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
  const message = { role: 'assistant', content: 'yes' };
  const answer = { id: 'c', object: 'chat.completion', model: 'gpt-4o', choices: [{ message }], usage };
  for (const [tier, cost, source] of [
    ['default', 0.0035, 'genai-prices'],
    ['flex', 0.00175, 'genai-prices'],
    ['priority', undefined, 'unpriced: tier priority'],
  ] as const) {
    const response = { ...answer, service_tier: tier };
    for (const made of [{ response }, { call: () => response }]) {
      const { fields } = (await interceptor.recordModelCall({ model: 'gpt-4o', prompt: 'q', ...made }))
        .record;
      const { promptTokens, completionTokens, costUsd, costSource } = fields;
      assert.deepEqual([promptTokens, completionTokens, costUsd, costSource], [1000, 100, cost, source]);
    }
  }
});

test('usage is read in our words and in those of any provider, with its cost and its modes', async (t) => {
  const recorded = async (usage: object) => {
    const call = { model: 'claude-sonnet-4-5', provider: 'anthropic', prompt: 'q', response: 'yes', usage };
    const { fields } = (await interceptor.recordModelCall(call)).record;
    const cost = fields.costUsd === undefined ? undefined : Number(fields.costUsd.toPrecision(12));
    return [fields.promptTokens, fields.completionTokens, fields.cachedPromptTokens, cost];
  };
  const cost = 0.00072;
  for (const usage of [
    { inputTokens: 1000, outputTokens: 10, cacheReadTokens: 900 },
    { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 900 } },
    { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 900 },
    { promptTokenCount: 1000, candidatesTokenCount: 10, cachedContentTokenCount: 900 },
    { inputTokens: 100, outputTokens: 10, cacheReadInputTokens: 900, totalTokens: 1010 },
    { input_tokens: 1000, output_tokens: 10, input_token_details: { cache_read: 900 } },
    { promptTokens: 1000, completionTokens: 10, details: { cachedTokens: 900 } },
  ])
    assert.deepEqual(await recorded(usage), [1000, 10, 900, cost], JSON.stringify(usage));
  assert.deepEqual(await recorded({ input_tokens: 100, output_tokens: 10, service_tier: 'batch' }), [
    100,
    10,
    undefined,
    0.000225,
  ]);
  assert.deepEqual(await recorded({ inputTokens: 100, outputTokens: 10, modes: ['speed fast'] }), [
    100,
    10,
    undefined,
    undefined,
  ]);
  assert.deepEqual((await recorded({ prompt_tokens: 1, completion_tokens: 1, cost: 0.5 })).at(-1), 0.5);
  const warned = t.mock.fn();
  diag.setLogger({ ...new DiagConsoleLogger(), warn: warned } as DiagLogger);
  t.after(() => diag.disable());
  // Not estimated either.
  for (const usage of [{ promt_tokens: 100 }, { billed_units: { images: 3 } }])
    assert.deepEqual(await recorded(usage), [undefined, undefined, undefined, undefined]);
  assert.match(String(warned.mock.calls[0]?.arguments[0]), /nothing could be read in the 'usage'/);
});

test('an option that there is not is refused before the call, with the nearest; what a judge returns is logged', async (t) => {
  const call = t.mock.fn(() => 'done');
  const made = { model: 'm', prompt: 'p', call };
  const tool = { toolName: 't', call };
  for (const [refused, nearest] of [
    [() => interceptor.recordModelCall({ ...made, risk_tier: 'high' } as never), 'riskTier'],
    [() => interceptor.interceptModelCall({ ...made, promtTemplateId: 'x' } as never), 'promptTemplateId'],
    [() => interceptor.interceptToolCall({ ...tool, argument: {} } as never), 'arguments'],
    [
      () => interceptor.recordFallback({ fallbackTyp: 'x', fallbackReason: 'y', call } as never),
      'fallbackType',
    ],
    [async () => govern({ sesionId: 's' } as never, call), 'sessionId'],
  ] as const)
    await assert.rejects(refused, {
      code: 'INVALID_OPTION',
      message: new RegExp(`the nearest is '${nearest}'`),
    });
  assert.equal(call.mock.callCount(), 0);
  const warned = t.mock.fn();
  diag.setLogger({ ...new DiagConsoleLogger(), warn: warned } as DiagLogger);
  t.after(() => diag.disable());
  const judge = () => ({ gate_blocked: true }) as never;
  assert.equal(await interceptor.interceptModelCall({ ...made, retries: -3, judge }), 'done');
  const [ofRetries, ofJudge] = warned.mock.calls.map(({ arguments: [said] }) => String(said));
  assert.match(ofRetries ?? '', /left out: retries/);
  assert.match(ofJudge ?? '', /no such fields: gate_blocked/);
  assert.equal(onlyRow().retries, null);
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
