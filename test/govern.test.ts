import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { govern, instrument, ObservatorySpanProcessor } from '../src/index.ts';
import {
  getGovernance,
  governanceFromBaggage,
  governanceToBaggage,
  setGovernance,
} from '../src/processor/index.ts';
import { CHAT_ATTRIBUTES } from './support/observed.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';
import { spanToRow } from './support/span-row.ts';
import { Telemetry } from './support/telemetry.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

test('fields hold for everything inside, across await, and for nothing outside', async () => {
  const telemetry = new Telemetry(new ObservatorySpanProcessor());
  try {
    const chat = () => trace.getTracer('t').startSpan('chat', { attributes: CHAT_ATTRIBUTES }).end();
    const result = await govern({ riskTier: 'high', sessionId: 's1' }, async () => {
      await turn();
      chat();
      govern({ riskTier: 'low' }, chat);
      return 7;
    });
    chat();
    assert.equal(result, 7);
    assert.deepEqual(
      telemetry.spans.map(({ attributes }) => [
        attributes['observatory.risk_tier'],
        attributes['observatory.session_id'],
      ]),
      [
        ['high', 's1'],
        ['low', 's1'],
        [undefined, undefined],
      ],
    );
    const thrown = new Error('through');
    assert.throws(
      () => govern({}, () => assert.fail(thrown)),
      (error) => error === thrown,
    );
  } finally {
    await telemetry.shutdown();
  }
});

const CALLS = sized(1_000, 10_000);
test('thousands of calls at once keep their own fields', async () => {
  const ended: ReadableSpan[] = [];
  const collecting: SpanProcessor = {
    onStart: () => {},
    onEnd: (span) => ended.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const telemetry = new Telemetry(new ObservatorySpanProcessor(), collecting);
  try {
    const below = random(7);
    const pauses = Array.from({ length: CALLS }, () => below(4));
    await Promise.all(
      pauses.map((pause, i) =>
        govern({ sessionId: `s${i}`, promptTemplateId: `t${i}` }, async () => {
          for (let n = 0; n < pause; n += 1) await turn();
          await govern({ riskTier: `r${i}` }, async () => {
            await turn();
            const attributes = { ...CHAT_ATTRIBUTES, call: i };
            trace.getTracer('t').startSpan('chat', { attributes }).end();
          });
        }),
      ),
    );
    assert.equal(new Set(ended.map(({ attributes }) => attributes.call)).size, CALLS);
    for (const { attributes } of ended) {
      const i = attributes.call;
      const fields = ['session_id', 'prompt_template_id', 'risk_tier'].map(
        (column) => attributes[`observatory.${column}`],
      );
      assert.deepEqual(fields, [`s${i}`, `t${i}`, `r${i}`]);
    }
  } finally {
    await telemetry.shutdown();
  }
});

test('an interceptor takes the fields around it, and its own options win', async () => {
  await using bench = new TelemetryBench();
  const interceptor = instrument({ serviceName: 's' });
  const shadow = {
    riskTier: 'high',
    promptTemplateId: 't1',
    sessionId: 's1',
    isShadow: true,
    shadowParentTraceId: '11111111-1111-4111-8111-111111111111',
    retries: 2,
  };
  await govern(shadow, () =>
    interceptor.interceptModelCall({ model: 'm', prompt: 'p', response: 'r', promptTemplateId: 't2' }),
  );
  const row = spanToRow(bench.span('chat m') as never);
  assert.deepEqual(
    {
      riskTier: row.risk_tier,
      promptTemplateId: row.prompt_template_id,
      sessionId: row.session_id,
      isShadow: row.is_shadow,
      shadowParentTraceId: row.shadow_parent_trace_id,
      retries: row.retries,
    },
    { ...shadow, promptTemplateId: 't2' },
  );
});

test('the type and the reason of a fallback are set together, even if only one is given', async () => {
  const interceptor = instrument({ serviceName: 's' });
  const call = { model: 'm', prompt: 'p', response: 'r' };
  for (const [told, expected] of [
    [{}, [false, undefined, undefined]],
    [{ fallbackUsed: false }, [false, undefined, undefined]],
    [{ fallbackUsed: true }, [true, 'unspecified', 'unspecified']],
    [{ fallbackType: 'template' }, [true, 'template', 'unspecified']],
    [{ fallbackReason: 'tool_error' }, [true, 'unspecified', 'tool_error']],
    [{ fallbackType: 'template', fallbackReason: 'tool_error' }, [true, 'template', 'tool_error']],
  ] as const) {
    const { fields } = (await interceptor.recordModelCall({ ...call, ...told })).record;
    assert.deepEqual([fields.fallbackUsed, fields.fallbackType, fields.fallbackReason], expected);
  }
  const outer = setGovernance(ROOT_CONTEXT, { fallbackType: 'template', fallbackReason: 'tool_error' });
  assert.deepEqual(getGovernance(setGovernance(outer, { retries: 1 })), {
    fallbackType: 'template',
    fallbackReason: 'tool_error',
    retries: 1,
  });
  assert.deepEqual(getGovernance(setGovernance(outer, { fallbackType: 'draft_only' })), {
    fallbackType: 'draft_only',
    fallbackReason: 'unspecified',
  });
});

test('baggage carries what describes a request, and nothing about the outcome of a call', () => {
  const fields = {
    riskTier: 'high',
    promptTemplateId: 'risk v3; a=b, "ä"',
    confidence: 0.25,
    sessionId: 's1',
    conversationId: 'c1',
    isShadow: true,
    shadowParentTraceId: '11111111-1111-4111-8111-111111111111',
  };
  const told = {
    ...fields,
    gateBlocked: true,
    fallbackUsed: true,
    fallbackType: 'x',
    fallbackReason: 'y',
    retries: 3,
  };
  const sent = governanceToBaggage(setGovernance(ROOT_CONTEXT, told));
  assert.equal(propagation.getBaggage(sent)?.getAllEntries().length, 7);
  const arrived = propagation.setBaggage(ROOT_CONTEXT, propagation.getBaggage(sent) as never);
  const taken = governanceFromBaggage(arrived, true);
  assert.deepEqual(getGovernance(taken), fields);
  assert.equal(propagation.getBaggage(taken)?.getAllEntries().length, 0, 'nothing is left to be sent on');

  const refused = governanceFromBaggage(arrived, false);
  assert.equal(getGovernance(refused), undefined);
  assert.equal(propagation.getBaggage(refused)?.getAllEntries().length, 0);
});

test('baggage of strangers is taken only as far as it makes sense, and keeps its other entries', () => {
  const entries = {
    tenant: 'acme',
    'observatory.confidence': '7',
    'observatory.is_shadow': 'perhaps',
    'observatory.session_id': 'x'.repeat(257),
    'observatory.gate_blocked': 'true',
    'observatory.risk_tier': 'high',
  };
  const baggage = propagation.createBaggage(
    Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, { value }])),
  );
  const taken = governanceFromBaggage(propagation.setBaggage(context.active(), baggage), true);
  assert.deepEqual(getGovernance(taken), { riskTier: 'high' });
  assert.deepEqual(
    propagation
      .getBaggage(taken)
      ?.getAllEntries()
      .map(([key]) => key),
    ['tenant', 'observatory.gate_blocked'],
  );
});
