import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { context, trace } from '@opentelemetry/api';
import { selfConsistency } from '../src/execution/index.ts';
import { instrument, ObservatorySpanProcessor } from '../src/index.ts';
import { Telemetry } from './support/telemetry.ts';

let telemetry: Telemetry;
beforeEach(() => {
  telemetry = new Telemetry(new ObservatorySpanProcessor());
});
afterEach(() => telemetry.shutdown());

const spanNamed = (name: string) => telemetry.spans.find((span) => span.name === name);

/** Answers in turn. */
function model(...answers: string[]) {
  return async (prompt: string) => `${prompt}: ${answers.shift()}`;
}

test('shadow: the caller has the first answer at once, and the score stands on the span of the second', async () => {
  const ask = selfConsistency({ name: 'ask', call: model('10 boxes', '15 boxes') });
  assert.equal(await ask('q'), 'q: 10 boxes');
  await ask.shutdown();
  const { attributes } = spanNamed('self_consistency ask') ?? {};
  assert.equal(attributes?.['observatory.self_consistency_score'], 2 / 4);
  assert.equal(attributes?.['observatory.numeric_variance_score'], 0.5);
  assert.equal(attributes?.['observatory.is_shadow'], true);
});

test('inline: the span around the call has the score, and it counts in the risk of a model call', async () => {
  const interceptor = instrument({ serviceName: 's' });
  const plain = instrument({ serviceName: 's', signals: { enableSelfConsistency: false } });
  const ask = (through: typeof plain) => {
    const call = selfConsistency({ call: model('yes', 'no'), mode: 'inline' });
    return through.recordModelCall({ model: 'gpt-4o', prompt: 'q', call: ({ prompt }) => call(prompt) });
  };
  const { result, record } = await ask(interceptor);
  assert.equal(result, 'q: yes');
  assert.equal(record.fields.selfConsistencyScore, 1 / 3);
  const other = await ask(plain);
  assert.equal(other.record.fields.selfConsistencyScore, 1 / 3);
  assert.ok(
    (record.fields.hallucinationRiskScore ?? 0) > (other.record.fields.hallucinationRiskScore ?? 1),
    'the disagreement raises the risk',
  );
});

test('inline: a span that is no model call gets the score alone', async () => {
  const ask = selfConsistency({ call: model('yes', 'yes'), mode: 'inline' });
  const request = trace.getTracer('t').startSpan('request');
  await context.with(trace.setSpan(context.active(), request), () => ask('q'));
  request.end();
  assert.deepEqual(spanNamed('request')?.attributes, { 'observatory.self_consistency_score': 1 });
});

test('inline: a second answer that fails or hangs costs the score, not the answer', async () => {
  const failing = selfConsistency({
    call: async () => 'first',
    second: () => {
      throw new Error('no');
    },
    mode: 'inline',
  });
  assert.equal(await failing(), 'first');
  const hanging = selfConsistency({
    call: async () => 'first',
    second: () => new Promise(() => {}),
    mode: 'inline',
    timeoutMs: 1,
  });
  assert.equal(await hanging(), 'first');
  assert.equal(failing.stats.outcomes.candidate_failed, 1);
  assert.equal(hanging.stats.outcomes.timed_out, 1);
});

test('inline: the error of the first answer comes through without a wait for the second', async () => {
  const failure = new Error('mine');
  const ask = selfConsistency({
    call: () => Promise.reject(failure),
    second: () => new Promise(() => {}),
    mode: 'inline',
  });
  await assert.rejects(ask(), (error) => error === failure);
  await ask.shutdown(1);
});

test('only a share of the calls is asked twice, within the budget', async () => {
  let asked = 0;
  const call = async () => {
    asked += 1;
    return `answer ${asked}`;
  };
  const none = selfConsistency({ call, mode: 'inline', sample: 0 });
  assert.equal(await none(), 'answer 1');
  const poor = selfConsistency({ call, mode: 'inline', assumedCostUsd: 0.6, budgetUsd: 1 });
  await poor();
  await poor();
  assert.deepEqual([poor.stats.started, poor.stats.skipped.budget, asked], [1, 1, 4]);
});

test('an unknown mode is named', () => {
  assert.throws(() => selfConsistency({ call: () => 1, mode: 'later' as never }), {
    code: 'INVALID_OPTION',
    message: /`mode` to be shadow or inline, got later/,
  });
});
