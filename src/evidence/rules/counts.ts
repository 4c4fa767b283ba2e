/** Counts that the results have otherwise. */
import { isPlan, type Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { type Known, numberOfWord, walkValues } from '../values/index.ts';
import { listClaims, on, toKeyWord, toValues } from './keyed.ts';
import type { Rule } from './types.ts';

/** "41 open bugs", "nobody failed", "two of them are free", "3件" */
const SAID_COUNT =
  /(?<![\p{L}\d.,:$€£¥#/-])(?<!(?:of|of the|of our|about|around|over|port|at|than) )(\d{1,6}|[a-z]{2,6})(?: of (?:the|our|your|them|those)(?: \d{1,6})?)?((?: \p{L}[\p{L}-]{1,20}){1,4})/gu;
/** Words after a number that are not what it counts. */
const NOT_COUNTED: ReadonlySet<string> = new Set(
  'not no longer more other to for at per and or hour hours day days minute minutes time times week weeks month months year years percent business working am pm'.split(
    ' ',
  ),
);
const NONE: ReadonlySet<string> = new Set(['no', 'nobody', 'none']);
const OF_KEYS =
  /^(?:total|count|number|num|amount|sum|id|items?|page|limit|year|month|day|attempt|version|price|cost|size|length|minutes|hours|days|seconds|weeks|months|years|km|miles|kg|rate|score|max|min|results?|status|code)$/;
const MAX_VALUES = 12;
const COUNTED = /(?<![\d.,])(\d{1,6})\s{1,2}(\p{L}{4,30})/gu;

const otherCount: Rule = {
  name: 'another-count',
  says: 'a count of something is another one in the result',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const { numbers } = toValues(reading.steps);
    const available = listAvailable(reading.steps);
    const nouns = listNouns(reading.known);
    const many = [...numbers.values()].reduce((sum, values) => sum + values.size, 0);
    return listClaims(reading).flatMap((statement) => {
      if (isPlan(statement)) return [];
      const isOther = [...statement.lower.matchAll(SAID_COUNT)].some(
        ({ 1: number = '', 2: rest = '', index }) => {
          // "Line 3 produced 1,840": a number that is part of a name.
          const named = statement.lower.slice(Math.max(0, index - 6), index + number.length);
          if (/\p{L}/u.test(named) && reading.known.knows(named.trim())) return false;
          const said = NONE.has(number) ? 0 : (numberOfWord(number) ?? Number(number));
          if (!Number.isInteger(said)) return false;
          const words = rest.trim().split(' ');
          if (NOT_COUNTED.has(words[0] as string)) return false;
          if (
            available.length > 0 &&
            /\b(?:available|in stock)\b/.test(statement.lower) &&
            OPTIONS.test(rest)
          )
            return isMiscounted(said, statement, available);
          if (
            reading.known.counts.has(said) ||
            reading.known.knows(`${number}${rest}`.split(' ').slice(0, 2).join(' '))
          )
            return false;
          const key =
            words.find((word) => numbers.get(toKeyWord(word))?.size === 1 && !OF_KEYS.test(word)) ?? '';
          const [known] = numbers.get(toKeyWord(key)) ?? [];
          if (
            known !== undefined &&
            many <= MAX_VALUES &&
            Number.isInteger(known) &&
            Math.abs(known - said) > known * 0.02
          )
            return !isRest(said, known, numbers);
          const given = words.flatMap((word) => [...(nouns.get(word.slice(0, 5)) ?? [])]);
          return (
            given.length > 0 &&
            given.length <= 3 &&
            !given.includes(said) &&
            !reading.known.has(said) &&
            said !== given.reduce((sum, one) => sum + one, 0)
          );
        },
      );
      return isOther ? [on(reading, statement)] : [];
    });
  },
};
const isRest = (said: number, known: number, numbers: ReadonlyMap<string, ReadonlySet<number>>): boolean =>
  said > 0 &&
  [...numbers.values()].some((values) => [...values].some((value) => Math.abs(value - known) === said));
const OPTIONS = /\b(?:options?|variants?|products?|items?|types?|kinds?|choices|different|shirts?|styles?)\b/;
const isMiscounted = (
  said: number,
  { lower }: Sentence,
  available: readonly (readonly [some: number, all: number])[],
): boolean =>
  said > 1 &&
  !available.some(([some]) => some === said) &&
  available.some(
    ([some, all]) => Math.abs(all - said) <= 2 && !new RegExp(`(?<!\\d)${some}(?!\\d)`).test(lower),
  );

/** Of lists or records of things that say whether they are available: how many are, of how many. */
function listAvailable(steps: readonly ReadStep[]): readonly (readonly [some: number, all: number])[] {
  const found: [number, number][] = [];
  for (const step of steps)
    walkValues(step.value, (record) => {
      const things = Object.values(record)
        .slice(0, 500)
        .filter(
          (one): one is { available: boolean } =>
            typeof one === 'object' &&
            one !== null &&
            typeof (one as { available?: unknown }).available === 'boolean',
        );
      if (things.length > 1 && found.length < 50)
        found.push([things.filter(({ available }) => available).length, things.length]);
    });
  return found;
}

/** How often nouns are counted in short results: "0 errors". */
function listNouns(known: Known): ReadonlyMap<string, ReadonlySet<number>> {
  const nouns = new Map<string, Set<number>>();
  for (const step of known.steps) {
    if (step.text.length > 600) continue;
    for (const [, count, noun = ''] of step.text.toLowerCase().matchAll(COUNTED)) {
      const key = noun.slice(0, 5);
      nouns.set(key, (nouns.get(key) ?? new Set()).add(Number(count)));
    }
  }
  return nouns;
}

export const COUNT_RULES: readonly Rule[] = [otherCount];
