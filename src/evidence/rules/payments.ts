/** Money that was moved. */
import type { ReadStep } from '../trace/index.ts';
import { Addends, numbersIn, walkValues } from '../values/index.ts';
import { isSum, listFigures } from './facts.ts';
import type { Rule } from './types.ts';
import { against, perStatement } from './values.ts';

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
    if (amounts.moved.length === 0) return [];
    return perStatement(
      reading.facts.flatMap((fact) => {
        const { statement } = fact;
        if (fact.kind !== 'figure' || fact.figure.dimension !== 'money' || fact.figure.value < 1) return [];
        if (
          statement.kind !== 'claim' ||
          !PAID.test(statement.lower) ||
          !HAPPENED.test(statement.lower) ||
          SUPPOSED.test(statement.lower)
        )
          return [];
        return gives(amounts, fact.figure.value) || isSum(fact.figure, listFigures(reading.facts))
          ? []
          : [against(reading, fact)];
      }),
    );
  },
};

interface Moved {
  /** Amounts of the calls that moved money. */
  readonly moved: readonly number[];
  /** All numbers of these calls and of looks after them. */
  readonly all: readonly number[];
}
const MAX_MOVED = 200;
const MAX_SUMMED = 8;
/** Of more numbers a product is chance. */
const FEW = 9;
function movedAmounts(steps: readonly ReadStep[]): Moved {
  const [moved, all]: [number[], number[]] = [[], []];
  for (const step of steps) {
    if (step.isBad || (step.isRead && moved.length === 0) || all.length > MAX_MOVED) continue;
    const before = moved.length;
    walkValues(step.value, (record) => {
      for (const key of Object.keys(record).slice(0, 100)) {
        const value = (record as Record<string, unknown>)[key];
        if (typeof value === 'number' && !Array.isArray(record)) {
          if (AMOUNT_KEY.test(key)) moved.push(Math.abs(value));
          all.push(Math.abs(value));
        } else if (typeof value === 'string' && !step.isRead)
          all.push(...numbersIn(value.slice(0, 500), 8).filter((one) => one < 1e6));
      }
    });
    if (step.isRead) moved.length = before;
  }
  return { moved, all: all.slice(0, MAX_MOVED) };
}
/** As it is, in cents, rounded, or as a sum, a difference or a product of them. */
const gives = ({ moved, all }: Moved, value: number): boolean => {
  const known = new Addends(all);
  const off = Number.isInteger(value) ? 0.499 : 0.011;
  const isKnown =
    known.hasWithin(value - off, value + off) ||
    known.hasWithin(Math.max(100, value * 100 - 0.011), value * 100 + 0.011) ||
    known.hasSum(value, off) ||
    known.hasDifference(value, off);
  if (isKnown) return true;
  const sums = [0];
  for (const number of moved.slice(0, MAX_SUMMED)) for (const sum of sums.slice()) sums.push(sum + number);
  return (
    new Addends(sums).hasWithin(value - off, value + off) ||
    (all.length < FEW &&
      all.some((one) => one !== 0 && known.hasWithin((value - off) / one, (value + off) / one)))
  );
};
