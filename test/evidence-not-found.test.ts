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

/** Rows as a server in Python prints them, and a result that ends before its end. */
const TENURE = call(
  'execute_sql',
  { query: 'SELECT …' },
  `[${Array.from({ length: 30 }, (_, i) => `{'month': ${i + 1}, 'employees': ${24_118 + 37 * i}, 'staff': ${19_310 + 31 * i}, 'minutes': 12}`).join(', ')}, {'active': 240124, 'retention_rate': 80.02, 'phone': '+687 27.25.92', 'avg_tenure_days': Decimal('13047.09'), 'since': datetime.date(1986, 3, 14)}]`,
);
const BACKUP = call(
  'stat',
  { path: 'scores_20251016.parquet' },
  'size: 10576019\nduration_minutes: 4\nisFile: true',
);
const cutAt = (result: string) =>
  call('list_objects', {}, `${result}\n- 2026-05-11 AB1234 size 0.09 km ... [truncated]`);

const READ: readonly (readonly [
  name: string,
  wrong: string | undefined,
  right: string,
  ...steps: (typeof TENURE)[],
])[] = [
  [
    'days told as years, of a key with its unit',
    'They stay 41.2 years.',
    'They stay 13,047 days (35.7 years).',
    TENURE,
  ],
  [
    'the share of a count in a total',
    '- March: 19,372 of all, 9.61%',
    '- March: 19,372 of all, 8.07%',
    TENURE,
  ],
  ['a decade', undefined, 'Most came in the mid-1980s.', TENURE],
  ['both ends of a rough span', undefined, 'Months have ~24,000-25,000 employees.', TENURE],
  ['a day as Python prints it', undefined, 'The first came on 14 March.', TENURE],
  ['a size without quotes around its key', 'It has 23.4 MB.', 'It has about 10.1 MB.', TENURE, BACKUP],
  ['the day in the name of a file', undefined, 'The scores are of 2025-10-16.', TENURE, BACKUP],
  ['groups of a phone number', undefined, 'Their phone is +687 27.25.92.', TENURE],
  [
    'what a cut result may have had',
    undefined,
    'XY9876 came within 57,645,144.62 km.',
    TENURE,
    cutAt('Objects'),
  ],
];

for (const [name, wrong, right, ...steps] of READ)
  test(`read in results: ${name}`, () => {
    const kindsOf = (answer: string) =>
      scoreEvidence({ prompt: 'What is there?', answer, steps })?.findings.map(({ kind }) => kind) ?? [];
    assert.deepEqual(kindsOf(right), []);
    if (wrong !== undefined) assert.deepEqual(kindsOf(wrong), ['unsupported_number']);
  });
