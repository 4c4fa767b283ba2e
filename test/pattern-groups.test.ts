import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupPatterns } from '../src/json/schema/pattern-groups.ts';
import { compilePattern } from '../src/json/schema/patterns.ts';
import { StepBudget } from '../src/json/schema/steps.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';

const PIECES = [
  ...[
    'ab',
    'c',
    '-x',
    '@a.b',
    '\\.',
    '\\/',
    '\\$',
    '[a-c]',
    '[^a]',
    '[\\]|]',
    'a?',
    'b*',
    'c+?',
    'a{2}',
    'b{0}',
    '.',
    '\\d',
  ],
  ...['\\b', '\\u0061', '\\u{62}', '\\x63', '\\p{L}', '(?:a|b)', '(?:ab)+', '(?:c|)', '(a)', '|', '$', '^'],
];
const TEXTS = ['a', 'b', 'c', 'ab', 'aa', '-x', '@a.b', '@axb', '.', '/', '$', ']', '|', '1', ' ', 'é'];

test('of patterns that were put together, every one that matches a text is found', () => {
  const below = random(18);
  const some = (from: readonly string[], most: number) =>
    Array.from({ length: 1 + below(most) }, () => from[below(from.length)]).join('');
  let matches = 0;
  let left = 0;
  for (let round = 0; round < sized(15, 300); round += 1) {
    const patterns = Array.from(
      { length: 80 },
      () => `${below(10) < 7 ? '^' : ''}${some(PIECES, 4)}${below(10) < 6 ? '$' : ''}`,
    );
    const tests = patterns.map((pattern) => compilePattern(pattern, StepBudget.unlimited()));
    const groups = groupPatterns(patterns);
    for (let n = 0; n < 20; n += 1) {
      const text = some(TEXTS, 4);
      for (const { places, candidates } of groups) {
        const found = new Set(candidates(text, StepBudget.unlimited()));
        left += found.size;
        for (const place of places) {
          if (tests[place]?.(text, StepBudget.unlimited()) !== true) continue;
          matches += 1;
          assert.ok(found.has(place), `${patterns[place]} matches ${JSON.stringify(text)}`);
        }
      }
    }
  }
  assert.ok(matches > 500, `${matches} matches`);
  assert.ok(left < 15 * matches, `${left} of ${matches} had to be tried`);
});

test('of a thousand patterns with beginnings, ends or alternatives of their own a few are tried', () => {
  const kinds = [
    { pattern: (i: number) => `^[a-z]+@team-${i}\\.example$`, text: 'ann@team-17.example' },
    { pattern: (i: number) => `^/team-${i}/[a-z]+$`, text: '/team-17/plan' },
    { pattern: (i: number) => `^(?:plan|note)-[0-9]-(?:${i}|x${i})$`, text: 'note-3-x17' },
    { pattern: (i: number) => `^[0-9]-${i}-(?:a|b)*\\b`, text: '1-17-ab' },
  ];
  const groups = groupPatterns(
    Array.from(
      { length: 1_000 },
      (_, i) => kinds[i % kinds.length]?.pattern(Math.floor(i / kinds.length)) ?? '',
    ),
  );
  assert.equal(groups.flatMap(({ places }) => places).length, 1_000);
  for (const [kind, { text }] of kinds.entries()) {
    const found = groups.flatMap(({ candidates }) => candidates(text, new StepBudget()));
    assert.deepEqual(found, [17 * kinds.length + kind]);
  }
});
