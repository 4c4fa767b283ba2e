import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ProxyTracerProvider, type TracerProvider } from '@opentelemetry/api';
import { AlwaysOffSampler, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { FallbackRouter, TieredExecutionConfig, TieredExecutionEngine } from '../src/execution/index.ts';
import { govern, type Interceptor, instrument } from '../src/index.ts';
import { random } from './support/random.ts';
import { spanToRow } from './support/span-row.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const THREE = TieredExecutionConfig.fromBaseCost(0.01, {
  tier1Confidence: 0.55,
  tier1HallucinationRisk: 0.45,
});
const FALLBACK = 'Deterministic policy response';
const deterministicFallback = () => FALLBACK;

/** An interceptor by which the cost and the risk of every call are what the test says. */
function rigged(
  signals: { cost: number | undefined; risk: number | undefined },
  extra: object = {},
): Interceptor {
  return instrument({
    serviceName: 'rigged',
    signals: {
      enableNumericVariance: false,
      enableVerifier: true,
      verifier: {
        score: () => ({ score: signals.risk === undefined ? Number.NaN : 1 - signals.risk, reason: '' }),
      },
    },
    ...extra,
  });
}

/** A response whose provider reports its cost. */
function costing(cost: number | undefined): object {
  return {
    object: 'chat.completion',
    model: 'no-price-is-known',
    choices: [{ index: 0, message: { role: 'assistant', content: 'answer' } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, ...(cost === undefined ? {} : { cost }) },
  };
}

test('from a base cost there are three tiers, at once, twice and three times the cost', () => {
  assert.deepEqual(THREE.names, ['tier_1', 'tier_2', 'tier_3']);
  assert.deepEqual(
    THREE.names.map((name) => THREE.tier(name)),
    [
      { name: 'tier_1', maxCostUsd: 0.01, minConfidence: 0.55, maxHallucinationRisk: 0.45 },
      { name: 'tier_2', maxCostUsd: 0.02, minConfidence: 0.75, maxHallucinationRisk: 0.3 },
      { name: 'tier_3', maxCostUsd: 0.03, minConfidence: 0.85, maxHallucinationRisk: 0.2 },
    ],
  );
});

test('an unknown tier is refused before anything is called, with the names of the known', async () => {
  const engine = new TieredExecutionEngine(instrument({ serviceName: 's' }), THREE);
  let called = false;
  const call = () => {
    called = true;
    return 'x';
  };
  for (const tierName of ['gold', 'constructor', '__proto__']) {
    await assert.rejects(engine.execute({ tierName, model: 'm', prompt: 'p', call, deterministicFallback }), {
      code: 'UNKNOWN_TIER',
      message: `There is no tier '${tierName}'. Known are: 'tier_1', 'tier_2', 'tier_3'`,
    });
  }
  assert.equal(called, false);
});

test('limits that are no limits are refused with tier, limit and value', () => {
  const good = { maxCostUsd: 1, minConfidence: 0.5, maxHallucinationRisk: 0.5 };
  for (const [wrong, message] of [
    [
      { minConfidence: 55 },
      /'minConfidence' of the tier 'gold' to be a number from 0 to 1, got 55 \(number\)/,
    ],
    [{ maxHallucinationRisk: Number.NaN }, /'maxHallucinationRisk'.*got NaN/],
    [{ maxCostUsd: -1 }, /'maxCostUsd'.*US dollars from 0 up, got -1/],
    [{ maxCostUsd: '1' as never }, /got 1 \(string\)/],
  ] as const) {
    assert.throws(() => new TieredExecutionConfig({ gold: { ...good, ...wrong } }), {
      code: 'INVALID_OPTION',
      message,
    });
  }
  assert.throws(() => new TieredExecutionConfig({}), { code: 'INVALID_OPTION' });
});

describe('tiers from a file', () => {
  const document = {
    version: 1,
    tiers: { bulk: { max_cost_usd: 0.001, min_confidence: 0, max_hallucination_risk: 1 } },
  };

  test('are read from the file, its text or its parsed form', () => {
    const folder = mkdtempSync(join(tmpdir(), 'observatory-tiers-'));
    try {
      const path = join(folder, 'tiers.json');
      writeFileSync(path, JSON.stringify(document));
      const expected = { name: 'bulk', maxCostUsd: 0.001, minConfidence: 0, maxHallucinationRisk: 1 };
      assert.deepEqual(TieredExecutionConfig.fromFile(path).tier('bulk'), expected);
      assert.deepEqual(TieredExecutionConfig.fromJson(JSON.stringify(document)).tier('bulk'), expected);
      assert.deepEqual(TieredExecutionConfig.fromJson(document).tier('bulk'), expected);
      writeFileSync(path, '{"version":1');
      assert.throws(() => TieredExecutionConfig.fromFile(path), {
        code: 'INVALID_INPUT',
        message: /tiers\.json/,
      });
      assert.throws(() => TieredExecutionConfig.fromFile(join(folder, 'none')), {
        code: 'INVALID_INPUT',
        message: /none' cannot be read \(ENOENT\)/,
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('of another form are refused, and the message says where', () => {
    const gold = { max_cost_usd: 1, min_confidence: 0.5, max_hallucination_risk: 0.5 };
    for (const [wrong, message] of [
      [{ version: 1, tiers: {} }, /\/tiers must NOT have fewer than 1 properties/],
      [{ version: 2, tiers: { gold } }, /\/version/],
      [
        { version: 1, tiers: { gold: { ...gold, min_confidence: 1.5 } } },
        /\/tiers\/gold\/min_confidence must be <= 1/,
      ],
      [
        { version: 1, tiers: { gold: { ...gold, min_confidense: 1 } } },
        /\/tiers\/gold must NOT have additional/,
      ],
      [{ version: 1, tiers: { gold: { min_confidence: 1 } } }, /\/tiers\/gold must have required property/],
      ['{"version":1,"version":1}', /Not JSON/],
    ] as const) {
      assert.throws(() => TieredExecutionConfig.fromJson(wrong as object), {
        code: 'INVALID_INPUT',
        message,
      });
    }
  });
});

test('over random signals the decision is what a plain reading of the rules says', async () => {
  const below = random(20_261_121);
  const share = () => below(101) / 100;
  const signals = { cost: undefined as number | undefined, risk: undefined as number | undefined };
  const interceptor = rigged(signals);
  const seen = new Set<string | undefined>();
  for (let i = 0; i < 1_000; i += 1) {
    const limits = { maxCostUsd: share(), minConfidence: share(), maxHallucinationRisk: share() };
    const engine = new TieredExecutionEngine(interceptor, new TieredExecutionConfig({ own: limits }));
    signals.cost = below(4) === 0 ? undefined : share();
    signals.risk = below(8) === 0 ? undefined : share();
    const given = below(3) === 0 ? undefined : below(20) === 0 ? 42 : share();
    const primary = costing(signals.cost);
    const { response, decision } = await engine.execute({
      tierName: 'own',
      model: 'no-price-is-known',
      prompt: 'p',
      mcpResponse: primary,
      confidence: given,
      deterministicFallback,
    });

    // The rules, once more and in other words.
    const risk = signals.risk === undefined ? 1 : 1 - (1 - signals.risk);
    const confidence = given === undefined ? 1 - risk : given === 42 ? 0 : given;
    const reasons: string[] = [];
    if (!(confidence >= limits.minConfidence)) reasons.push('low_confidence');
    if (!(risk <= limits.maxHallucinationRisk)) reasons.push('high_hallucination');
    const falls = reasons.length > 0;

    assert.deepEqual(
      { ...decision, tier: decision.tier.name, primarySpan: undefined, fallbackSpan: undefined },
      {
        tier: 'own',
        accepted: !falls,
        source: falls ? 'fallback' : 'mcp',
        confidence,
        confidenceInferred: given === undefined,
        hallucinationRisk: risk,
        costUsd: signals.cost,
        costBreached: signals.cost !== undefined && signals.cost > limits.maxCostUsd,
        confidenceBreached: reasons.includes('low_confidence'),
        hallucinationBreached: reasons.includes('high_hallucination'),
        evidenceBreached: false,
        fallbackUsed: falls,
        fallbackType: falls ? 'template' : undefined,
        fallbackReason: falls ? reasons.join('+') : undefined,
        reviewId: undefined,
        primarySpan: undefined,
        fallbackSpan: undefined,
      },
    );
    assert.equal(response, falls ? FALLBACK : primary);
    seen.add(decision.fallbackReason);
  }
  assert.deepEqual([...seen].sort(), [
    'high_hallucination',
    'low_confidence',
    'low_confidence+high_hallucination',
    undefined,
  ]);
});

test('a cost above the tier is flagged, and the answer is used', async () => {
  const engine = new TieredExecutionEngine(rigged({ cost: 5, risk: 0 }), THREE);
  const { response, decision } = await engine.execute({
    tierName: 'tier_1',
    model: 'm',
    prompt: 'p',
    mcpResponse: costing(5),
    deterministicFallback,
  });
  assert.notEqual(response, FALLBACK);
  assert.deepEqual([decision.costBreached, decision.accepted, decision.source], [true, true, 'mcp']);
  assert.equal(decision.fallbackSpan, undefined);
});

test('both spans tell the decision, in one trace, and the cost is counted once', async () => {
  await using bench = new TelemetryBench();
  const engine = new TieredExecutionEngine(instrument({ serviceName: 'payments-mcp' }), THREE);
  const { decision } = await engine.execute({
    tierName: 'tier_2',
    model: 'gpt-4o',
    toolName: 'summarize',
    prompt: 'Summarize invoice 2217',
    promptTemplateId: 'sum-v1',
    mcpResponse: 'Generated answer',
    confidence: 0.42,
    deterministicFallback,
  });
  const primary = spanToRow(bench.span('chat gpt-4o') as never);
  const fallback = spanToRow(bench.span('fallback template') as never);
  assert.equal(bench.spans.length, 2);
  assert.equal(decision.primarySpan.spanId, bench.span('chat gpt-4o').spanContext().spanId);
  assert.equal(decision.fallbackSpan?.spanId, bench.span('fallback template').spanContext().spanId);
  assert.equal(fallback.trace_id, primary.trace_id);
  assert.equal(fallback.parent_span_id, primary.span_id);

  assert.deepEqual(
    [
      primary.risk_tier,
      primary.confidence,
      primary.gate_blocked,
      primary.fallback_used,
      primary.fallback_type,
    ],
    ['tier_2', 0.42, true, false, null],
  );
  assert.ok((primary.cost_usd ?? 0) > 0);
  const { fallback_used, fallback_type, fallback_reason, risk_tier, tool_name, prompt_template_id } =
    fallback;
  assert.deepEqual(
    { fallback_used, fallback_type, fallback_reason, risk_tier, tool_name, prompt_template_id },
    {
      fallback_used: true,
      fallback_type: 'template',
      fallback_reason: decision.fallbackReason,
      risk_tier: 'tier_2',
      tool_name: 'summarize',
      prompt_template_id: 'sum-v1',
    },
  );
  assert.equal(fallback.prompt_hash, primary.prompt_hash);
  assert.notEqual(fallback.answer_hash, primary.answer_hash);
  assert.deepEqual(
    [fallback.cost_usd, fallback.prompt_tokens, fallback.hallucination_risk_score],
    [null, null, null],
  );

  const metric = await bench.metric('observatory.fallbacks');
  assert.deepEqual(
    metric?.dataPoints.map(({ attributes, value }) => ({ ...attributes, value })),
    [
      {
        'observatory.fallback_type': 'template',
        'observatory.fallback_reason': 'low_confidence',
        'gen_ai.tool.name': 'summarize',
        value: 1,
      },
    ],
  );
});

describe('the decision does not depend on what telemetry keeps', () => {
  const execution = {
    tierName: 'tier_1',
    model: 'gpt-4o',
    prompt: 'How many?',
    mcpResponse: 'There are 12, or 1200000, or 7.',
    retrievedContext: 'nothing of the kind',
    deterministicFallback,
  };
  const decide = async (provider: TracerProvider) => {
    const interceptor = instrument({ serviceName: 's', tracerProvider: provider });
    const engine = new TieredExecutionEngine(interceptor, THREE);
    const { decision } = await govern({ confidence: 0.5 }, () => engine.execute(execution));
    const { primarySpan: _, fallbackSpan: __, ...rest } = decision;
    return rest;
  };

  test('not sampled, or with room for two attributes only, it is the same', async () => {
    await using _bench = new TelemetryBench();
    const expected = await decide(new NodeTracerProvider());
    assert.ok(expected.costUsd !== undefined && expected.hallucinationRisk < 1);
    assert.equal(expected.confidence, 0.5);
    assert.deepEqual(await decide(new ProxyTracerProvider()), expected, 'no provider');
    assert.deepEqual(await decide(new NodeTracerProvider({ sampler: new AlwaysOffSampler() })), expected);
    const full = new NodeTracerProvider({ spanLimits: { attributeCountLimit: 2 } });
    assert.deepEqual(await decide(full), expected);
  });
});

test('a confidence comes from the response, or from govern() around the call', async () => {
  await using _bench = new TelemetryBench();
  const engine = new TieredExecutionEngine(rigged({ cost: 0, risk: 0 }), THREE);
  const plain = { tierName: 'tier_1', model: 'm', prompt: 'p', deterministicFallback };
  const read = await engine.execute({
    ...plain,
    call: () => ({ text: 'answer', sure: 0.6 }),
    confidenceOf: ({ sure }) => sure,
  });
  assert.deepEqual([read.decision.confidence, read.decision.accepted], [0.6, true]);
  const around = await govern({ confidence: 0.1 }, () => engine.execute({ ...plain, mcpResponse: 'answer' }));
  assert.deepEqual([around.decision.confidence, around.decision.fallbackReason], [0.1, 'low_confidence']);
});

test('an answer nobody can read is not accepted', async () => {
  const engine = new TieredExecutionEngine(instrument({ serviceName: 's' }), THREE);
  const { decision } = await engine.execute({
    tierName: 'tier_1',
    model: 'm',
    prompt: 'p',
    mcpResponse: { unheard: 'of' },
    deterministicFallback,
  });
  assert.equal(decision.hallucinationRisk, 1);
  assert.equal(decision.fallbackReason, 'low_confidence+high_hallucination');
});

test('an evidence risk above the limit of the tier goes to the fallback; without evidence there is none', async () => {
  const limits = { max_cost_usd: 1, min_confidence: 0, max_hallucination_risk: 1, max_evidence_risk: 0.7 };
  const config = TieredExecutionConfig.fromJson({ version: 1, tiers: { own: limits } });
  const engine = new TieredExecutionEngine(instrument({ serviceName: 's' }), config);
  const call = { tierName: 'own', model: 'm', prompt: 'Cancel order 7.', deterministicFallback };
  const mcpResponse = 'Order 7 has been cancelled.';
  const outcomeOf = async (result: unknown) => {
    const steps = [{ tool: 'cancel_order', arguments: { id: 7 }, result }];
    return (await engine.execute({ ...call, mcpResponse, steps })).decision.fallbackReason;
  };
  assert.equal(await outcomeOf({ error: 'already shipped' }), 'high_evidence_risk');
  assert.equal(await outcomeOf({ status: 'cancelled' }), undefined);
  assert.equal((await engine.execute({ ...call, mcpResponse })).decision.fallbackReason, undefined);
});

test('errors of the call and of the fallback come through, and mark their spans', async () => {
  await using bench = new TelemetryBench();
  const engine = new TieredExecutionEngine(instrument({ serviceName: 's' }), THREE);
  const execution = { tierName: 'tier_1', model: 'm', prompt: 'p', deterministicFallback };
  const down = new Error('down');
  await assert.rejects(
    engine.execute({ ...execution, call: () => Promise.reject(down) }),
    (error) => error === down,
  );
  const failed = spanToRow(bench.span('chat m') as never);
  assert.deepEqual([failed.status_code, failed.gate_blocked, failed.confidence], ['error', false, null]);

  const broken = () => Promise.reject(down);
  await assert.rejects(
    engine.execute({ ...execution, mcpResponse: 'x', confidence: 0, deterministicFallback: broken }),
    (error) => error === down,
  );
  const row = spanToRow(bench.span('fallback template') as never);
  assert.deepEqual([row.status_code, row.fallback_reason], ['error', 'low_confidence']);
});

test('a call without response, or without anything in the place of a refused answer, is not made', async () => {
  const interceptor = instrument({ serviceName: 's' });
  const engine = new TieredExecutionEngine(interceptor, THREE);
  const execution = { tierName: 'tier_1', model: 'm', prompt: 'p' };
  let called = false;
  const call = () => {
    called = true;
    return 'x';
  };
  await assert.rejects(engine.execute({ ...execution, deterministicFallback }), { code: 'INVALID_OPTION' });
  await assert.rejects(engine.execute({ ...execution, call }), {
    message: /'deterministicFallback'.*'fallbacks'/,
  });
  const fallbacks = new FallbackRouter({ interceptor, routes: { a: { type: 'draft_only' } } });
  const routed = new TieredExecutionEngine(interceptor, THREE, { fallbacks });
  await assert.rejects(routed.execute({ ...execution, toolName: 'b', call }), {
    code: 'INVALID_OPTION',
    message: /the tool 'b'; tools with one: 'a'/,
  });
  assert.equal(called, false);
  const { response, decision } = await routed.execute({ ...execution, toolName: 'a', call, confidence: 0 });
  assert.deepEqual(response, { status: 'draft_only', draft: 'x' });
  assert.equal(decision.fallbackType, 'draft_only');
});
