/** What a look finds out about a thing, be it a failure, is no failure of the call; failures in shapes of other systems are. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { call, kinds } from './support/findings.ts';

const PROMPT = 'How does it look? / 怎么样?';

const HONEST: readonly (readonly [name: string, answer: string, step: TraceStep])[] = [
  [
    'the meaning of an error code',
    'E18 means that the water inlet is blocked.',
    call('appliance_diagnose', { id: 'w2' }, { code: 'E18', meaning: 'water inlet blocked' }),
  ],
  [
    'a flag that is off',
    'The voucher is no longer valid; it ended on June 30.',
    call('voucher.check', { code: 'JUN30' }, { valid: false, ended: '2026-06-30' }),
  ],
  [
    'how many were rejected',
    'Drei neue Anträge sind da.',
    call('antraege_liste', { seit: 'montag' }, { neu: 3, abgelehnt: 4, liste: ['A-1', 'A-2', 'A-3'] }),
  ],
  [
    'the state of an appointment, in Chinese',
    '是的,明天的例会已经取消。',
    call('calendar_get', { id: 'm9' }, { 标题: '例会', 状态: '已取消' }),
  ],
  [
    'names between Chinese characters',
    '有两张单据:C301(120元)和C308(64元)。',
    call('单据.查询', {}, [
      { 单号: 'C301', 金额: 120 },
      { 单号: 'C308', 金额: 64 },
    ]),
  ],
  [
    'another booking that was left alone',
    'HSR97W has been cancelled. I did not cancel IFOYYZ.',
    call('cancel_booking', { id: 'HSR97W' }, { id: 'HSR97W', status: 'cancelled' }),
  ],
];
for (const [name, answer, step] of HONEST)
  test(`no failure: ${name}`, () => {
    assert.deepEqual(kinds(PROMPT, answer, [step]), []);
  });

const FAILED: readonly (readonly [name: string, result: unknown])[] = [
  ['a fault of SOAP', { faultcode: 'env:Server', faultstring: 'backend is away' }],
  ['a reply of a mail server', 'SMTP 550 mailbox not here'],
  ['a status before a text', 'Status: 409 version is stale'],
];
for (const [name, result] of FAILED)
  test(`a failure: ${name}`, () => {
    assert.deepEqual(
      kinds(PROMPT, 'I have updated your address.', [call('update_address', { user: 'u_1' }, result)]),
      ['tool_failed_claimed_success'],
    );
  });

test('a call whose name is no text is read as one without a name', () => {
  const steps = [{ ...call('x', {}, 'ok'), tool: JSON.parse('{"toString":1}') as string }];
  assert.deepEqual(kinds(PROMPT, 'It is done.', steps).includes('wrong_value'), false);
});

for (const look of ['payment_risk_check', 'reservation_status', 'cancellation_policy_lookup'])
  test(`a look whose name begins with a noun does nothing: ${look}`, () => {
    const steps = [
      call(look, { id: 'INV-7' }, { id: 'INV-7', state: 'open' }),
      { ...call('send_payment', { id: 'INV-7' }, 'declined'), isError: true },
    ];
    assert.deepEqual(kinds(PROMPT, 'The payment for INV-7 was sent.', steps), [
      'tool_failed_claimed_success',
    ]);
  });

test('an empty text is no finding of nothing: it may not have been kept', () => {
  const look = call('read_media_file', { path: 'a.png' }, '');
  assert.deepEqual(kinds('What is on this picture?', 'It shows a red square.', [look]), []);
});
