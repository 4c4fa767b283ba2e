/** What results say under a key or beside a noun, and the answer otherwise: numbers, flags, codes. */
import { isConditional, isPlan, type Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { type Known, numberOfWord, toNumber, walkValues } from '../values/index.ts';
import type { AnswerReading, Rule } from './types.ts';
import { against } from './values.ts';

/** What stands under a key. */
interface Keyed {
  /** Each value once. */
  readonly values: Set<number | boolean | string>;
  /** How often the key is there. */
  times: number;
  /** The last call that has it. */
  step: number;
}
type ByKey = ReadonlyMap<string, Keyed>;

const toKeyWord = (key: string): string => key.toLowerCase().replace(/^(?:is|has)_?(?=[a-z]{4})/, '');
const CODE = /^(?=.{0,8}[A-Z])[A-Z]{0,4}-?\d{1,4}[A-Z]?$/;
const COUNTED = /(?<![\d.,])(\d{1,6})\s{1,2}(\p{L}{4,30})/gu;
const MAX_SHORT_CHARS = 600;
const MAX_KEYS = 100;
const MAX_MEMBERS = 500;

function addValue(
  map: Map<string, Keyed>,
  key: string,
  value: number | boolean | string,
  step: number,
): void {
  const known = map.get(key) ?? { values: new Set(), times: 0, step };
  known.values.add(value);
  known.times++;
  known.step = step;
  map.set(key, known);
}

/** Numbers, flags and codes of the results by their keys, and numbers of short texts by their nouns. */
function readKeyed(steps: readonly ReadStep[]): { readonly keyed: ByKey; readonly having: ByKey } {
  const keyed = new Map<string, Keyed>();
  /** Of members of a list, how many have a flag. */
  const having = new Map<string, Keyed>();
  const add = (map: Map<string, Keyed>, name: string, value: number | boolean | string, step: number) =>
    addValue(map, toKeyWord(name), value, step);
  for (const { isBad, isListing, value: result, text, index } of steps) {
    if (isBad || isListing) continue;
    walkValues(result, (record) => {
      const members = Object.values(record).slice(0, MAX_MEMBERS);
      const [first] = members;
      for (const flag in first)
        if (members.length > 1 && typeof first[flag] === 'boolean')
          add(having, flag, members.filter((one) => one?.[flag] === true).length, index);
      if (Array.isArray(record)) return;
      for (const [key, value] of Object.entries(record).slice(0, MAX_KEYS))
        if (
          typeof value === 'boolean' ||
          typeof value === 'number' ||
          (typeof value === 'string' && CODE.test(value))
        )
          add(keyed, key, value, index);
    });
    if (text.length <= MAX_SHORT_CHARS)
      for (const [, count, noun = ''] of text.toLowerCase().matchAll(COUNTED))
        add(keyed, noun, Number(count), index);
  }
  return { keyed, having };
}

const BE: ReadonlySet<string> = new Set("is are isn't aren't ist sind está están est sont".split(' '));
const NOT = /^(?:not|no|never|nicht|pas)$|n't$/;
const MAX_THINGS = 3;
const MIN_FLAG = 5;

/** "is insured" of `{"insured": false}` */
const isOtherFlag = ({ words }: Sentence, keyed: ByKey, lastWrite: number): boolean =>
  words.some(({ text }, i) => {
    const { values, times = 0, step = 0 } = keyed.get(text) ?? {};
    const [flag, other] = values ?? [];
    if (text.length < MIN_FLAG || typeof flag !== 'boolean' || other !== undefined) return false;
    if (times > MAX_THINGS || step < lastWrite) return false;
    const before = words.slice(Math.max(0, i - 3), i).map((word) => word.text);
    const be = before.findLastIndex((word) => BE.has(word));
    const isBeside =
      be >= 0 &&
      before[be - 1] !== 'there' &&
      before.slice(be + 1).every((word) => NOT.test(word) || word.length > 2);
    return isBeside && flag === before.slice(be).some((word) => NOT.test(word));
  });

const SAID_CODE =
  /(?<!\p{L})(\p{L}{3,20})(?:\s(?:number|no\.|nr\.|code|is|ist|es|est))?\s?[:=#]?\s?["“]?([A-Z]{0,4}-?\d{1,4}[A-Z]?)(?!\s?[\w%°€$]|[.,:/-]\w)/gu;
const toForm = (code: string): string => code.replace(/\d/g, '0');
/** "gate B46" of `{"gate": "B44"}` */
const isOtherCode = ({ text }: Sentence, keyed: ByKey, known: Known): boolean =>
  [...text.matchAll(SAID_CODE)].some(([, word = '', code = '']) => {
    const values = [...(keyed.get(toKeyWord(word))?.values ?? [])];
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

/** What programs print as a label and a number, where each label has one number. */
function readLabeled(steps: readonly ReadStep[]): ReadonlyMap<string, Keyed> {
  const labeled = new Map<string, Keyed>();
  for (const { isListing, text, index } of steps) {
    if (isListing || text.length > MAX_PRINTED_CHARS || WENT_WRONG.test(text)) continue;
    for (const line of text.split('\n').slice(0, MAX_KEYS)) {
      const [, label = '', number = ''] = LABELED.exec(line) ?? [];
      if (label !== '') addValue(labeled, toLabel(label), toNumber(number), index);
    }
  }
  return labeled;
}

/** "FilesRenamed: 31" where a program printed "FilesRenamed: 17", and neither it nor a later call has 31 by itself. */
function isOtherLabel({ text }: Sentence, labeled: ByKey, steps: readonly ReadStep[]): boolean {
  const [, label = '', number = ''] = LABELED.exec(text) ?? [];
  const { values, step = 0 } = labeled.get(toLabel(label)) ?? {};
  if (values?.size !== 1 || values.has(toNumber(number))) return false;
  const alone = new RegExp(`(?<![\\w.,:/-])${number.replace('.', '\\.')}(?![\\w.,:/-]\\w)`);
  return !steps.some(({ index, text: printed }) => index >= step && alone.test(printed));
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
  const numbers = [...keyed.values()].flatMap(({ values }) =>
    [...values].filter((one) => typeof one === 'number'),
  );
  return [...lower.matchAll(SAID_COUNT)].some(({ 1: number = '', 2: rest = '', index }) => {
    const said = NONE.has(number) ? 0 : (numberOfWord(number) ?? Number(number));
    const words = rest.trim().split(' ');
    if (!Number.isInteger(said) || NOT_COUNTED.has(words[0] as string)) return false;
    // "Line 3 produced 1,840": a number that is part of a name.
    const named = lower.slice(Math.max(0, index - 6), index + number.length);
    if (/\p{L}/u.test(named) && known.knows(named.trim())) return false;
    const counts = words.flatMap((word) => [...(having.get(word)?.values ?? [])]).map(Number);
    if (said > 1 && counts.length > 0)
      return counts.every((count) => count !== said && Math.abs(count - said) <= 2);
    if (known.counts.has(said) || known.has(said) || known.knows(`${number} ${words[0]}`)) return false;
    const key = words.find((word) => keyed.has(word) && !OF_KEYS.test(word)) ?? '';
    const values = [...(keyed.get(key)?.values ?? [])].filter((one) => Number.isInteger(one)).map(Number);
    if (values.length === 0 || values.length > MAX_THINGS || numbers.length > MAX_VALUES) return false;
    // "15 of 20 passed, 5 did not"; "789 together"
    const isRest = numbers.some((one) => values.some((value) => Math.abs(one - value) === said));
    const isSum = said === values.reduce((sum, value) => sum + value, 0);
    return !isRest && !isSum;
  });
}

const otherValue: Rule = {
  name: 'another-value-under-its-key',
  says: 'a number, a flag or a code is another one under its key in the result',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading: AnswerReading) => {
    if (reading.steps.length === 0 || reading.steps.some(({ isOpaque }) => isOpaque)) return [];
    const { keyed, having } = readKeyed(reading.steps);
    const labeled = readLabeled(reading.steps);
    const lastWrite = reading.steps.findLast((step) => !step.isRead)?.index ?? -1;
    return reading.statements
      .filter(
        (one) =>
          one.kind === 'claim' &&
          !isPlan(one) &&
          !isConditional(one) &&
          (isOtherFlag(one, keyed, lastWrite) ||
            isOtherCode(one, keyed, reading.known) ||
            isOtherCount(one, keyed, having, reading.known) ||
            isOtherLabel(one, labeled, reading.steps)),
      )
      .map((statement) => against(reading, { statement }));
  },
};

export const KEYED_RULES: readonly Rule[] = [otherValue];
