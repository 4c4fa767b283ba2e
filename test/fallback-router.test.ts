import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReviewSubmission } from '../src/approvals/index.ts';
import { callWithFallback, FallbackRouter, type FallbackRouterOptions } from '../src/execution/index.ts';
import { govern, instrument, ObservatoryError } from '../src/index.ts';
import { spanToRow } from './support/span-row.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const interceptor = instrument({ serviceName: 'payments-mcp' });
const routerOf = (options: Omit<FallbackRouterOptions, 'interceptor'>) =>
  new FallbackRouter({ interceptor, ...options });

/** A queue that keeps what it is given. */
class KeptReviews {
  readonly submitted: ReviewSubmission[] = [];

  async submit(review: ReviewSubmission): Promise<string> {
    this.submitted.push(review);
    return `review-${this.submitted.length}`;
  }
}

test('each tool takes its own route, the others the common one', async () => {
  const queue = new KeptReviews();
  const router = routerOf({
    routes: {
      fixed: { type: 'template', respond: 'sorry' },
      made: { type: 'template', respond: ({ reason, prompt }) => `${reason} for ${prompt}` },
      reviewed: { type: 'human_review', queue },
      drafted: { type: 'draft_only' },
    },
    otherwise: { type: 'draft_only', respond: ({ response }) => ({ unsent: response }) },
  });
  const responses = new Map<string, unknown>();
  for (const toolName of ['fixed', 'made', 'reviewed', 'drafted', 'other', 'constructor']) {
    const request = { toolName, reason: 'low_confidence', prompt: 'p', response: 'r' };
    const { response, fallbackType, fallbackReason } = await router.fallBack(request);
    assert.equal(fallbackReason, 'low_confidence');
    assert.equal(fallbackType, router.routeOf(toolName).type);
    responses.set(toolName, response);
  }
  assert.deepEqual(Object.fromEntries(responses), {
    fixed: 'sorry',
    made: 'low_confidence for p',
    reviewed: { status: 'pending_review', reviewId: 'review-1' },
    drafted: { status: 'draft_only', draft: 'r' },
    other: { unsent: 'r' },
    constructor: { unsent: 'r' },
  });
});

test('a reviewer sees the call and its span', async () => {
  await using bench = new TelemetryBench();
  const queue = new KeptReviews();
  const router = routerOf({ otherwise: { type: 'human_review', queue, expiresInMs: 5_000 } });
  const fields = { sessionId: 's1', promptTemplateId: 'risk-v3', riskTier: 'high' };
  const outcome = await govern(fields, () =>
    router.fallBack({
      toolName: 'pay',
      reason: 'high_hallucination',
      model: 'gpt-4o',
      prompt: 'Pay 92311?',
      response: 'Paid.',
      confidence: 0.7,
      hallucinationRisk: 0.9,
      riskTier: 'tier_1',
    }),
  );
  const { traceId, spanId } = bench.span('fallback human_review').spanContext();
  assert.deepEqual(outcome.span.spanId, spanId);
  assert.deepEqual(queue.submitted, [
    {
      fallbackReason: 'high_hallucination',
      content: { prompt: 'Pay 92311?', response: 'Paid.' },
      toolName: 'pay',
      service: 'payments-mcp',
      model: 'gpt-4o',
      riskTier: 'tier_1',
      promptTemplateId: 'risk-v3',
      sessionId: 's1',
      confidence: 0.7,
      hallucinationRisk: 0.9,
      traceId,
      spanId,
      expiresInMs: 5_000,
    },
  ]);
});

test('routes of no known type, a review without a queue, and a tool without a route are refused by name', () => {
  assert.throws(() => routerOf({ routes: { pay: { type: 'hope' } as never } }), {
    code: 'INVALID_OPTION',
    message: /tool 'pay'.*template, human_review or draft_only, got hope/,
  });
  assert.throws(() => routerOf({ otherwise: { type: 'human_review' } as never }), /needs a 'queue'/);
  assert.throws(() => routerOf({ routes: { a: { type: 'draft_only' } } }).routeOf('b'), /'b'.*with one: 'a'/);
  assert.throws(() => routerOf({}).routeOf(undefined), /names no tool; tools with one: none/);
});

test('a queue out of reach is an error, told on the span, and never the refused answer', async () => {
  await using bench = new TelemetryBench();
  const down = new Error('no queue');
  const queue = { submit: () => Promise.reject(down) };
  const router = routerOf({ otherwise: { type: 'human_review', queue } });
  await assert.rejects(
    router.fallBack({ reason: 'low_confidence', response: 'r' }),
    (error) => error === down,
  );
  const row = spanToRow(bench.span('fallback human_review') as never);
  assert.deepEqual(
    [row.status_code, row.fallback_used, row.fallback_type, row.fallback_reason],
    ['error', true, 'human_review', 'low_confidence'],
  );
});

test('a tool that works has no fallback, and its retries are counted', async () => {
  await using bench = new TelemetryBench();
  const router = routerOf({ otherwise: { type: 'draft_only' } });
  let attempts = 0;
  const { response, source, retries, fallback } = await callWithFallback(router, {
    toolName: 'flaky',
    maxRetries: 5,
    call: () => {
      attempts += 1;
      if (attempts === 1) throw new Error('once');
      return attempts === 2 ? { content: [], isError: true } : { content: [] };
    },
  });
  assert.deepEqual(
    { response, source, retries, fallback },
    {
      response: { content: [] },
      source: 'tool',
      retries: 2,
      fallback: undefined,
    },
  );
  const row = spanToRow(bench.span('execute_tool flaky') as never);
  assert.deepEqual([row.retries, row.status_code, row.fallback_used], [2, 'unset', false]);
  assert.equal(await bench.metric('observatory.fallbacks'), undefined);
});

test('a tool that fails in every attempt falls back as a child of its span, with what it said', async () => {
  await using bench = new TelemetryBench();
  const queue = new KeptReviews();
  const router = routerOf({ routes: { pay: { type: 'human_review', queue } } });
  const failed = { content: [{ type: 'text', text: 'declined' }], isError: true };
  let attempts = 0;
  const { source, retries, fallback } = await callWithFallback(router, {
    toolName: 'pay',
    arguments: { amount: 5 },
    maxRetries: 2,
    call: () => {
      attempts += 1;
      if (attempts === 2) throw new Error('gone');
      return failed;
    },
  });
  assert.deepEqual([attempts, source, retries, fallback?.fallbackReason], [3, 'fallback', 2, 'tool_error']);
  assert.deepEqual(queue.submitted[0]?.content, { arguments: { amount: 5 }, response: failed });
  const tool = spanToRow(bench.span('execute_tool pay') as never);
  const fallen = spanToRow(bench.span('fallback human_review') as never);
  assert.deepEqual(
    [tool.status_code, tool.retries, tool.attributes['error.type']],
    ['error', 2, 'tool_error'],
  );
  assert.deepEqual(
    [fallen.parent_span_id, fallen.retries, fallen.fallback_type, fallen.fallback_reason, fallen.status_code],
    [tool.span_id, 2, 'human_review', 'tool_error', 'unset'],
  );
  const [point] = (await bench.metric('observatory.fallbacks'))?.dataPoints ?? [];
  assert.deepEqual([point?.value, point?.attributes['gen_ai.tool.name']], [1, 'pay']);
});

test('what the policy refuses is not tried again', async () => {
  await using bench = new TelemetryBench();
  const router = routerOf({ otherwise: { type: 'template', respond: 'not allowed' } });
  let attempts = 0;
  const { response, fallback } = await callWithFallback(router, {
    toolName: 'wipe',
    maxRetries: 3,
    call: () => {
      attempts += 1;
      throw new ObservatoryError('POLICY_DENIED', 'no');
    },
  });
  assert.deepEqual([attempts, response, fallback?.fallbackReason], [1, 'not allowed', 'policy_violation']);
  const row = spanToRow(bench.span('execute_tool wipe') as never);
  assert.deepEqual([row.gate_blocked, row.status_code], [true, 'error']);
});

test('too little confidence keeps the tool from being called; without telemetry all of it works the same', async () => {
  const router = routerOf({ otherwise: { type: 'draft_only' } });
  let attempts = 0;
  const call = () => {
    attempts += 1;
    return 'sent';
  };
  const mail = { toolName: 'mail', arguments: { to: 'ada' }, call, confidenceGateThreshold: 0.5 };
  const low = await callWithFallback(router, { ...mail, confidence: 0.4 });
  assert.deepEqual(low.response, { status: 'draft_only', draft: { to: 'ada' } });
  assert.equal(low.fallback?.fallbackReason, 'low_confidence');
  assert.equal((await callWithFallback(router, { ...mail, confidence: Number.NaN })).source, 'fallback');
  assert.equal(attempts, 0);
  assert.equal((await callWithFallback(router, { ...mail, confidence: 0.5 })).response, 'sent');
  const failing = { toolName: 'mail', call: () => Promise.reject(new Error('x')) };
  assert.equal((await callWithFallback(router, failing)).fallback?.fallbackReason, 'tool_error');
});

test('once aborted there is neither another attempt nor a fallback', async () => {
  const queue = new KeptReviews();
  const router = routerOf({ otherwise: { type: 'human_review', queue } });
  const stop = new AbortController();
  const reason = new Error('enough');
  let attempts = 0;
  const call = () => {
    attempts += 1;
    stop.abort(reason);
    throw new Error('failed');
  };
  const options = { toolName: 't', call, maxRetries: 9, retryDelayMs: 60_000, signal: stop.signal };
  await assert.rejects(callWithFallback(router, options), (error) => error === reason);
  assert.deepEqual([attempts, queue.submitted.length], [1, 0]);
});

test('counts of retries that are no counts are refused before anything is called', async () => {
  const router = routerOf({ otherwise: { type: 'draft_only' } });
  for (const wrong of [{ maxRetries: Number.NaN }, { maxRetries: -1 }, { retryDelayMs: 0.5 }]) {
    await assert.rejects(callWithFallback(router, { toolName: 't', call: () => assert.fail(), ...wrong }), {
      code: 'INVALID_OPTION',
    });
  }
});

test('the metric keeps the types, reasons and tools of users few', async () => {
  await using bench = new TelemetryBench();
  for (let i = 0; i < 300; i += 1) {
    const names = { fallbackType: `t${i}`, fallbackReason: `r${i}`, toolName: `n${i}` };
    await interceptor.recordFallback({ ...names, call: () => 'x' });
  }
  const points = (await bench.metric('observatory.fallbacks'))?.dataPoints ?? [];
  assert.ok(points.length <= 201, `${points.length} time series`);
  assert.equal(
    points.reduce((sum, { value }) => sum + Number(value), 0),
    300,
  );
});
