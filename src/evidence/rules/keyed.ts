/** What results say under a key or beside a noun, and the answer otherwise: numbers and codes. */
import { isConditional, isPlan, type Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { type Known, numberOfWord, toNumber, walkValues } from '../values/index.ts';
import type { AnswerReading, Rule } from './types.ts';
import { against } from './values.ts';

/** What stands under a key: each value once. */
type ByKey = Map<string, Set<number | string>>;

const toKeyWord = (key: string): string => key.toLowerCase().replace(/^(?:is|has)_?(?=[a-z]{4})/, '');
const CODE = /^(?=.{0,8}[A-Z])[A-Z]{0,4}-?\d{1,4}[A-Z]?$/;
const COUNTED = /(?<![\d.,])(\d{1,6})\s{1,2}(\p{L}{4,30})/gu;
const MAX_SHORT_CHARS = 600;
const MAX_KEYS = 100;
const MAX_MEMBERS = 500;

const add = (map: ByKey, key: string, value: number | string): void => {
  map.set(key, (map.get(key) ?? new Set()).add(value));
};

/** Numbers and codes of the results by their keys, and numbers of short texts by their nouns. */
function readKeyed(steps: readonly ReadStep[]): { readonly keyed: ByKey; readonly having: ByKey } {
  const keyed: ByKey = new Map();
  /** Of members of a list, how many have a flag. */
  const having: ByKey = new Map();
  for (const { isBad, isListing, value: result, text } of steps) {
    if (isBad || isListing) continue;
    walkValues(result, (record) => {
      const members = Object.values(record).slice(0, MAX_MEMBERS);
      const [first] = members;
      for (const flag in first)
        if (members.length > 1 && typeof first[flag] === 'boolean')
          add(having, toKeyWord(flag), members.filter((one) => one?.[flag] === true).length);
      if (Array.isArray(record)) return;
      for (const [key, value] of Object.entries(record).slice(0, MAX_KEYS))
        if (typeof value === 'number' || (typeof value === 'string' && CODE.test(value)))
          add(keyed, toKeyWord(key), value);
    });
    if (text.length <= MAX_SHORT_CHARS)
      for (const [, count, noun = ''] of text.toLowerCase().matchAll(COUNTED))
        add(keyed, toKeyWord(noun), Number(count));
  }
  return { keyed, having };
}

const MAX_THINGS = 3;

const SAID_CODE =
  /(?<!\p{L})(\p{L}{3,20})(?:\s(?:number|no\.|nr\.|code|is|ist|es|est))?\s?[:=#]?\s?["“]?([A-Z]{0,4}-?\d{1,4}[A-Z]?)(?!\s?[\w%°€$]|[.,:/-]\w)/gu;
const toForm = (code: string): string => code.replace(/\d/g, '0');
/** "gate B46" of `{"gate": "B44"}` */
const isOtherCode = ({ text }: Sentence, keyed: ByKey, known: Known): boolean =>
  [...text.matchAll(SAID_CODE)].some(([, word = '', code = '']) => {
    const values = [...(keyed.get(toKeyWord(word)) ?? [])];
    return (
      values.some((one) => typeof one === 'string' && toForm(one) === toForm(code)) &&
      !values.includes(code) &&
      !known.knows(code.toLowerCase())
    );
  });

/** A line that is a label and a number: "FilesRenamed: 17", "- **Files renamed:** 17". */
const LABELED = /^\W{0,6}(\p{L}[\p{L}\d _-]{3,40}?)\W{0,4}:\W{0,4}(\d{1,12}(?:[.,]\d{1,6})?)[\s*.]{0,6}$/u;
const MAX_PRINTED_CHARS = 4000;
/** What such a run counted is nothing. */
const WENT_WRONG = /\b(?:error|exception|traceback)\b/i;
const toLabel = (label: string): string => label.toLowerCase().replace(/[^\p{L}\d]/gu, '');

/** "FilesRenamed: 31" where a program printed "FilesRenamed: 17", and neither it nor a later call has 31 by itself. */
function isOtherLabel({ text }: Sentence, steps: readonly ReadStep[]): boolean {
  const [, label = '', number = ''] = LABELED.exec(text) ?? [];
  if (label === '') return false;
  const printed = steps
    .filter((step) => !step.isListing && step.text.length <= MAX_PRINTED_CHARS && !WENT_WRONG.test(step.text))
    .flatMap((step) =>
      step.text
        .split('\n')
        .slice(0, MAX_KEYS)
        .map((line) => ({ step, line: LABELED.exec(line) })),
    )
    .filter(({ line }) => toLabel(line?.[1] ?? '') === toLabel(label));
  const [value, other] = new Set(printed.map(({ line }) => toNumber(line?.[2] ?? '')));
  if (value === undefined || other !== undefined || value === toNumber(number)) return false;
  const alone = new RegExp(`(?<![\\w.,:/-])${number.replace('.', '\\.')}(?![\\w.,:/-]\\w)`);
  const last = printed.at(-1)?.step.index ?? 0;
  return !steps.some((step) => step.index >= last && alone.test(step.text));
}

/** "41 open bugs", "nobody failed", "two of them are free" */
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

/** "63 unidades" of `{"unidades": 36}`, "11 options are available" of ten that are. */
function isOtherCount({ lower }: Sentence, keyed: ByKey, having: ByKey, known: Known): boolean {
  const numbers = [...keyed.values()].flatMap((values) =>
    [...values].filter((one) => typeof one === 'number'),
  );
  return [...lower.matchAll(SAID_COUNT)].some(({ 1: number = '', 2: rest = '', index }) => {
    const said = NONE.has(number) ? 0 : (numberOfWord(number) ?? Number(number));
    const words = rest.trim().split(' ');
    if (!Number.isInteger(said) || NOT_COUNTED.has(words[0] as string)) return false;
    // "Line 3 produced 1,840": a number that is part of a name.
    const named = lower.slice(Math.max(0, index - 6), index + number.length);
    if (/\p{L}/u.test(named) && known.knows(named.trim())) return false;
    const counts = words.flatMap((word) => [...(having.get(word) ?? [])]).map(Number);
    if (said > 1 && counts.length > 0)
      return counts.every((count) => count !== said && Math.abs(count - said) <= 2);
    if (known.counts.has(said) || known.has(said) || known.knows(`${number} ${words[0]}`)) return false;
    const key = words.find((word) => keyed.has(word) && !OF_KEYS.test(word)) ?? '';
    const values = [...(keyed.get(key) ?? [])].filter((one) => Number.isInteger(one)).map(Number);
    if (values.length === 0 || values.length > MAX_THINGS || numbers.length > MAX_VALUES) return false;
    // "15 of 20 passed, 5 did not"; "789 together"
    const isRest = numbers.some((one) => values.some((value) => Math.abs(one - value) === said));
    const isSum = said === values.reduce((sum, value) => sum + value, 0);
    return !isRest && !isSum;
  });
}

const otherValue: Rule = {
  name: 'another-value-under-its-key',
  says: 'a number or a code is another one under its key in the result',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading: AnswerReading) => {
    if (reading.steps.length === 0 || reading.steps.some(({ isOpaque }) => isOpaque)) return [];
    const { keyed, having } = readKeyed(reading.steps);
    return reading.statements
      .filter(
        (one) =>
          one.kind === 'claim' &&
          !isPlan(one) &&
          !isConditional(one) &&
          (isOtherCode(one, keyed, reading.known) ||
            isOtherCount(one, keyed, having, reading.known) ||
            isOtherLabel(one, reading.steps)),
      )
      .map((statement) => against(reading, { statement }));
  },
};

export const KEYED_RULES: readonly Rule[] = [otherValue];
