import { type Figure, figuresOf, NUMBER_WORDS } from './figures.ts';
import { isConditional, isPlan } from './sentences.ts';
import type { ReadStep, Sentence } from './types.ts';

const MAX_NODES = 3000;
const MAX_DEPTH = 6;
const MAX_CHECKED = 128;
/** A flag of more things than this is not the flag of the one that the answer speaks of. */
const MAX_THINGS = 3;
/** Codes as results give them: `E34`, `T88`, `14C`. */
const CODE = /^(?=.{0,8}[A-Z])[A-Z]{0,4}-?\d{1,4}[A-Z]?$/;
const SAID_CODE =
  /(?<!\p{L})(\p{L}{3,20})(?:\s(?:number|no\.|nr\.|code|is|ist|es|est))?\s?[:=#]?\s?["“]?([A-Z]{0,4}-?\d{1,4}[A-Z]?)(?![\w%°€$]|[.,:/-]\w)/gu;
const SAID_NUMBER =
  /(?<!\p{L})(\p{L}{3,20})(?:\s(?:number|no\.|nr\.|is|ist|es|est))?\s?[:=#]?\s(\d{1,4})(?=\s{0,3}(?:[.,;!?)](?!\d)|$|(?:and|und|y|et|e)\s))/gu;
/** A record with few numbers: each has its key. */
const FEW_VALUES = 4;
const MAX_VALUES = 8;
/** "41 open bugs", "nobody failed", "two of them are free" */
const SAID_COUNT =
  /(?<![\p{L}\d.,:$€£#-])(?<!(?:of|of the|of our|about|port|at) )(\d{1,6}|no|nobody|none|(?:on|tw|thre|fou?r|fiv|si|seve|eigh|nin|te)[a-z]{0,2})(?: of (?:the|our|your|them|those)(?: \d{1,6})?)?((?: (?!not|no|longer|more|other|to|for|at|per|hours?|days?|minutes?)\p{L}{2,20}){1,3})/gu;
const NO_KEY =
  /^(?:total|count|number|num|amount|sum|id|items?|page|limit|year|month|day|attempt|version|price|cost|size|length|minutes|hours|days|seconds|weeks|months|years|km|miles|kg)$/;
const ROUNDED = 0.02;
/** Keys have no accents: `via` of "vía". */
const plain = (word: string): string =>
  word
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '')
    .normalize('NFC');
const BE = /^(?:is|are|isn't|aren't|ist|sind|está|están|est|sont)$/;
const NOT = /^(?:not|no|never|nicht|pas)$|n't$/;
const UP =
  /\b(?:rose|risen|increased?|grew|grown|climbed|gained|(?:went|gone|was|is|are) up|stieg|gestiegen|subió|aumentó)\b/i;
const DOWN =
  /\b(?:fell|fallen|dropped|decreased?|declined|lost|loss|reduced|(?:went|gone|was|is|are) down|sank|gesunken|bajó|disminuyó)\b/i;

interface Flag {
  readonly seen: Set<boolean>;
  things: number;
  index: number;
}

/** Codes and flags by the keys of the results, as answers name them: "gate E34", "is insured". */
export class Keyed {
  readonly #codes = new Map<string, Set<string>>();
  readonly #flags = new Map<string, Flag>();
  readonly #numbers = new Map<string, Set<number>>();
  /** All numbers under keys. */
  readonly #values = new Set<number>();
  #left = MAX_CHECKED;
  readonly #lastWrite: number;
  readonly #knows: (text: string) => boolean;

  constructor(steps: readonly ReadStep[], knows: (text: string) => boolean) {
    this.#knows = knows;
    this.#lastWrite = steps.findLast((step) => !step.isRead)?.index ?? -1;
    let left = MAX_NODES;
    const walk = (value: unknown, index: number, depth: number): void => {
      if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
      for (const key in value) {
        if (left-- <= 0) return;
        const member = (value as Record<string, unknown>)[key];
        if (typeof member === 'boolean') this.#addFlag(key, member, index);
        else if (typeof member === 'string' && member.length <= 9 && CODE.test(member))
          this.#addCode(key, member);
        else if (typeof member === 'number') this.#addNumber(key, member);
        else walk(member, index, depth + 1);
      }
    };
    for (const step of steps) if (!step.isBad) walk(step.value, step.index, 0);
  }

  /** A code or a flag of the sentence, or a change that its own figures deny, is against the results. */
  contradict(sentence: Sentence): boolean {
    if (sentence.isQuestion) return false;
    return (
      this.#hasOtherCode(sentence.text) ||
      (!isPlan(sentence) && this.#hasOtherNumber(sentence.lower)) ||
      this.#hasOtherFlag(sentence) ||
      goesTheOtherWay(sentence, figuresOf(sentence))
    );
  }

  #addCode(key: string, code: string): void {
    const name = wordOf(key);
    const codes = this.#codes.get(name);
    if (codes === undefined) this.#codes.set(name, new Set([code]));
    else codes.add(code);
  }

  #addNumber(key: string, value: number): void {
    const name = plain(wordOf(key));
    this.#values.add(value);
    const known = this.#numbers.get(name);
    if (known === undefined) this.#numbers.set(name, new Set([value]));
    else known.add(value);
  }

  /** "track 4" of `{"track": 7, "coach": 4}`: the number of another key. */
  #hasOtherNumber(lower: string): boolean {
    for (const [, word = '', number = ''] of lower.matchAll(SAID_NUMBER)) {
      if (this.#left-- <= 0) return false;
      const known = this.#numbers.get(plain(word));
      const said = Number(number);
      if (known?.size !== 1 || known.has(said)) continue;
      if (!this.#values.has(said) && this.#values.size > FEW_VALUES) continue;
      if (!this.#knows(`${word} ${number}`)) return true;
    }
    return this.#values.size <= MAX_VALUES && this.#left-- > 0 && this.#hasOtherCount(lower);
  }

  /** "41 open" of `{"open": 14, "closed": 41}` */
  #hasOtherCount(lower: string): boolean {
    for (const { 1: number = '', 2: rest = '', index } of lower.matchAll(SAID_COUNT)) {
      const said = number.startsWith('no') ? 0 : (NUMBER_WORDS.get(number) ?? Number(number));
      const key =
        rest.split(' ').find((word) => this.#numbers.get(word)?.size === 1 && !NO_KEY.test(word)) ?? '';
      const [known = Number.NaN] = this.#numbers.get(key) ?? [];
      if (!Number.isInteger(known) || !(Math.abs(known - said) > known * ROUNDED)) continue;
      const isRest = said > 0 && [...this.#values].some((value) => Math.abs(value - known) === said);
      const named = lower.slice(Math.max(0, index - 5), index + number.length);
      if (!isRest && !this.#knows(`${number} ${key}`) && !this.#knows(named)) return true;
    }
    return false;
  }

  #addFlag(key: string, value: boolean, index: number): void {
    const name = wordOf(key);
    const flag = this.#flags.get(name);
    if (flag === undefined) this.#flags.set(name, { seen: new Set([value]), things: 1, index });
    else {
      flag.seen.add(value);
      flag.things++;
      flag.index = Math.max(flag.index, index);
    }
  }

  #hasOtherCode(text: string): boolean {
    if (this.#codes.size === 0) return false;
    for (const [, word = '', code = ''] of text.matchAll(SAID_CODE)) {
      const codes = this.#codes.get(word.toLowerCase());
      if (codes === undefined || codes.has(code) || this.#knows(code.toLowerCase())) continue;
      if ([...codes].some((known) => formOf(known) === formOf(code))) return true;
    }
    return false;
  }

  #hasOtherFlag(sentence: Sentence): boolean {
    if (this.#flags.size === 0 || isConditional(sentence) || isPlan(sentence)) return false;
    const { words } = sentence;
    return words.some(({ text }, i) => {
      const flag = text.length >= 5 ? this.#flags.get(text) : undefined;
      if (flag === undefined || flag.seen.size > 1 || flag.things > MAX_THINGS) return false;
      if (flag.index < this.#lastWrite) return false;
      const before = words.slice(Math.max(0, i - 4), i).map((word) => word.text);
      const be = before.findLastIndex((word) => BE.test(word));
      // "There are no direct flights" is said of flights.
      if (be > 0 && before[be - 1] === 'there') return false;
      if (be < 0 || before.slice(be + 1).some((word) => !FILLERS.has(word) && !NOT.test(word))) return false;
      const isDenied = before.slice(be).some((word) => NOT.test(word));
      return flag.seen.has(isDenied);
    });
  }
}

const FILLERS = new Set([
  'currently',
  'now',
  'still',
  'already',
  'also',
  'fully',
  'noch',
  'derzeit',
  'aktuell',
]);
const wordOf = (key: string): string => key.toLowerCase().replace(/^(?:is|has)_?(?=[a-z]{4})/, '');
const formOf = (code: string): string => code.replace(/\d/g, '0');

/** "went up, from 82.4 to 79.9" */
function goesTheOtherWay({ text }: Sentence, figures: readonly Figure[]): boolean {
  const pair = figures.findIndex((from, i) => {
    const to = figures[i + 1];
    return (
      to !== undefined &&
      FROM.test(text.slice(Math.max(0, from.start - 8), from.start)) &&
      TO.test(text.slice(from.end, to.start))
    );
  });
  if (pair < 0) return false;
  const isUp = UP.test(text);
  if (isUp === DOWN.test(text)) return false;
  const change = (figures[pair + 1] as Figure).value - (figures[pair] as Figure).value;
  return isUp ? change < 0 : change > 0;
}
const FROM = /(?:from|von|de)\s?\W{0,3}$/i;
const TO = /^\W{0,4}(?:[\p{L}%°]{1,12}\s)?(?:to|auf|a)\s?\W{0,3}$/iu;
