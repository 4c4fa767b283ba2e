import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachInteraction } from '../src/interaction/index.ts';
import { chat, chatContent, observe } from './support/observed.ts';
import { spanToRow } from './support/span-row.ts';

const EVENT = 'gen_ai.evaluation.result';
const SCORED = chatContent('Was it sent?', 'Maybe it was sent: 12 of 14.');

function scoredSpan(options: Parameters<typeof observe>[0] = {}) {
  const { tracer, span } = observe({
    ...options,
    options: { ...options.options },
  });
  chat(tracer, SCORED, (s) =>
    attachInteraction(s, {
      retrievedContext: '12 of 14 were sent',
      secondaryAnswer: 'It was sent: 13 of 14.',
      toolResultSummary: 'the mail failed',
    }),
  );
  return span();
}

for (const exporter of ['before', 'after'] as const) {
  test(`each score is an event of the convention, also for an exporter registered ${exporter} the processor`, () => {
    const { events, attributes } = scoredSpan({ exporter });
    const told = new Map(events.map((event) => [event.attributes?.['gen_ai.evaluation.name'], event]));
    assert.ok(events.every((event) => event.name === EVENT));
    const columns = {
      hallucination_risk: 'hallucination_risk_score',
      evidence_risk: 'evidence_risk_score',
      verifier: 'verifier_score',
      grounding: 'grounding_score',
      self_consistency: 'self_consistency_score',
      numeric_variance: 'numeric_variance_score',
    };
    for (const [name, column] of Object.entries(columns)) {
      const value = told.get(name)?.attributes?.['gen_ai.evaluation.score.value'];
      assert.equal(typeof value, 'number', name);
      assert.equal(value, attributes[`observatory.${column}`], name);
    }
    assert.deepEqual(
      { ...told.get('tool_claim_mismatch')?.attributes },
      {
        'gen_ai.evaluation.name': 'tool_claim_mismatch',
        'gen_ai.evaluation.score.value': 1,
        'gen_ai.evaluation.score.label': 'mismatch',
      },
    );
    const risk = told.get('hallucination_risk')?.attributes;
    assert.equal(risk?.['gen_ai.evaluation.score.label'], attributes['observatory.hallucination_risk_level']);
    const verifier = told.get('verifier')?.attributes;
    assert.equal(verifier?.['gen_ai.evaluation.explanation'], attributes['observatory.verifier_reason']);
    assert.equal(events.length, 7);
  });
}

test('a call without scores has no such events, and none has them where they are switched off', () => {
  const { tracer, span } = observe();
  chat(tracer, { 'gen_ai.usage.input_tokens': 10 });
  assert.deepEqual(span().events, []);
  assert.deepEqual(scoredSpan({ options: { evaluationEvents: false } }).events, []);
  assert.throws(() => observe({ options: { evaluationEvents: 'yes' as never } }), { code: 'INVALID_OPTION' });
});

test('events carry no content, and redaction leaves them whole', () => {
  const { events } = scoredSpan({ options: { redactContent: true } });
  assert.equal(events.length, 7);
  assert.ok(events.every((event) => event.attributes?.['gen_ai.evaluation.name'] !== undefined));
  assert.ok(!JSON.stringify(events).includes('was sent'));
});

test('a row does not repeat what its columns tell, and keeps the evaluations of others', () => {
  const { tracer, span } = observe();
  chat(tracer, SCORED, (s) => {
    s.addEvent(EVENT, { 'gen_ai.evaluation.name': 'relevance', 'gen_ai.evaluation.score.value': 0.5 });
    s.addEvent(EVENT, { 'gen_ai.evaluation.name': 'verifier', 'gen_ai.evaluation.score.value': 0.123 });
  });
  assert.equal(span().events.length, 5);
  const row = spanToRow(span());
  assert.deepEqual(
    row.events.map((event) => (event as { attributes: Record<string, unknown> }).attributes),
    [
      { 'gen_ai.evaluation.name': 'relevance', 'gen_ai.evaluation.score.value': 0.5 },
      { 'gen_ai.evaluation.name': 'verifier', 'gen_ai.evaluation.score.value': 0.123 },
    ],
  );
  assert.equal(typeof row.verifier_score, 'number');
});

test('an evaluation by another tool fills the column that is empty, and stays an event', () => {
  const { tracer, span } = observe();
  chat(tracer, { 'gen_ai.usage.input_tokens': 10 }, (s) => {
    const told = (name: string, value: unknown) =>
      s.addEvent(EVENT, { 'gen_ai.evaluation.name': name, 'gen_ai.evaluation.score.value': value as number });
    told('Hallucination', 7);
    told('Hallucination', 0.8);
    told('Hallucination', 0.1);
    told('faithfulness_score', 0.25);
    told('toxicity', 0.5);
  });
  const row = spanToRow(span());
  assert.equal(row.hallucination_risk_score, 0.8);
  assert.equal(row.grounding_score, 0.25);
  assert.equal(row.events.length, 5);
  const own = observe();
  chat(own.tracer, SCORED, (s) =>
    s.addEvent(EVENT, { 'gen_ai.evaluation.name': 'hallucination', 'gen_ai.evaluation.score.value': 0.99 }),
  );
  assert.notEqual(spanToRow(own.span()).hallucination_risk_score, 0.99);
});

test('an SDK without onEnding gets the fields and no events, since the span has ended by then', () => {
  const { tracer, span, processor } = observe({
    wrap: (inner) => ({
      onStart: (s, c) => inner.onStart(s, c),
      onEnd: (s) => inner.onEnd(s),
      forceFlush: () => inner.forceFlush(),
      shutdown: () => inner.shutdown(),
    }),
  });
  chat(tracer, SCORED);
  assert.equal(typeof span().attributes['observatory.hallucination_risk_score'], 'number');
  assert.deepEqual(span().events, []);
  assert.equal(processor.stats.faults, 0);
});
