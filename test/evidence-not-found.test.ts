/** Measures, scores and usual amounts that long results do not have, beside honest twins. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { scoreEvidence } from '../src/evidence/index.ts';
import { call } from './support/findings.ts';

/** A long result with numbers of many kinds. */
const PLACES = call(
  'find_places',
  { near: 'Jinmao' },
  Array.from({ length: 30 }, (_, i) => ({
    id: 4000 + 13 * i,
    house: i + 1,
    lat: 31.2 + i / 97,
    minutes: 8.5,
  })),
);
const REPORT = call(
  'write_file',
  { path: '/tmp/report.md', content: `# Report\n${'The libraries differ. '.repeat(30)}\nBundle: ~310-420KB` },
  'ok',
);

const CASES: readonly (readonly [name: string, invented: string, found: string])[] = [
  ['a duration', '- **Taxi**: 25 minutes', '- **Walk**: 8.5 minutes'],
  ['a span of durations', 'The metro takes 12-17 minutes.', 'The walk takes 510 seconds, about 8-9 minutes.'],
  ['a span of shares', 'In the rain it takes +20-30% longer.', 'There are 30 places.'],
  [
    'a size that only the own report has',
    'The bundle grows by ~310-420KB.',
    'The report is in /tmp/report.md.',
  ],
  [
    'the score in a heading',
    '**Safety (Excellent - 9/10)**\n- Near house 12',
    '**Safety (Excellent)**\n- Near house 12',
  ],
  [
    'a usual price',
    'Parking there is expensive (typically ¥35-45/hour).',
    'Parking there is usually expensive.',
  ],
];

for (const [name, invented, found] of CASES)
  test(`not found: ${name}`, () => {
    const levelOf = (answer: string) =>
      scoreEvidence({ prompt: 'What is near?', answer, steps: [PLACES, REPORT] })?.level ?? 'low';
    assert.equal(levelOf(invented), 'medium', invented);
    assert.equal(levelOf(found), 'low', found);
  });
