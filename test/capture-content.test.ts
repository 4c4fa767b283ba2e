import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObservatoryError } from '../src/base/errors.ts';
import { attachInteraction } from '../src/interaction/index.ts';
import { ObservatorySpanProcessor, resolveCaptureContent } from '../src/processor/index.ts';
import { captureDiag, chat, observe } from './support/observed.ts';

const VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

test('understands both vocabularies, in any case', () => {
  const words: [string, boolean][] = [
    ['true', true],
    ['TRUE', true],
    ['false', false],
    ['SPAN_ONLY', true],
    ['span_and_event', true],
    ['EVENT_ONLY', false],
    ['NO_CONTENT', false],
  ];
  for (const [word, expected] of words) {
    assert.equal(resolveCaptureContent(undefined, { [VARIABLE]: word }), expected, word);
    assert.equal(
      resolveCaptureContent(!expected, { [VARIABLE]: word }),
      expected,
      `${word} beats the option`,
    );
  }
});

test('without the variable the option decides, and without both content stays private', () => {
  assert.equal(resolveCaptureContent(undefined, {}), false);
  assert.equal(resolveCaptureContent(true, {}), true);
  assert.equal(resolveCaptureContent(true, { [VARIABLE]: '' }), true);
});

test('warns about another value and ignores it', () => {
  const lines = captureDiag(() => {
    assert.equal(resolveCaptureContent(undefined, { [VARIABLE]: 'yes' }), false);
  });
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /'yes'/);
});

test('attached text becomes content attributes only when capture is on', () => {
  for (const captureContent of [true, false]) {
    const { tracer, span } = observe({ options: { captureContent } });
    chat(tracer, {}, (s) => attachInteraction(s, { prompt: 'q', answer: 'a' }));
    const { attributes } = span();
    const expected = captureContent ? '[{"role":"user","parts":[{"type":"text","content":"q"}]}]' : undefined;
    assert.equal(attributes['gen_ai.input.messages'], expected);
    assert.equal(attributes['gen_ai.output.messages'] === undefined, !captureContent);
  }
});

test('content attributes of the instrumentation itself are not overwritten', () => {
  const { tracer, span } = observe({ options: { captureContent: true } });
  chat(tracer, { 'gen_ai.input.messages': '[]' }, (s) => attachInteraction(s, { prompt: 'q' }));
  assert.equal(span().attributes['gen_ai.input.messages'], '[]');
});

test('asked to capture and to redact, it redacts and says so', () => {
  let attributes: object = {};
  const lines = captureDiag(() => {
    const { tracer, span } = observe({ options: { captureContent: true, redactContent: true } });
    chat(tracer, {}, (s) => attachInteraction(s, { prompt: 'secret', answer: 'secret' }));
    attributes = span().attributes;
  });
  assert.ok(!JSON.stringify(attributes).includes('secret'));
  assert.match(lines.join(), /redactContent/);
});

test('options that cannot be used are refused by name', () => {
  for (const options of [{ captureContent: 'yes' }, { redactContent: 1 }, { signals: 'x' }, { prices: 5 }]) {
    assert.throws(
      () => new ObservatorySpanProcessor(options as never),
      (error) => ObservatoryError.isInstance(error) && error.code === 'INVALID_OPTION',
      JSON.stringify(options),
    );
  }
});
