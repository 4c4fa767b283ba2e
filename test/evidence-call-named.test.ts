/** A wrong value names the call whose result contradicts it, not just the last one. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { scoreEvidence, type TraceStep } from '../src/evidence/index.ts';
import { assertGrowth } from './support/cpu-time.ts';
import { call, traceFindings } from './support/findings.ts';

const wrongValues = (answer: string, steps: readonly TraceStep[]) =>
  traceFindings('How is it?', answer, steps)
    .filter(({ kind }) => kind === 'wrong_value')
    .map(({ step }) => step);

const CARD = call(
  'get_user',
  { id: 'u_12' },
  { name: 'Ana Ruiz', payment: { brand: 'visa', last4: '2478' } },
);
const ORDER = call('get_order', { id: 'W5512' }, { id: 'W5512', status: 'shipped', total: 86.2 });

const CASES: readonly (readonly [name: string, answer: string, steps: readonly TraceStep[], step: number])[] =
  [
    ['a card number of an earlier call', 'It was charged to your Visa ending in 2578.', [CARD, ORDER], 0],
    ['an amount of the last call', 'The order W5512 costs $85.20.', [CARD, ORDER], 1],

    ['the last call where several are alike', 'The order W5512 costs $85.20.', [ORDER, CARD, ORDER], 2],
    [
      'never a call that failed',
      'The order W5512 costs $85.20.',
      [ORDER, { ...ORDER, result: 'Error: 86.2', isError: true }],
      0,
    ],
  ];

for (const [name, answer, steps, step] of CASES)
  test(`the call against a wrong value: ${name}`, () => {
    assert.deepEqual(wrongValues(answer, steps), [step]);
  });

test('the search for the call stays linear in calls, figures and sentences', () => {
  const inputOf = (size: number) => ({
    prompt: '',
    answer: Array.from(
      { length: size },
      (_, i) => `Row ${i} is $${((i * 15_485_863) % 90_000) + 10_000}.37.`,
    ).join(' '),
    steps: Array.from({ length: size }, (_, i) =>
      call(
        'read',
        { i },
        { values: Array.from({ length: 40 }, (_, k) => ((i * 7919 + k * 104_729) % 90_000) + 10_000) },
      ),
    ),
  });
  const find = (size: number) => {
    const input = inputOf(size);
    return () => void scoreEvidence(input);
  };
  assertGrowth('four times the calls and sentences', find(20), find(80), 8);
});
