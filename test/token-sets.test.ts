import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kernel } from '../src/signals/kernel.ts';
import {
  ANSWER,
  CONTEXT,
  KernelTokenSets,
  PlainTokenSets,
  SECOND_ANSWER,
  type TokenSets,
} from '../src/signals/token-sets.ts';
import { Utf8Text } from '../src/signals/utf8-text.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';

function measure(sets: TokenSets, answer: string, context: string, second: string) {
  const text = new Utf8Text();
  sets.reset(Math.max(answer.length, context.length));
  sets.add(text.encode(answer), ANSWER);
  sets.add(text.encode(context), CONTEXT);
  sets.add(text.encode(second), SECOND_ANSWER);
  const result = {
    context: sets.similarity(CONTEXT),
    second: sets.similarity(SECOND_ANSWER),
    phrases: sets.phrases,
  };
  return result;
}

test('the kernel and the plain implementation agree on random texts', () => {
  const next = random(20260210);
  const pick = <T>(values: readonly T[]): T => values[next(values.length)] as T;
  const words = [
    'a',
    'I',
    'not',
    'sure',
    'think',
    'thinking',
    'maybe',
    'done',
    'resent',
    'definitely',
    '0',
    'Zz',
  ];
  const separators = [
    ' ',
    ' ',
    ' ',
    '  ',
    '-',
    '_',
    '\n',
    '.',
    'é',
    '🙂',
    '\u00ff',
    '@',
    '[',
    '`',
    '{',
    '/',
    ':',
  ];
  const token = () =>
    next(3) === 0 ? Array.from({ length: 1 + next(40) }, () => pick([...'abcXYZ019'])).join('') : pick(words);
  const text = (size: number) =>
    Array.from({ length: next(size) }, () => token() + pick(separators)).join('');
  const kernel = new KernelTokenSets(new Kernel());
  const plain = new PlainTokenSets();
  for (let i = 0; i < sized(1000, 3000); i += 1) {
    // Answers come in their normal form.
    const answer = text(30).toLowerCase().replaceAll(/\s+/g, ' ');
    const texts = [answer, text(60), text(30)] as const;
    assert.deepEqual(measure(kernel, ...texts), measure(plain, ...texts), JSON.stringify(texts));
  }
});

test('a table that has to grow many times loses nothing', () => {
  const kernel = new KernelTokenSets(new Kernel());
  const plain = new PlainTokenSets();
  const numbered = (from: number, to: number, before: string) =>
    Array.from({ length: to - from }, (_, i) => before + (from + i)).join(' ');
  const prefixes = ['x', 'a long token of its own'.replaceAll(' ', ''), '', 'sixteenbytes'];
  for (const before of prefixes.slice(0, sized(2, prefixes.length))) {
    const texts = [numbered(0, 50_000, before), numbered(25_000, 90_000, before), ''] as const;
    const result = measure(kernel, ...texts);
    assert.deepEqual(result, measure(plain, ...texts), before);
    assert.ok(Math.abs(result.context - 25 / 90) < 1e-4);
  }
});

test('tokens that differ in one place are different, whatever their length', () => {
  const kernel = new KernelTokenSets(new Kernel());
  for (let length = 1; length <= 70; length += 1) {
    const token = 'q'.repeat(length);
    for (let place = 0; place < length; place += 1) {
      const other = `${token.slice(0, place)}z${token.slice(place + 1)}`;
      assert.deepEqual(measure(kernel, token, other, token.toUpperCase()), {
        context: 0,
        second: 1,
        phrases: 0,
      });
    }
    assert.equal(measure(kernel, token, `${token}q`, '').context, 0);
  }
});
