/** Amounts, days and codes one digit off, which other numbers of the results seem to give, beside honest twins. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

const EXCHANGE = call(
  'exchange_items',
  { order_id: '#W7812', item_ids: ['4421'], new_item_ids: ['9903'] },
  { order_id: '#W7812', items: 2, seats: 4, price_difference: 271.89, prices: [512.4, 240.51] },
);
const BOOKING = call(
  'change_flight',
  { reservation_id: 'M05KNL', date: '2024-05-24' },
  {
    reservation_id: 'M05KNL',
    created: '2024-05-02',
    history: ['2024-05-03', '2024-05-11', '2024-05-12'],
    flight: { from: 'ATL', to: 'PHL', date: '2024-05-24', fare: 210 },
  },
);
const CANCEL = call(
  'cancel_reservation',
  { reservation_id: '3RK2T9' },
  { id: '3RK2T9', status: 'cancelled' },
);
const LINE = call(
  'get_line',
  { number: '555-123-2002' },
  { line: '555-123-2002', users: 1000, status: 'suspended' },
);
const CERTIFICATE = call('send_certificate', { user: 'ana_1', amount: 50 }, 'Certificate c_9 added: 10 left');

const CASES: readonly (readonly [name: string, steps: readonly TraceStep[], wrong: string, right: string])[] =
  [
    [
      'a code that begins with a digit',
      [CANCEL],
      'Your reservation 3RK9T9 has been cancelled.',
      'Your reservation 3RK2T9 has been cancelled.',
    ],
  ];

for (const [name, steps, wrong, right] of CASES)
  test(`a value one digit off: ${name}`, () => {
    assert.deepEqual(kinds('Please do it.', wrong, steps), ['wrong_value']);
    assert.deepEqual(kinds('Please do it.', right, steps), []);
  });

const HONEST: readonly (readonly [name: string, answer: string, steps: readonly TraceStep[]])[] = [
  [
    'two of the amount of a call',
    'I have sent you certificates of $100 in total.',
    [CERTIFICATE, CERTIFICATE],
  ],
  ['an offer of another amount', 'I can send you a certificate of $60 instead.', [CERTIFICATE]],
  ['a day that is due', 'It has been changed; please pay by May 22.', [BOOKING]],
  ['a sum of two prices', 'Both items cost $752.91 together.', [EXCHANGE]],
  ['a number of the user', 'Your line ending in 3002 is not among them.', [LINE]],
];

for (const [name, answer, steps] of HONEST)
  test(`no wrong value: ${name}`, () => {
    assert.deepEqual(kinds('My line ends in 3002.', answer, steps), []);
  });
