import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

type Case = readonly [name: string, prompt: string, answer: string, steps: readonly TraceStep[]];

const NEVER_CALLED: readonly Case[] = [
  [
    'a write after a query that reads',
    'Find the stuck session and end it.',
    'Session 4471 was stuck. I terminated it.',
    [call('run_sql', { query: 'SELECT pid FROM sessions' }, [{ pid: 4471 }])],
  ],
  [
    'an act for the user in Chinese',
    '有靠窗的就订一张。',
    '有靠窗的座位，我已经帮您订好了。',
    [call('search_seats', {}, [{ seat: '3A' }])],
  ],

  [
    'data of an account that nobody read',
    '¿Cuánta agua gasté ayer?',
    'Según los datos de su contador, gastó 214 litros.',
    [],
  ],
  ['an irregular participle', 'Pide tres pizzas.', 'El pedido de las tres pizzas está hecho.', []],
];

const EMPTY: readonly Case[] = [
  [
    'no rows under a head',
    'Who packed lot 9-B?',
    'Lot 9-B was packed by Marga Reyes.',
    [call('run_sql', { q: "SELECT packer FROM lots WHERE lot='9-B'" }, 'packer\n------\n(0 rows)')],
  ],
];

const WRONG: readonly Case[] = [];

const DENIED: readonly Case[] = [];

const SUPPORTED: readonly Case[] = [
  [
    'a number of its own key, and one that only counts',
    'Which platform?',
    'Platform 5, coach 2. It is stop 3.',
    [call('get_train', {}, { platform: 5, coach: 2, stops: 3 })],
  ],
  [
    'a year that the user gave',
    'Was it opened in 1938?',
    'No, it was opened in 1983, not in 1938.',
    [call('web_search', { q: 'bridge' }, 'The old bridge opened in 1983.')],
  ],
  [
    'a share that is the measure too',
    'Is there enough salt?',
    'The silo is at 50 %.',
    [call('silo_status', {}, { level_t: 50, size_t: 100 })],
  ],
  [
    'an act by a tool of no known name',
    'Send Kim the plan.',
    'The plan has been sent to Kim.',
    [call('gmail_api', { to: 'kim', subject: 'Plan' }, { id: 'm1' })],
  ],
  [
    'a label of a number that is a word of failure',
    'Rename the photos.',
    'I have renamed all the photos.',
    [call('bash', { command: 'python rename.py' }, 'Renamed: 9\nMissing: 2')],
  ],
  [
    'a statement that writes',
    'Set v to 5 for all three.',
    'I updated 3 rows.',
    [call('db_query', { sql: 'UPDATE t SET v=5' }, { rowcount: 3 })],
  ],

  [
    'none from a day that the list is not of',
    'Any message?',
    "I don't see any messages from today.",
    [call('list_messages', {}, [{ id: 1, at: '2025-01-02' }])],
  ],
  [
    'a drop in percent that equals a measure',
    'What did it save?',
    'It dropped by 30 %.',
    [call('get_times', {}, { before_s: 30, after_s: 21 })],
  ],
  [
    'a failure told by its cause',
    'Delete a.csv and b.csv.',
    'b.csv is gone. a.csv is locked by another process and is left where it was.',
    [
      call('delete_file', { path: 'b.csv' }, { ok: true }),
      call('delete_file', { path: 'a.csv' }, { ok: false, error: 'EBUSY: locked' }),
    ],
  ],
  [
    'what was done before',
    'Pay bill 881.',
    'Bill 881 was paid on May 3 already, by Nora.',
    [call('pay_bill', { id: '881' }, { error: 'ALREADY_PAID', at: '2025-05-03', by: 'Nora' })],
  ],
  [
    'an earlier failure in the record',
    'Create the order.',
    'The order was created.',
    [call('create_order', {}, { id: 'o-9', previous: { status: 'failed' }, status: 'open' })],
  ],
  [
    'a message without an error',
    'Remind me at 5.',
    'The reminder is set for 5 PM.',
    [call('set_reminder', { at: '17:00' }, { error: null, message: 'Reminder set' })],
  ],
  [
    'a code of success that is not 0',
    'Lamp off.',
    'The lamp is off.',
    [call('set_lamp', { on: false }, { code: 1, msg: 'success' })],
  ],
  [
    'none of a kind that was not listed',
    'Any failed snapshot?',
    "I don't see any snapshot that failed.",
    [call('list_snapshots', {}, [{ id: 's-1', status: 'complete' }])],
  ],
  [
    'a sum in a larger unit',
    'How much did the pump use?',
    'The pump used **13 kWh** in three days.',
    [call('pump_meter', {}, { unit: 'Wh', days: [4310, 4420, 4290] })],
  ],
  [
    'weeks told in days',
    'Can I park here for 2 weeks?',
    'Yes, up to 40 days are allowed, so your 14 days are fine.',
    [call('parking_rules', {}, 'Parking is free up to 40 days.')],
  ],
  [
    'an edit of a text that the answer holds',
    'Fix this: pritn("a"',
    '```python\nprint("a")\n```\nI corrected two errors: the name and the missing bracket.',
    [],
  ],
  [
    'a German day at the end of a sentence',
    'Geht es am 4.?',
    'Leider nein. Frühestens ginge es am 05.11. Soll ich das buchen?',
    [call('termin_aendern', { tag: '2025-11-04' }, { ok: false, fehler: 'voll', naechster: '2025-11-05' })],
  ],

  [
    'a failure told in words of another kind',
    'Create a tag v2.',
    'v2 existed already, so I switched to it.',
    [
      call('git_tag', { name: 'v2' }, "fatal: tag 'v2' already exists"),
      call('git_checkout', { name: 'v2' }, 'HEAD is now at v2'),
    ],
  ],
  [
    'how long a call took',
    'Stop the clock.',
    'Stopped after 8 minutes.',
    [call('stop_clock', {}, { elapsed: '00:08:00' })],
  ],
  [
    'what failed is said to be the state of a thing',
    'Why did job 7 fail?',
    'It ran out of memory: it was killed at its limit of 256 MB.',
    [call('get_job', { id: 7 }, { status: 'failed', error: 'OOMKilled', memory_mb: 256 })],
  ],

  [
    'what the user asks about as done, and a look shows',
    'Has the page /jobs/17 been deleted?',
    'Yes, it has been deleted.',
    [call('get_page', { path: '/jobs/17' }, { exists: false })],
  ],
  [
    'too many requests are told',
    'Translate the flyer.',
    'The translator is throttling us; give it a minute.',
    [call('translate', { doc: 'flyer' }, { code: 429, retry_after: 60 })],
  ],
  [
    'a service that is down',
    'When does the ferry leave?',
    'The ferry service has been called twice; it is down.',
    [call('ferry_times', {}, '<h1>502 Bad Gateway</h1>')],
  ],
  [
    'a half that is rounded up',
    'How full is the tank?',
    'The tank is about 43 % full.',
    [call('gauge', { at: 'tank' }, { fill: 0.425 })],
  ],
];

const expectKind = (cases: readonly Case[], ...expected: readonly string[]) => {
  for (const [name, prompt, answer, steps] of cases)
    test(`contradicted: ${name}`, () => {
      const found = kinds(prompt, answer, steps);
      assert.ok(
        found.some((kind) => expected.includes(kind)),
        `${JSON.stringify(found)} for "${answer}"`,
      );
    });
};

expectKind(NEVER_CALLED, 'tool_never_called');
expectKind(WRONG, 'wrong_value');
expectKind(DENIED, 'wrong_negation');
expectKind(EMPTY, 'empty_result_confident_answer');
for (const [name, prompt, answer, steps] of SUPPORTED)
  test(`not contradicted: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), []));
