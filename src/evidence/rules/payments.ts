/** Money that was moved. */
import type { ReadStep } from '../trace/index.ts';
import { Addends, numbersIn, walkValues } from '../values/index.ts';
import { against } from './finding.ts';
import type { Rule } from './types.ts';

const PAID = /\b(?:charged|refunded|applied|refund|credited|paid)\b/;
const HAPPENED = /\b(?:has|have|been|was|were)\b/;
const SUPPOSED = /\b(?:would|could|if|can|will)\b/;
const AMOUNT_KEY = /amount|price_diff|charge|refund|total|paid|fee|balance/i;
export const otherPayment: Rule = {
  name: 'another-amount-moved',
  says: 'an amount that was charged or refunded is another one in the calls',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const amounts = movedAmounts(reading.steps);
    if (amounts.length === 0) return [];
    return reading.facts.flatMap((fact) => {
      const { statement } = fact;
      if (fact.kind !== 'figure' || fact.figure.dimension !== 'money' || fact.figure.value < 1) return [];
      const { lower, kind } = statement;
      const hasHappened = PAID.test(lower) && HAPPENED.test(lower) && !SUPPOSED.test(lower);
      if (kind !== 'claim' || !hasHappened) return [];
      return gives(amounts, fact.figure.value) ? [] : [against(statement, reading.steps)];
    });
  },
};

const MAX_MOVED = 200;
/** All numbers of the calls that moved money and of the looks after them; none if no call did. */
function movedAmounts(steps: readonly ReadStep[]): readonly number[] {
  const all: number[] = [];
  let hasMoved = false;
  for (const step of steps) {
    if (step.isBad || (step.isRead && !hasMoved) || all.length > MAX_MOVED) continue;
    walkValues(step.value, (record) => {
      for (const [key, value] of Object.entries(record).slice(0, 100))
        if (typeof value === 'number' && !Array.isArray(record)) {
          hasMoved ||= !step.isRead && AMOUNT_KEY.test(key);
          all.push(Math.abs(value));
        } else if (typeof value === 'string' && !step.isRead)
          all.push(...numbersIn(value.slice(0, 500), 8).filter((one) => one < 1e6));
    });
  }
  return hasMoved ? all.slice(0, MAX_MOVED) : [];
}
/** Of more numbers a product is chance. */
const FEW = 9;
/** As it is, in cents, or as a sum, a difference or a product of two. */
const gives = (all: readonly number[], value: number): boolean => {
  const known = new Addends(all);
  const off = Number.isInteger(value) ? 0.499 : 0.011;
  return (
    known.hasWithin(value - off, value + off) ||
    known.hasWithin(value * 100 - 1, value * 100 + 1) ||
    known.hasSum(value, off) ||
    known.hasDifference(value, off) ||
    (all.length < FEW &&
      all.some((one) => one > 1 && known.hasWithin((value - off) / one, (value + off) / one)))
  );
};
