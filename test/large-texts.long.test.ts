import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Span } from '@opentelemetry/api';
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { attachInteraction } from '../src/interaction/index.ts';
import { DeferredEnrichment, Enricher, enrich, ObservatorySpanProcessor } from '../src/processor/index.ts';
import {
  answerHash,
  computeSignals,
  identitySteps,
  normalizePrompt,
  resolveSignalConfig,
} from '../src/signals/index.ts';
import { assertFree } from './support/loop-hold.ts';
import { CHAT_ATTRIBUTES } from './support/observed.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');
const config = resolveSignalConfig({ enableEvidence: false });

const PARTS = {
  English: 'The invoice 92311 of 2026-02-10 12:00:00 for 123e4567-e89b-42d3-a456-426614174000 is   PAID. \n',
  JSON: '{"id":"123e4567-e89b-42d3-a456-426614174000","n":[1.5,2],"at":"2026-02-10T12:00:00Z"},',
  Greek: 'ΟΔΥΣΣΕΥΣ και ΣΟΦΟΣ, 12.5 € yes so ΑΣ\u0301 Σ.Σ ',
  Cyrillic: 'Счёт 92311 от 2026-02-10 ОПЛАЧЕН полностью. ',
  'emoji and Chinese': '🙂發票 92311 已付款🙂🙂 ',
};

for (const [name, part] of Object.entries(PARTS)) {
  test(`a large text has the hashes of the whole: ${name}`, () => {
    const text = part.repeat(Math.ceil(2_400_000 / part.length));
    const { prompt_hash, normalized_prompt_hash, prompt_size_chars, answer_hash } = computeSignals(
      { prompt: text, answer: text },
      config,
    );
    assert.equal(prompt_hash, sha256(text));
    assert.equal(normalized_prompt_hash, sha256(normalizePrompt(text)));
    assert.equal(prompt_size_chars, [...text].length);
    assert.equal(answer_hash, answerHash(text));
  });
}

for (const [name, part] of Object.entries({ ...PARTS, digits: '1234567890', 'white space': ' \n' })) {
  test(`a long text has the same hashes where it is read in steps: ${name}`, () => {
    const text = part.repeat(Math.ceil(900_000 / part.length));
    const steps = identitySteps(text, true);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    const { prompt_hash, normalized_prompt_hash, prompt_size_chars } = computeSignals(
      { prompt: text },
      config,
    );
    assert.deepEqual(step.value, {
      hash: prompt_hash,
      normalizedHash: normalized_prompt_hash,
      codePoints: prompt_size_chars,
    });
  });
}

const messages = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

/** Tells a span a text, in one of the ways in which spans come by it. */
const CALLS: Readonly<Record<string, (text: string) => (span: Span) => void>> = {
  'attached to a span': (text) => {
    const interaction = { prompt: text, answer: `${text}!`, retrievedContext: `${text}?` };
    return (span) => attachInteraction(span, interaction);
  },
  'in the attributes of another instrumentation': (text) => {
    const attributes = {
      'gen_ai.input.messages': messages('user', text),
      'gen_ai.output.messages': messages('assistant', text),
    };
    return (span) => void span.setAttributes(attributes);
  },
};

for (const [place, prepare] of Object.entries(CALLS)) {
  for (const name of ['English', 'JSON', 'Cyrillic', 'emoji and Chinese'] as const) {
    for (const chars of [900_000, 12_000_000]) {
      test(`${chars} characters ${place} do not hold the event loop: ${name}`, async () => {
        const tell = prepare(PARTS[name].repeat(Math.ceil(chars / PARTS[name].length)));
        const ended: ReadableSpan[] = [];
        const next = { onStart() {}, onEnd: (span: ReadableSpan) => void ended.push(span) };
        const sink = { ...next, async forceFlush() {}, async shutdown() {} };
        const enricher = new Enricher();
        const deferred = new DeferredEnrichment(enricher, [sink]);
        const processor = new ObservatorySpanProcessor();
        const enriching = { ours: [deferred], 'of another SDK': [processor, sink] };
        for (const [whose, spanProcessors] of Object.entries(enriching)) {
          const tracer = new BasicTracerProvider({ spanProcessors }).getTracer('test');
          await assertFree(`enriching spans ${whose}`, async () => {
            const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
            tell(span);
            span.end();
            await deferred.settle();
          });
        }
        assert.ok(ended.length > 1);
        assert.equal(enricher.stats.enriched + processor.stats.enriched, ended.length);
        assert.equal(enricher.stats.faults + processor.stats.faults, 0);
      });
    }
  }
}

test('a large text without a place to cut keeps one hash', () => {
  const hashOf = (text: string) => computeSignals({ prompt: text }, config).normalized_prompt_hash;
  const digits = '1234567890'.repeat(200_000);
  assert.equal(hashOf(digits), hashOf(`${digits}`.slice()));
  assert.notEqual(hashOf(digits), hashOf(`${digits}x`));
});

test('scores of large texts read a sample of all of the text', () => {
  const left = 'alpha beta gamma delta. '.repeat(60_000);
  const right = 'one two three four. '.repeat(60_000);
  const score = (answer: string, retrievedContext: string) =>
    enrich({ answer, retrievedContext }, { config }).grounding_score;
  // The blocks of texts of different lengths cut other words.
  assert.ok((score(left + right, `${left + right} `) as number) > 0.7);
  assert.equal(score(left, right), 0);
  const half = score(left, left + right) as number;
  assert.ok(half > 0.4 && half < 0.6, `${half}`);
});
