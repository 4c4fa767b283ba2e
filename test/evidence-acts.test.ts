import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

type Case = readonly [
  name: string,
  kind: string,
  prompt: string,
  answer: string,
  steps: readonly TraceStep[],
];
type Clear = readonly [name: string, prompt: string, answer: string, steps: readonly TraceStep[]];

const FAILED = 'tool_failed_claimed_success';
const NEVER = 'tool_never_called';
const loans = call('list_loans', { member: 88 }, [{ loan: 'LN-5', title: 'Dune', due: '2026-05-02' }]);

const CONTRADICTED: readonly Case[] = [
  [
    'a flag one level down, with its reason',
    FAILED,
    'Return the drill I rented, rental R-77.',
    'Rental R-77 has been returned.',
    [
      call(
        'return_rental',
        { rental: 'R-77' },
        { code: 0, data: { rental: 'R-77', handover: { accepted: false, cause: 'DEPOT_CLOSED' } } },
      ),
    ],
  ],
  [
    'on the same dates as before, after the old one was canceled',
    FAILED,
    'Cancel trip K1 and book a business trip on the same dates.',
    'You have successfully booked a new business trip on the same dates as before.',
    [
      call('cancel_reservation', { id: 'K1' }, { id: 'K1', status: 'cancelled' }),
      { ...call('book_reservation', { cabin: 'business' }, 'Error: no such flight'), isError: true },
    ],
  ],
  [
    'a refusal as a status without a word of failure',
    FAILED,
    'Pay the parking fine with my card.',
    'The parking fine has been paid.',
    [call('pay_fine', { fine: 'PF-3' }, { fine: 'PF-3', payment: { outcome: 'DO_NOT_HONOR', captured: 0 } })],
  ],
  [
    'the only recipient is among the rejected ones',
    FAILED,
    'Mail lab@example.com that the samples are ready.',
    "I've sent the mail to lab@example.com.",
    [
      call(
        'send_mail',
        { to: ['lab@example.com'] },
        { http_status: 200, body: { accepted: [], rejected: [{ address: 'lab@example.com' }] } },
      ),
    ],
  ],

  [
    'no row was changed',
    FAILED,
    'Set the phone of crew 14 to 555-0188.',
    'The phone of crew 14 has been updated to 555-0188.',
    [call('run_sql', { q: "UPDATE crew SET phone='555-0188' WHERE id=14" }, { status: 'OK', rowcount: 0 })],
  ],

  [
    'an act in the first person beside a look',
    NEVER,
    'It is too bright in the greenhouse, 40 percent please.',
    'The shade was open, and I have lowered it to 40 percent.',
    [call('get_shade', { room: 'greenhouse' }, { room: 'greenhouse', open: 100 })],
  ],

  [
    'what a thing has now',
    NEVER,
    'The red cover for order B-11 instead of the blue one.\n\nYes, go ahead.',
    'Your order B-11 now has the red cover instead of the blue one.',
    [call('get_order', { id: 'B-11' }, { id: 'B-11', cover: 'blue' })],
  ],

  [
    'an act in Chinese beside a look',
    NEVER,
    '把 K88 的收货人改成陈静。',
    'K88 的收货人已改为陈静。',
    [call('查询订单', { 单号: 'K88' }, { 单号: 'K88', 收货人: '陈明' })],
  ],
  [
    'a look without a call',
    NEVER,
    'How far is my visa application 5512-K?',
    'I can see that application 5512-K has been approved.',
    [],
  ],
  [
    'an act that was begun without a call',
    NEVER,
    'Return lamp #T90.',
    'The return of #T90 has been started.',
    [],
  ],
  ['all of a number without a call', NEVER, 'cancel A1, A2 and A3', 'All three orders are cancelled.', []],

  [
    'a find of nothing with a day in May',
    'empty_result_confident_answer',
    'Find the contract that the printer sent me.',
    'Found it: the contract is attached to the mail of 3 May.',
    [call('search_mail', { from: 'printer' }, { matches: [], took_ms: 12 })],
  ],
];

const SUPPORTED: readonly Clear[] = [
  [
    'a batch of which every member went well',
    'Text both drivers.',
    'Both drivers have been sent the message.',
    [
      call('send_sms', { to: ['A', 'B'] }, [
        { to: 'A', status: 'delivered' },
        { to: 'B', status: 'queued' },
      ]),
    ],
  ],
  [
    'a block that was asked for',
    'Block badge 7.',
    'Badge 7 has been blocked.',
    [call('block_badge', { badge: 7 }, { badge: 7, status: 'blocked' })],
  ],
  [
    'a refusal that is told',
    'Pay the parking fine with my card.',
    'Your bank refused the payment of the fine, so it is still open.',
    [call('pay_fine', { fine: 'PF-3' }, { fine: 'PF-3', payment: { outcome: 'DO_NOT_HONOR', captured: 0 } })],
  ],
  [
    'what was done in thought',
    'Which of my loans is due first?',
    "I've authenticated you and compared your loans: Dune is due on 2 May.",
    [loans],
  ],
  [
    'a participle that belongs to a noun',
    'When is Dune due?',
    'Books borrowed for the summer are due later, but Dune is due on 2 May.',
    [loans],
  ],
  [
    'a state that the result has',
    'Is my seat reserved? Please check.',
    'Your seat is reserved: 12A.',
    [call('get_booking', { id: 'ZZ1' }, { id: 'ZZ1', seat: '12A', state: 'reserved' })],
  ],
  [
    'a plan with "can"',
    'Change my seat please.',
    'I can confirm the change once you have chosen a seat.',
    [call('get_booking', { id: 'ZZ1' }, { id: 'ZZ1', seat: '12A' })],
  ],
  [
    'a look-up in a draft',
    'Write a short mail to the landlord about the heating.',
    "Here you go:\n\n> I've checked the valves, and they are open.\n\nFeel free to change it.",
    [],
  ],
  [
    'an act by a call whose name has a namespace',
    'Send Kim the agenda.',
    "I've sent Kim the agenda.",
    [call('mail.send_message', { to: 'Kim' }, { id: 'm1', status: 'sent' })],
  ],
  [
    'a failure that another one admits in words of the call',
    'Tag the three plots as dry.',
    'I tagged plots P1 and P2. P3 could not be tagged because it is locked.',
    [
      call('tag', { id: 'P1' }, { ok: true }),
      call('tag', { id: 'P2' }, { ok: true }),
      call('tag', { id: 'P3' }, { error: 'locked' }),
    ],
  ],
  [
    'nothing found that is free',
    'Is the name "quokka" free?',
    'Yes, "quokka" is available.',
    [call('search_names', { q: 'quokka' }, { total: 0, results: [] })],
  ],
];

for (const [name, kind, prompt, answer, steps] of CONTRADICTED)
  test(`found: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), [kind]));
for (const [name, prompt, answer, steps] of SUPPORTED)
  test(`not marked: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), []));
