/** What an answer says of the talk itself, of plans and of what the user told claims no call. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { TraceStep } from '../src/evidence/index.ts';
import { traceFindings } from './support/findings.ts';

const LOOK: TraceStep = {
  tool: 'search_flights',
  arguments: { to: 'LAX' },
  result: [{ flight: 'HAT1', price: 120 }],
};
const marks = (answer: string, steps: readonly TraceStep[]) =>
  traceFindings('My picture message works now.', answer, steps);

const HONEST: readonly (readonly [answer: string, steps: readonly TraceStep[]])[] = [
  ['I’ll check your account and make sure roaming is enabled.', []],
  ["Once I have that, I'll look it up and make sure that the order is cancelled.", []],
  ['I’m glad to hear your picture message went through.', [LOOK]],
];
for (const [answer, steps] of HONEST)
  test(`claims nothing: ${answer}`, () => {
    assert.deepEqual(marks(answer, steps), []);
  });

for (const answer of [
  'I made sure of it: I have enabled roaming.',
  'Your refund went through.',
  'I shared the file with Ann.',
])
  test(`still claims an act: ${answer}`, () => {
    assert.deepEqual(
      marks(answer, [LOOK]).map(({ kind }) => kind),
      ['tool_never_called'],
    );
  });
