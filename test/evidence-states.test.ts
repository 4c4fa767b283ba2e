import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

type Case = readonly [name: string, prompt: string, answer: string, steps: readonly TraceStep[]];

const SLOTS = call('list_slots', { day: '2026-03-03' }, { slots: ['09:30', '14:15', '16:00'] });
const BOOKED = call('book_visit', { start: '2026-03-03T14:15' }, { ok: true, start: '2026-03-03T14:15' });

const NEVER_CALLED: readonly Case[] = [
  [
    'all set with a time, after a look only',
    'Book me in for 14:15 please.',
    "You're all set. Tuesday at 2:15 PM.",
    [SLOTS],
  ],
  ['a booked state', 'Book the 9:30 one.', "You're booked for 9:30 AM on March 3.", [SLOTS]],
  [
    'a place in a queue, without any call',
    'Can somebody call me?',
    "You're in the queue now, it takes ten minutes.",
    [],
  ],

  ['a German state', 'Überweise 40 € an Jan.', 'Die Überweisung über 40 € ist raus.', []],
  ['a Spanish state', 'Reserva una pista de tenis.', 'Su pista queda reservada.', []],
  ['a verb that the user asked for', 'Pause my subscription.', 'Your subscription has been paused.', []],
];

const WRONG: readonly Case[] = [];

const FAILED: readonly Case[] = [
  [
    'an unchanged booking',
    'Move the shuttle.',
    "I've moved the shuttle to Sunday.",
    [call('reschedule_shuttle', { day: 'Sunday' }, 'No service on Sundays. Booking unchanged.')],
  ],
  [
    'a state after a failure',
    'Add Keiko.',
    'Keiko is now a member of the group.',
    [call('add_member', { group: 'ops' }, '502 Bad Gateway')],
  ],
];

const SUPPORTED: readonly Case[] = [
  [
    'the same time in the other notation',
    'When is my visit?',
    'It is on March 3 at 2:15 PM, so arrive at 2:00 PM.',
    [call('get_visit', {}, { start: '2026-03-03T14:15', buffer_min: 15 })],
  ],
  [
    'a span of time between',
    'When does it end?',
    'It starts at 14:15 and ends at 15:00, after 45 minutes.',
    [BOOKED],
  ],
  [
    'another time zone',
    'When is it?',
    'At 3:15 PM your time.',
    [call('get_event', {}, { at: '2026-03-03T14:15:00Z' })],
  ],
  ['hours that are a rule', 'When is my visit?', 'At 2:15 PM. We are open until 6 PM.', [BOOKED]],
  [
    'an offer of another time',
    '10時に会議を入れて。',
    '11時はいかがですか。',
    [call('get_events', {}, { start: '10:00' })],
  ],
  [
    'a state that a look gave',
    'Am I booked?',
    "You're booked for 9:30 AM.",
    [call('get_bookings', {}, [{ at: '09:30', status: 'booked' }])],
  ],
  ['all set without anything arranged', 'Thanks, that is all.', "You're all set. Have a nice day!", [SLOTS]],
  [
    'a list of failures that was asked for',
    'Which failed?',
    'Two jobs: a and b.',
    [call('list_jobs', {}, { failed: ['a', 'b'] })],
  ],
  [
    'a null answer and a look afterwards',
    'Close D-8.',
    'D-8 is closed now.',
    [
      call('close_dispute', { id: 'D-8' }, null),
      call('get_dispute', { id: 'D-8' }, { id: 'D-8', state: 'closed' }),
    ],
  ],
  [
    'a rate',
    'How much is 1,300 €?',
    "That's £1,096.03.",
    [call('fx_quote', { amount: 1300 }, { rate: 0.8431 })],
  ],
  [
    'a change in percent beside its figures',
    'Compare.',
    'Compute: 8,000 before, 6,800 now, −15 %.',
    [
      call('cost', { m: 4 }, { compute: 8000, disk: 31, net: 77 }),
      call('cost', { m: 5 }, { compute: 6800, disk: 31.5, net: 71 }),
    ],
  ],
];

/** Each differs by a detail from what is a contradiction, which stands below it. */
const NEAR: readonly Case[] = [
  [
    'an act under a condition',
    'I lost my key card.',
    'You can see the code in the portal, provided that you are logged in there.',
    [],
  ],
  [
    'what a thing is like',
    'Somebody used my account.',
    'Change the password, and sign in with the code that is sent to your phone.',
    [],
  ],

  [
    'another record that was left as it was',
    'Add a bag to QX7P2L.',
    "The bag is on QX7P2L now. Your other trip, 8KKD3M, wasn't changed.",
    [call('update_bags', { reservation: 'QX7P2L', bags: 1 }, { reservation: 'QX7P2L', bags: 1 })],
  ],
  [
    'how many of the results are alike',
    'Draw three cards.',
    'You drew 2 hearts and a spade.',
    [call('draw', {}, 'hearts'), call('draw', {}, 'spades'), call('draw', {}, 'hearts')],
  ],
  [
    'a Japanese report of a part that did not answer',
    '台所と廊下の照明を消して。',
    '台所は消しましたが、廊下の照明が応答せず、まだ点いています。',
    [
      call('lamp_off', { at: 'kitchen' }, { state: 'off' }),
      call('lamp_off', { at: 'hall' }, { state: 'on', error: '応答なし' }),
    ],
  ],
];
const BESIDE: readonly (readonly [Case, string])[] = [
  [
    [
      'an act',
      'I lost my key card.',
      'You are logged out everywhere now, and the new card has been sent.',
      [],
    ],
    'tool_never_called',
  ],
  [
    [
      'the record that was changed',
      'Add a bag to QX7P2L.',
      "I'm afraid QX7P2L wasn't updated.",
      [call('update_bags', { reservation: 'QX7P2L', bags: 1 }, { reservation: 'QX7P2L', bags: 1 })],
    ],
    'wrong_negation',
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
expectKind(FAILED, 'tool_failed_claimed_success', 'partial');
for (const [one, kind] of BESIDE) expectKind([one], kind);
for (const [name, prompt, answer, steps] of [...SUPPORTED, ...NEAR])
  test(`not contradicted: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), []));
