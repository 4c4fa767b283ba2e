import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scoreEvidence } from '../src/evidence/index.ts';

const FACT = 'The invoice of ACME was paid on 3 May in Sofia. ';
const ANSWER = 'The invoice of ACME was paid on 9 June in Berlin, and nobody complained.';

test('places in sources beyond Latin-1 count code points, and are left out a million characters on', () => {
  const findingsOf = (retrievedContext: string) =>
    scoreEvidence({ answer: ANSWER, retrievedContext })?.findings.filter(({ kind }) =>
      kind.startsWith('unsupported'),
    ) ?? [];
  const [near] = findingsOf(`${'🙂'.repeat(40)} ${FACT}`);
  assert.equal(near?.startContext, 41);
  const far = findingsOf(`${'🙂 '.repeat(500_000)}${FACT.repeat(50_000)}`);
  assert.ok(far.length > 0);
  for (const { startContext, endContext } of far)
    assert.equal(startContext === undefined, endContext === undefined);
  assert.ok(far.some(({ startContext }) => startContext === undefined));
});

test('of passages that have the same words the first one is the place, and one with more words goes before it', () => {
  const filler = 'Nothing of note happened in the city on that long afternoon of rain. '.repeat(8);
  const placeOf = (retrievedContext: string) => {
    const finding = scoreEvidence({ answer: ANSWER, retrievedContext })?.findings[0];
    return retrievedContext.slice(finding?.startContext, finding?.endContext);
  };
  const fact = FACT.trim().slice(0, -1);
  const [first, second] = [`${fact} by Ann. `, `${fact} by Bob. `];
  assert.match(placeOf(`${filler}${first}${filler}${second}${filler}`), /by Ann/);
  assert.match(placeOf(`${filler}The invoice was paid. ${filler}${second}${filler}`), /by Bob/);
});

test('holding an answer against sources takes a time that does not grow with them', () => {
  const timeOf = (characters: number) => {
    const retrievedContext = Buffer.from('Счёт оплачен 3 мая. '.repeat(characters / 20)).toString();
    const times = Array.from({ length: 7 }, () => {
      const started = performance.now();
      scoreEvidence({ answer: ANSWER, retrievedContext });
      return performance.now() - started;
    });
    return Math.min(...times);
  };
  const small = timeOf(200_000);
  assert.ok(timeOf(20_000_000) < 10 * Math.max(small, 0.5));
});
