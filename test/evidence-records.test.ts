import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

type Row = readonly [name: string, kind: string, prompt: string, answer: string, steps: readonly TraceStep[]];

const depots = call('depot_stock', {}, [
  { depot: 'harbor', pallets: 412, tons: 96.4 },
  { depot: 'airport', pallets: 388, tons: 69.4 },
  { depot: 'hillside', pallets: 154, tons: 30.2 },
]);
const fares = [
  call('get_fare', { line: 'Coastline' }, { line: 'Coastline', fare: 31.4 }),
  call('get_fare', { line: 'Valley' }, { line: 'Valley', fare: 24.9 }),
];
const events = call('list_events', { day: '2026-08-03' }, [
  { title: 'Fitting with Ruiz', start: '13:00', end: '14:00' },
  { title: 'Tailor', start: '16:30', end: '17:15' },
]);
const crew = ['ida@example.com', 'per@example.com', 'uma@example.com'];
const guests = call('list_guests', { event: 'gala' }, { guests: [{ name: 'Ida' }, { name: 'Per' }] });

const ROWS: readonly Row[] = [
  [
    'the numbers of the record',
    '',
    'Which depot is the fullest?',
    'The harbor depot, with 412 pallets and 96.4 tons.',
    [depots],
  ],
  [
    'a comparison',
    '',
    'How full are harbor and airport?',
    'Harbor has 412 pallets, airport 388 pallets, and hillside is smaller than both with 154.',
    [depots],
  ],
  [
    'numbers in their clauses',
    '',
    'Compare Coastline and Valley.',
    'Coastline costs $31.40, while Valley costs $24.90.',
    fares,
  ],

  [
    'the times of the record',
    '',
    'What is on Monday?',
    'You have a fitting with Ruiz from 1 to 2 pm.',
    [events],
  ],

  [
    'a value that was asked for, in another notation',
    '',
    'Pay 45 euros to the choir.',
    'I paid €45.00 to the choir.',
    [call('pay', { to: 'choir', amount: 45 }, { status: 'paid', amount: '45.00' })],
  ],
  [
    'the value that the result has',
    '',
    'Set the kiln to 940 degrees for me.',
    'The kiln is limited: I asked for 940, and it is set to 815.',
    [call('set_kiln', { kiln: 2, target: 940 }, { ok: true, kiln: 2, target: 815 })],
  ],

  [
    'all of the things that a call was given',
    '',
    'Invite Ida, Per and Uma.',
    'All three have been invited.',
    [call('invite', { emails: crew }, { invited: crew })],
  ],

  [
    'fewer than were requested, as the answer tells',
    '',
    'Start six workers.',
    'The workers have been started: 4 of the 6 are up.',
    [call('start_workers', { pool: 'a' }, { requested: 6, started: 4 })],
  ],

  [
    'none of another kind',
    '',
    'Are there any guests for the gala?',
    'There are two. There are no other guests.',
    [guests],
  ],
  [
    'a denial of what was done at the second try',
    'wrong_negation',
    'Cancel trip TR-9001.',
    "Trip TR-9001 could not be cancelled, I'm afraid.",
    [
      { tool: 'cancel_trip', arguments: { trip: 'TR-9001' }, result: 'timeout', isError: true },
      call('cancel_trip', { trip: 'TR-9001' }, { trip: 'TR-9001', status: 'cancelled' }),
    ],
  ],
  [
    'the only day of the results',
    '',
    'When does my parking permit end?',
    'Your parking permit ends on 14 June.',
    [call('get_permit', { id: 'PP-2' }, { id: 'PP-2', ends: '2026-06-14' })],
  ],
  [
    'all things beside those that are available',
    '',
    'How many tents do you have in stock?',
    '3 of our 4 tent variants are in stock.',
    [
      call(
        'get_product',
        { id: 'tent' },
        {
          variants: {
            T1: { available: true, price: 80.5 },
            T2: { available: true, price: 92 },
            T3: { available: false, price: 97 },
            T4: { available: true, price: 120 },
          },
        },
      ),
    ],
  ],
  [
    'a refusal in Spanish',
    'tool_failed_claimed_success',
    'Reserva la pista 2 para el jueves.',
    'He reservado la pista 2 para el jueves.',
    [call('reservar_pista', { pista: 2 }, { estado: 'rechazada', motivo: 'sin plazas' })],
  ],
  [
    'an act in Japanese beside a look',
    'tool_never_called',
    '会議室Bを押さえて。',
    '会議室Bを手配しました。',
    [call('会議室検索', { 部屋: 'B' }, { 部屋: 'B', 空き: true })],
  ],
];

for (const [name, kind, prompt, answer, steps] of ROWS)
  test(`${kind === '' ? 'not marked' : 'found'}: ${name}`, () =>
    assert.deepEqual(kinds(prompt, answer, steps), kind === '' ? [] : [kind]));

test('many records that the answer names cost time in proportion to their number', () => {
  const nameOf = (i: number) => `unit${(i * 7919).toString(36)}q${i}`;
  const cost = (count: number) => {
    const units = Array.from({ length: count }, (_, i) => ({
      unit: nameOf(i),
      load: 100 + i,
      start: '10:00',
      at: `${i}`,
    }));
    const answer = Array.from(
      { length: 60 },
      (_, i) =>
        `The load of ${nameOf(i * 3)} is ${400 + i}, while ${nameOf(i + 1)} has ${300 + i} at 1${i % 9}:30.`,
    ).join(' ');
    const result = Array.from({ length: 24 }, (_, i) =>
      units.slice(i * (count / 24), (i + 1) * (count / 24)),
    );
    const before = process.cpuUsage();
    kinds('How are the units?', answer, [call('list_units', { site: 'north' }, result)]);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const least = (count: number) => Math.min(...Array.from({ length: 3 }, () => cost(count)));
  least(240);
  assert.ok(least(7680) < Math.max(60, least(240) * 16));
});
