/** Members of a list that have a flag, which the answer counts otherwise. */
import { isConditional, isPlan, type Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { numberOfWord, walkValues } from '../values/index.ts';
import { against } from './finding.ts';
import type { Rule } from './types.ts';

const MAX_COUNTED = 500;
/** Further off, something else was counted. */
const MAX_OFF = 2;

/** Of each list, how many of its members have a flag, by the flag. */
function countFlags(steps: readonly ReadStep[]): ReadonlyMap<string, ReadonlySet<number>> {
  const counts = new Map<string, Set<number>>();
  for (const { isBad, isListing, value } of steps)
    if (!isBad && !isListing)
      walkValues(value, (record) => {
        const members = Object.values(record).slice(0, MAX_COUNTED);
        for (const flag in members[0])
          if (members.length > 1 && typeof members[0][flag] === 'boolean' && flag !== 'required') {
            const count = members.filter((one) => one?.[flag] === true).length;
            const word = flag.toLowerCase().replace(/^(?:is|has)_?(?=[a-z]{4})/, '');
            counts.set(word, (counts.get(word) ?? new Set()).add(count));
          }
      });
  return counts;
}

/** "11 options are available", "two of them are free" */
const SAID_COUNT =
  /(?<![\p{L}\d.,:$€£¥#/-])(?<!(?:of|of the|about|around|over|at|than) )(\d{1,6}|[a-z]{2,6})(?=((?: \p{L}[\p{L}-]{1,20}){1,4}))/gu;
const isOtherCount = ({ lower }: Sentence, flags: ReadonlyMap<string, ReadonlySet<number>>): boolean =>
  [...lower.matchAll(SAID_COUNT)].some(([, number = '', rest = '']) => {
    const said = numberOfWord(number) ?? Number(number);
    const counts = rest.split(' ').flatMap((word) => [...(flags.get(word) ?? [])]);
    return (
      said > 1 &&
      counts.length > 0 &&
      counts.every((count) => count !== said && Math.abs(count - said) <= MAX_OFF)
    );
  });

export const otherCount: Rule = {
  name: 'another-count-of-members',
  says: 'says how many members of a list have a flag, and another number has it',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: ({ steps, statements }) => {
    const flags = countFlags(steps);
    return statements
      .filter(
        (one) => one.kind === 'claim' && !isPlan(one) && !isConditional(one) && isOtherCount(one, flags),
      )
      .map((one) => against(one, steps));
  },
};
