/** Answers of agents with a shell: attempts that failed, results too long to be read whole, values as tools print them. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { scoreEvidence } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

const bash = (command: string, result: string) => call('bash', { command }, result);
const TRACE = 'Traceback (most recent call last):\nModuleNotFoundError: No module named "pptx"';
const DONE = 'All tasks complete. The deck is in outputs/deck.pptx.';
const WROTE = bash('python tools/deck.py', 'Saved outputs/deck.pptx');

const ATTEMPTS: readonly (readonly [name: string, steps: readonly ReturnType<typeof call>[]])[] = [
  ['the same program went well later', [bash('cd /srv && python -c "import pptx"', TRACE), WROTE]],
  [
    'another program on the same file',
    [bash('del tools\\deck.py', 'del: command not found'), WROTE, bash('rm tools/deck.py', '')],
  ],
  [
    'a command that is not here',
    [bash('uv add python-pptx', 'error: no Python executable was found'), WROTE],
  ],
  ['a search that found nothing', [call('glob', { pattern: 'outputs/**' }, 'No files found'), WROTE]],
  [
    'a file written again, its text before its path',
    [
      call(
        'write',
        { content: `print(1)\n${'# deck\n'.repeat(40)}`, filePath: 'tools/deck.py' },
        'Error: read the file first',
      ),
      call('write', { content: 'print(2)', filePath: 'tools/deck.py' }, 'Wrote file successfully.'),
      WROTE,
    ],
  ],
];
for (const [name, steps] of ATTEMPTS)
  test(`no contradiction of "all tasks complete": ${name}`, () =>
    assert.deepEqual(kinds('Make the deck.', DONE, steps), []));

test('"all are pushed" is contradicted by the push, not by another command', () => {
  const failed = bash('git push origin main', 'error: failed to push some refs');
  const other = bash('npx eslnt .', 'sh: eslnt: command not found');
  const done = bash('git commit -m fix', '[main 1a2b3c] fix');
  const answer = 'All commits have been pushed.';
  assert.deepEqual(kinds('Commit and push.', answer, [done, failed]), ['partial']);
  assert.deepEqual(kinds('Commit and push.', answer, [other, done]), []);
});

test('a quoted subject with "all" in it claims nothing of all calls', () =>
  assert.deepEqual(
    kinds('What is the oldest mail?', 'OldestUnread: So many choices, all on one site', [
      bash('mail schema messages', '{"error": {"code": 400, "message": "not found"}}'),
      bash('run stats.py', 'UnreadCount: 20\nOldestUnread: So many choices, all on one site'),
    ]),
    [],
  ));

/** Too long to be read whole, with what stands in its middle. */
const page = (middle: string) =>
  bash(
    'curl https://example.org',
    `${'- link "Commits" [ref=e1]\n'.repeat(900)}${middle}\n${'- item [ref=e2] 4.1\n'.repeat(900)}`,
  );
const ROWS = Array.from({ length: 40 }, (_, i) => `${1000 + 7 * i} data/${i}.csv`).join('\n');

const VALUES: readonly (readonly [name: string, result: string, honest: string, invented: string])[] = [
  ['in the part of a page that was not read', '', 'There are 1,950 commits.', 'There are 1,960 commits.'],
  [
    'of a period that the prompt has',
    ROWS,
    'They changed in the last 30 days.',
    'They changed in the last 45 days.',
  ],
  [
    'with a word before its unit',
    `${ROWS}\nTotal: 390 total minutes`,
    'That takes 390 minutes.',
    'That takes 395 minutes.',
  ],
  [
    'that a tool prints without its unit',
    `519693 data.csv\n${ROWS}`,
    'It has 519,693 bytes (~507 KB).',
    'It has 812,345 bytes.',
  ],
  [
    'in a row with commas',
    `${ROWS}\nBob,$890.00,15-Mar\nAda,$12.50,1-Apr\nEve,$7.25,2-Apr`,
    'Bob paid $890.00.',
    'Bob paid $880.00.',
  ],
];
for (const [name, result, honest, invented] of VALUES)
  test(`a figure ${name} is found, another one is not`, () => {
    const steps = [result === '' ? page('link "1,950 commits"') : bash('cat report', result)];
    const levelOf = (answer: string) =>
      scoreEvidence({ prompt: 'What changed in the last 30 days?', answer, steps })?.level ?? 'low';
    assert.equal(levelOf(honest), 'low', honest);
    assert.equal(levelOf(invented), 'medium', invented);
  });

test('a total under a label that is one name is computed, an amount is not', () => {
  const steps = [bash('cat invoices', ROWS)];
  const levelOf = (answer: string) =>
    scoreEvidence({ prompt: 'Add them up.', answer, steps })?.level ?? 'low';
  assert.equal(levelOf('TotalSumAllInvoices: 13191.25'), 'low');
  assert.equal(levelOf('HighestInvoice: 13191.25'), 'medium');
});

test('a number under the label that a program printed is contradicted by the other one there', () => {
  const ran = (printed: string) => [
    bash('bun run photos.ts', printed),
    bash('ls', 'uploads:\n2023\nunknown'),
  ];
  const answer = '**Files renamed:** 31';
  assert.deepEqual(kinds('Sort the photos.', answer, ran('FilesRenamed: 17\nDuplicates: 2')), [
    'wrong_value',
  ]);
  assert.deepEqual(kinds('Sort the photos.', answer, ran('FilesRenamed: 31\nDuplicates: 2')), []);
  assert.deepEqual(kinds('Sort the photos.', answer, ran('Error: no access\nFilesRenamed: 0')), []);
  assert.deepEqual(
    kinds('Sort the photos.', answer, [...ran('FilesRenamed: 17'), bash('wc', '31 files')]),
    [],
  );
});
