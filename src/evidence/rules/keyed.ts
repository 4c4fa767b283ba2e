/** What results say under a key or of a noun, and the answer otherwise: counts, flags, codes, states. */
import { isConditional, isPlan, type Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { walkValues } from '../values/index.ts';
import { onStatement } from './finding.ts';
import type { AnswerReading, Rule } from './types.ts';
import { stepFor } from './values.ts';

export const on = (reading: AnswerReading, statement: Sentence) =>
  onStatement(statement, stepFor(statement, reading.steps));
export const listClaims = (reading: AnswerReading): readonly Sentence[] =>
  reading.steps.length === 0 || reading.steps.some(({ isOpaque }) => isOpaque)
    ? []
    : reading.statements.filter(({ kind }) => kind === 'claim');

export const toKeyWord = (key: string): string =>
  key
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '')
    .replace(/^(?:is|has)_?(?=[a-z]{4})/, '');

interface Values {
  readonly flags: Map<string, Set<boolean>>;
  readonly numbers: Map<string, Set<number>>;
  readonly codes: Map<string, Set<string>>;
  /** How many things have the flag. */
  readonly things: Map<string, number>;
  readonly lastOf: Map<string, number>;
}

const CODE = /^(?=.{0,8}[A-Z])[A-Z]{0,4}-?\d{1,4}[A-Z]?$/;
/** Flags, numbers and codes of the results, by the words of their keys. */
export function toValues(steps: readonly ReadStep[]): Values {
  const values: Values = {
    flags: new Map(),
    numbers: new Map(),
    codes: new Map(),
    things: new Map(),
    lastOf: new Map(),
  };
  const add = <T>(map: Map<string, Set<T>>, key: string, value: T) => {
    const known = map.get(key);
    if (known === undefined) map.set(key, new Set([value]));
    else known.add(value);
  };
  for (const step of steps) {
    if (step.isBad || step.isListing) continue;
    walkValues(step.value, (record) => {
      if (Array.isArray(record)) return;
      for (const key of Object.keys(record).slice(0, 100)) {
        const value = (record as Record<string, unknown>)[key];
        const word = toKeyWord(key);
        if (typeof value === 'boolean') {
          add(values.flags, word, value);
          values.things.set(word, (values.things.get(word) ?? 0) + 1);
          values.lastOf.set(word, step.index);
        } else if (typeof value === 'number') add(values.numbers, word, value);
        else if (typeof value === 'string' && value.length <= 9 && CODE.test(value))
          add(values.codes, word, value);
      }
    });
  }
  return values;
}

const BE: ReadonlySet<string> = new Set("is are isn't aren't ist sind está están est sont".split(' '));
const NOT = /^(?:not|no|never|nicht|pas)$|n't$/;
const FILLERS: ReadonlySet<string> = new Set(
  'currently now still already also fully noch derzeit aktuell'.split(' '),
);
const MAX_THINGS = 3;

const otherFlag: Rule = {
  name: 'another-flag',
  says: 'says of a thing what a flag of the result denies',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const { flags, things, lastOf } = toValues(reading.steps);
    const lastWrite = reading.steps.findLast((step) => !step.isRead)?.index ?? -1;
    return listClaims(reading).flatMap((statement) => {
      if (flags.size === 0 || isConditional(statement) || isPlan(statement)) return [];
      const { words } = statement;
      const isDenied = words.some(({ text }, i) => {
        const seen = text.length >= 5 ? flags.get(text) : undefined;
        if (
          seen === undefined ||
          seen.size > 1 ||
          (things.get(text) ?? 0) > MAX_THINGS ||
          (lastOf.get(text) ?? -1) < lastWrite
        )
          return false;
        const before = words.slice(Math.max(0, i - 4), i).map((word) => word.text);
        const be = before.findLastIndex((word) => BE.has(word));
        if (be < 0 || (be > 0 && before[be - 1] === 'there')) return false;
        if (before.slice(be + 1).some((word) => !FILLERS.has(word) && !NOT.test(word))) return false;
        return seen.has(before.slice(be).some((word) => NOT.test(word)));
      });
      return isDenied ? [on(reading, statement)] : [];
    });
  },
};

const SAID_CODE =
  /(?<!\p{L})(\p{L}{3,20})(?:\s(?:number|no\.|nr\.|code|is|ist|es|est))?\s?[:=#]?\s?["“]?([A-Z]{0,4}-?\d{1,4}[A-Z]?)(?!\s?[\w%°€$]|[.,:/-]\w)/gu;
const toForm = (code: string): string => code.replace(/\d/g, '0');
const otherCode: Rule = {
  name: 'another-code',
  says: 'a code is another one under its key in the result',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const { codes, numbers } = toValues(reading.steps);
    const all = new Set([...numbers.values()].flatMap((values) => [...values]));
    return listClaims(reading).flatMap((statement) => {
      const isOther = [...statement.text.matchAll(SAID_CODE)].some(([, word = '', code = '']) => {
        const key = toKeyWord(word);
        const known = codes.get(key);
        if (known !== undefined)
          return (
            !known.has(code) &&
            !reading.known.knows(code.toLowerCase()) &&
            [...known].some((one) => toForm(one) === toForm(code))
          );
        // "track 4" of `{"track": 7, "coach": 4}`: the number of another key.
        const [one] = numbers.get(key) ?? [];
        if (
          one === undefined ||
          numbers.get(key)?.size !== 1 ||
          one === Number(code) ||
          isPlan(statement) ||
          !/^\d+$/.test(code)
        )
          return false;
        return (
          (all.has(Number(code)) || all.size <= 4) && !reading.known.knows(`${word.toLowerCase()} ${code}`)
        );
      });
      return isOther ? [on(reading, statement)] : [];
    });
  },
};

/** States that exclude each other, in texts in lower case. */
const STATES: readonly (readonly string[])[] = [
  ['sunny', 'rain', 'cloud', 'snow', 'clear', 'fog', 'overcast'],
  ['晴', '雨', '雪', '多云', '曇'],
  ['approved', 'rejected', 'declined'],
  ['online', 'offline'],
  ['enabled', 'disabled'],
  ['运输中', '签收', '已发货', '已取消'],
  ['delivered', 'pending', 'shipped', 'processing', 'queued'],
  ['open', 'closed', 'locked'],
];
const MAX_STATE_CHARS = 300;
const otherState: Rule = {
  name: 'another-state',
  says: 'gives a thing another state than the result',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const looks = reading.steps.filter((step) => !step.isListing);
    const result = looks.at(-1)?.text.toLowerCase() ?? '';
    const statements = listClaims(reading);
    if (result.length > MAX_STATE_CHARS || looks.length > 2 || statements.length > 6) return [];
    for (const states of STATES) {
      const given = states.filter(
        (state) => result.includes(state) && !new RegExp(`"${state}(?:e?d)?":false`).test(result),
      );
      const said = statements.filter(({ lower }) => states.some((state) => lower.includes(state)));
      const [first] = said;
      if (
        given.length === 1 &&
        first !== undefined &&
        !isPlan(first) &&
        !said.some(({ lower }) => lower.includes(given[0] as string))
      )
        return [on(reading, first)];
    }
    return [];
  },
};

export const KEYED_RULES: readonly Rule[] = [otherFlag, otherCode, otherState];
