/** Figures and results as production tools give them: rows of tables, envelopes, rounded sums, flags of other acts. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

const TOP = {
  columns: ['name', 'orders', 'revenue'],
  rows: [
    ['Bergmann & Co', 212, 184220.55],
    ['Atelier Nord', 98, 121004.1],
  ],
  row_count: 2,
};
const TOP_TOLD =
  '1. **Bergmann & Co** – 184,220.55 from 212 orders\n2. **Atelier Nord** – 121,004.10 from 98 orders';
const COSTS = call(
  'list_instances',
  {},
  {
    instances: [
      { name: 'ml-exp', cost: 734.38 },
      { name: 'batch-old', cost: 496.4 },
    ],
  },
);
const envelope = (data: unknown) => ({ request_id: 'req_1', data, meta: { version: '2', ms: 4 } });

const SUPPORTED: readonly (readonly [
  name: string,
  prompt: string,
  answer: string,
  steps: readonly TraceStep[],
])[] = [
  ['numbers side by side in a list', 'Top customers?', TOP_TOLD, [call('sql_query', {}, TOP)]],
  [
    'numbers side by side in a row of CSV',
    'Top customers?',
    TOP_TOLD,
    [call('sql_query', {}, 'name,orders,revenue\nBergmann & Co,212,184220.55\nAtelier Nord,98,121004.1')],
  ],
  [
    'a number of groups with a scale',
    '未払いの請求書は?',
    '未払いの請求書は8件、45万2000円です。',
    [call('list_invoices', {}, { count: 8, total: 452000 })],
  ],
  [
    'a speed in another unit',
    'How windy is it?',
    'The wind blows at 19 km/h.',
    [call('get_weather', {}, { wind_ms: 5.2, gusts_ms: 9.1 })],
  ],
  [
    'an account and a phone number in groups',
    'My account?',
    'The IBAN is DE89 3704 0044 0532 0130 00, the phone +1 555 0199.',
    [call('get_account', {}, { iban: 'DE89370400440532013000', phone: '+15550199' })],
  ],
  ['a size', 'Resize it.', 'It is now 960x540.', [call('resize', {}, { width: 960, height: 540 })]],
  [
    'a failure before the success',
    'Upload it.',
    'The upload failed twice with a 503, then went through.',
    [
      call('upload', { file: 'a.zip' }, { status: 503 }),
      call('upload', { file: 'a.zip' }, { status: 503 }),
      call('upload', { file: 'a.zip' }, { status: 201 }),
    ],
  ],
  [
    'a request that was accepted, in lines with a reason that has a word of failure',
    'File a claim for my lost package.',
    'Your claim has been submitted.',
    [
      call(
        'submit_form',
        { type: 'lost' },
        'accepted: true\ndata_keys:\n- type\nreason: The package is undelivered.',
      ),
    ],
  ],
  [
    'a draft that its result calls not submitted',
    'Can it be stopped?',
    'I prepared an inquiry draft, but it has not been submitted.',
    [
      call(
        'assemble_service_request',
        { id: 'wf_bp_7842' },
        'preparation_status: prepared_not_submitted\nrequest_reference: rq_Q7F2',
      ),
    ],
  ],
  [
    'the end of a long number',
    'Is there a recall?',
    'I checked the vehicle, VIN ending 17642.',
    [call('get_vehicle', {}, { vin: '5YJ3E1EA7KF317642', recalls: [] })],
  ],
  [
    'a rounded sum',
    'What could we shut down?',
    '**ml-exp** is about $734, **batch-old** about $496. Together they cost roughly **$1,231 per month**.',
    [COSTS],
  ],
  [
    'a rounded difference',
    'Und im Vergleich?',
    'Restaurants stiegen um knapp 76 € auf 204,75 €.',
    [
      call(
        'ausgaben',
        {},
        {
          monate: [
            { restaurant: 128.9, summe: 502.84 },
            { restaurant: 204.75, summe: 514.85 },
          ],
        },
      ),
    ],
  ],
  [
    'a rounded share of an amount',
    'Where is the deal?',
    'It is at €84k with 60% probability, so roughly €50k weighted.',
    [call('get_deal', {}, { deal: { amount: 84_000, currency: 'EUR', probability: 0.6 } })],
  ],
  [
    'a share of a column without its sum',
    'How many by Google?',
    '1,841 signed up by Google. That is 52% of the 3,516 sign-ups.',
    [
      call(
        'sql_query',
        {},
        {
          rows: [
            ['google', 1841],
            ['none', 1203],
            ['apple', 377],
            ['github', 95],
          ],
        },
      ),
    ],
  ],
  [
    'a flag of an act that was not asked for',
    'Draft a reply, do not send it.',
    "I've saved a draft, nothing has been sent.",
    [call('create_draft', { body: 'Hello' }, { id: 'd-1', message: { labels: ['DRAFT'] }, sent: false })],
  ],
  [
    'a state that lasts while something else is done',
    'Replace my license card, please.',
    'Your current license remains valid while the replacement is processed.',
    [
      call(
        'search_web',
        { q: 'replace license' },
        { hits: [{ title: 'Replacement card', text: 'Use the form.' }] },
      ),
    ],
  ],
  [
    'what was done through a query',
    "Please settle today's orders.",
    'The settlement has been completed.',
    [
      call(
        'warehouse_run_query',
        { query: 'INSERT INTO settled SELECT * FROM orders' },
        'Query OK. Total rows: 12',
      ),
    ],
  ],
  [
    'what was done instead of what was not possible',
    'Cancel one item, else update my address.',
    "Since that wasn't possible, I updated your address to Seattle.",
    [
      call('get_order', { id: 'W1' }, { status: 'pending' }),
      call('update_address', { city: 'Seattle' }, { city: 'Seattle' }),
    ],
  ],
  [
    'a new record that is not deleted',
    'Add Ida as a user.',
    'Ida has been added as a user.',
    [call('create_user', { name: 'Ida' }, { id: 'u-1', name: 'Ida', deleted: false })],
  ],
  [
    'none of a kind that a flag names',
    'Any direct flights?',
    'There are no direct flights that day.',
    [
      call('search_flights', { direct: true }, { flights: [], searched: { direct: true } }),
      call('search_flights', { direct: false }, { flights: [{ via: 'VIE', price: 248 }] }),
    ],
  ],
];

for (const [name, prompt, answer, steps] of SUPPORTED) {
  test(`no contradiction: ${name}`, () => assert.deepEqual(kinds(prompt, answer, steps), []));
}

const CONTRADICTED: readonly (readonly [
  name: string,
  kind: ReturnType<typeof kinds>[number],
  prompt: string,
  answer: string,
  steps: readonly TraceStep[],
])[] = [
  [
    'one digit of a row',
    'wrong_value',
    'Top customers?',
    TOP_TOLD.replace('184,220', '184,270'),
    [call('sql_query', {}, TOP)],
  ],
  [
    'a count of a thing whose name is a verb too',
    'wrong_value',
    'How many seats are left on train 9412?',
    'Train 9412 has 73 seats left.',
    [call('train_status', { train: '9412' }, { train: '9412', seats_left: 37 })],
  ],
  [
    'a failure in an envelope',
    'tool_failed_claimed_success',
    'Cancel order 7.',
    'Order 7 has been cancelled.',
    [call('cancel_order', { id: 7 }, envelope({ cancelled: false, reason: 'already shipped' }))],
  ],
];

for (const [name, kind, prompt, answer, steps] of CONTRADICTED) {
  test(`a contradiction: ${name}`, () => assert.ok(kinds(prompt, answer, steps).includes(kind)));
}
