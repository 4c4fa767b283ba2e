/** Answers of agents with a shell: attempts that failed, values as tools print them. */
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

test('a quoted subject with "all" in it claims nothing of all calls', () =>
  assert.deepEqual(
    kinds('What is the oldest mail?', 'OldestUnread: So many choices, all on one site', [
      bash('mail schema messages', '{"error": {"code": 400, "message": "not found"}}'),
      bash('run stats.py', 'UnreadCount: 20\nOldestUnread: So many choices, all on one site'),
    ]),
    [],
  ));

const ROWS = Array.from({ length: 40 }, (_, i) => `${1000 + 7 * i} data/${i}.csv`).join('\n');

const VALUES: readonly (readonly [name: string, result: string, honest: string, invented: string])[] = [
  [
    'of a period that the prompt has',
    ROWS,
    'They changed in the last 30 days.',
    'They changed in the last 45 days.',
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
    'Bob paid $431.00.',
  ],
];
for (const [name, result, honest, invented] of VALUES)
  test(`a figure ${name} is found, another one is not`, () => {
    const steps = [bash('cat report', result)];
    const levelOf = (answer: string) =>
      scoreEvidence({ prompt: 'What changed in the last 30 days?', answer, steps })?.level ?? 'low';
    assert.equal(levelOf(honest), 'low', honest);
    assert.equal(levelOf(invented), 'medium', invented);
  });
