import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { attachInteraction, readInteractions, takeInteraction } from '../src/interaction/index.ts';
import { observe } from './support/observed.ts';

readInteractions();

const recording = () => observe().tracer.startSpan('span');

test('parts complete and replace one another, undefined replaces nothing', () => {
  const span = recording();
  attachInteraction(span, { prompt: 'p', usage: { inputTokens: 3 } });
  attachInteraction(span, { answer: 'a', prompt: undefined, usage: { outputTokens: 2 } });
  attachInteraction(span, { answer: 'b' });
  assert.deepEqual(takeInteraction(span), {
    prompt: 'p',
    answer: 'b',
    usage: { inputTokens: 3, outputTokens: 2 },
  });
});

test('what was taken is gone', () => {
  const span = recording();
  attachInteraction(span, { prompt: 'p' });
  takeInteraction(span);
  assert.equal(takeInteraction(span), undefined);
});

test('another copy of the package finds what this one attached', async () => {
  const span = recording();
  attachInteraction(span, { prompt: 'p' });
  // A query makes Node load the module a second time, as a second installed copy would be.
  const url = new URL('../src/interaction/attached.js?copy', import.meta.url).href;
  const copy = (await import(url)) as typeof import('../src/interaction/index.ts');
  assert.notEqual(copy.takeInteraction, takeInteraction);
  assert.deepEqual(copy.takeInteraction(span), { prompt: 'p' });
});

test('a span that has ended keeps nothing', () => {
  const span = recording();
  span.end();
  attachInteraction(span, { prompt: 'p' });
  assert.equal(takeInteraction(span), undefined);
});

test('until somebody reads interactions, none are kept', async () => {
  // A program of its own: in this one they are read.
  const source = `
    import { attachInteraction, hasInteraction, readInteractions } from ${JSON.stringify(new URL('../src/interaction/index.js', import.meta.url).href)};
    const span = { isRecording: () => true };
    attachInteraction(span, { prompt: 'p' });
    const before = hasInteraction(span);
    readInteractions();
    attachInteraction(span, { prompt: 'p' });
    console.log(before, hasInteraction(span));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source]);
  assert.equal(stdout, 'false true\n');
});
