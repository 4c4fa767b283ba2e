import { Addends } from './derive.ts';
import { HALF } from './figure-context.ts';
import { type Figure, NUMBER_WORDS, numbersIn } from './figures.ts';
import { idsWithPlace, tokensIn } from './names.ts';
import { Slips } from './slips.ts';
import { Spans } from './spans.ts';
import type { ReadStep } from './types.ts';

const MAX_TEXT_CHARS = 24_576;
const MAX_PROMPT_CHARS = 8192;
/** With fewer numbers those of the answer may be combined. */
const FEW_NUMBERS = 12;
/** Of more numbers two are near any rounded one. */
const MAX_ROUNDED = 16;
/** Of more text a part may be missing. */
const MAX_WHOLE_CHARS = 16_384;
const MAX_NUMBERS = 1500;
const MAX_IDS = 2000;
/** Of this many numbers sums and differences of pairs are formed. */
const MAX_ADDENDS = 600;
const MAX_SALIENT = 120;

const MAX_ID_CHARS = 40_960;
/** Counts of languages that have words for counting. */
export const COUNTERS = /(\d{1,6})\s?(件|個|条|个|人|台)/gu;
const MEASURE = /\d{1,9}(?:\.\d{1,6})?\s?([a-z]{1,3}(?:\/[a-z])?)(?![a-z])/gi;
const COUNTED = /(?<![\d.])(\d{1,6})\s{1,2}(\p{L}{4,30})|"([^"]{1,40})"\s?:\s?(\d{1,6})(?![\d.])/gu;

/** What the results, the arguments and the prompt hold, by which a figure of the answer is checked. */
export class Evidence {
  readonly text: string;
  readonly prompt: string;
  readonly numbers: readonly number[];
  #ids: ReadonlySet<string> | undefined;
  /** Sizes of lists, and how often each tool was called. */
  readonly counts: ReadonlySet<number>;
  /** Sizes of the lists of results, together. */
  readonly listed: number;
  /** Of lists whose members say whether they are available: how many are, of how many. */
  readonly available: readonly (readonly [available: number, all: number])[];
  readonly #has: ReadonlySet<number>;
  readonly #steps: readonly ReadStep[];
  #salient: readonly number[] | undefined;
  #nouns: ReadonlyMap<string, readonly (readonly [noun: string, count: number])[]> | undefined;
  readonly #sorted: Addends;
  #addends: Addends | undefined;
  /** Of the latest numbers and of so many supported ones. */
  #near: { readonly count: number; readonly addends: Addends } | undefined;
  #lower: string | undefined;
  /** Lengths of time. */
  readonly spans: Spans;
  readonly #tools: string;
  #units: ReadonlySet<string> | undefined;
  #forms: ReadonlySet<string> | undefined;
  #tokenSlips: Slips | undefined;
  #counters: ReadonlySet<string> | undefined;
  #idSlips: Slips | undefined;
  #digitSlips: Slips | undefined;
  #endSlips: Slips | undefined;

  constructor(prompt: string, steps: readonly ReadStep[]) {
    this.text = steps
      .map((step) => `${step.text}\n${step.argumentsText}`)
      .join('\n')
      .slice(-MAX_TEXT_CHARS);
    this.prompt = prompt.slice(-MAX_PROMPT_CHARS);
    const worded = this.prompt.toLowerCase().match(/\p{L}{3,8}/gu) ?? [];
    const has = new Set([
      ...numbersIn(this.prompt, MAX_NUMBERS),
      ...numbersIn(this.text, MAX_NUMBERS),
      ...worded.flatMap((word) => NUMBER_WORDS.get(word) ?? []),
    ]);
    this.#has = has;
    this.numbers = [...has];
    this.spans = new Spans(() => this.#all(), has);
    this.#sorted = new Addends(this.numbers);
    this.#steps = steps;
    const lists = listsIn(steps);
    this.available = lists.available;
    this.listed = lists.arrays.reduce((sum, size) => sum + size, 0);
    this.#tools = steps.map((step) => step.tool).join(' ');
    const calls = new Map<string, number>();
    for (const step of steps) calls.set(step.tool, (calls.get(step.tool) ?? 0) + 1);
    this.counts = new Set([...lists.sizes, ...calls.values(), steps.length]);
  }

  /** Words that hold letters and digits, or four digits and more. */
  get ids(): ReadonlySet<string> {
    if (this.#ids === undefined) {
      const found = idsWithPlace(`${this.text}\n${this.prompt}`.slice(-MAX_ID_CHARS));
      this.#ids = new Set(found.slice(-MAX_IDS).map(({ id }) => id));
    }
    return this.#ids;
  }

  /** The numbers of the latest steps and of the prompt's end. */
  #latest(): readonly number[] {
    if (this.#salient === undefined) {
      const recent = this.#steps
        .filter((step) => step.tool !== 'think')
        .slice(-4)
        .map((step) => `${step.text.slice(-1500)} ${step.argumentsText}`)
        .join('\n');
      this.#salient = [
        ...new Set(numbersIn(`${recent} ${this.prompt.slice(-1500)}`, MAX_SALIENT).map(Math.abs)),
      ];
    }
    return this.#salient;
  }

  /** Whether a name is no name of the evidence and looks like one: one slip away, or of its series (`OPS-103`). */
  hasLikeOf({ token, form }: { readonly token: string; readonly form: string }): boolean {
    if (this.#forms === undefined || this.#tokenSlips === undefined) {
      const tokens = tokensIn(this.#all());
      this.#forms = new Set(tokens.map((one) => one.form));
      this.#tokenSlips = new Slips(new Set(tokens.map((one) => one.token)));
    }
    // "v1.8.1" of `1.8.1`
    const plain = /^v\d/.test(token) ? token.slice(1) : token;
    if (!this.#forms.has(form) || this.#all().includes(plain)) return false;
    const isSeries = /^[a-z]{2,}-0{2,}$/.test(form) && this.#all().length < MAX_WHOLE_CHARS;
    return isSeries || this.#tokenSlips.has(token);
  }

  /** All text in lower case. */
  #all(): string {
    this.#lower ??= `${this.text}\n${this.prompt}\n${this.#tools}`.toLowerCase();
    return this.#lower;
  }

  /** Whether the results, their tools or the user have a text, given in lower case. */
  knows(text: string): boolean {
    return this.#all().includes(text);
  }

  /** Whether a number of the evidence has this unit: `km/h`. */
  hasUnit(unit: string): boolean {
    this.#units ??= new Set(
      [...this.text.matchAll(MEASURE)].map((match) => (match[1] as string).toLowerCase()),
    );
    return this.#units.has(unit);
  }

  /** Whether the evidence counts with this counter: `3件`. */
  hasCounter(counter: string): boolean {
    this.#counters ??= new Set([...this.text.matchAll(COUNTERS)].map((match) => match[2] as string));
    return this.#counters.has(counter);
  }

  /** Whether an identifier is one character off one of the evidence. */
  hasSlipOf(id: string): boolean {
    this.#idSlips ??= new Slips(new Set([...this.ids].map((known) => known.toLowerCase())));
    const isChance = /^\d+$/.test(id) && this.#idSlips.countOf(id) > mostOfLength(id);
    return !isChance && this.#idSlips.has(id.toLowerCase());
  }

  /** Whether digits that something ends in are one digit off the end of an identifier. */
  endsLike(digits: string): boolean {
    this.#endSlips ??= new Slips(
      new Set([...this.ids].flatMap((id) => (/\d{4}$/.test(id) ? [id.slice(-digits.length)] : []))),
    );
    return this.#endSlips.has(digits);
  }

  /** Whether a number is one digit off one of the evidence. */
  hasSlipOfNumber(value: number): boolean {
    this.#digitSlips ??= new Slips(
      new Set(
        this.numbers.flatMap((number) => (Number.isInteger(number) ? wholeForm(number) : formsOf(number))),
      ),
    );
    return isSlipAmong(value, this.#digitSlips);
  }

  /** Whether the results, their tools or the user name it. */
  speaksOf(noun: string): boolean {
    const stem = noun.slice(0, Math.max(4, noun.length - 2));
    return this.#all().includes(stem);
  }

  /** The number of results that name it. */
  resultsWith(noun: string): number {
    const stem = noun.slice(0, Math.max(4, noun.length - 2));
    return this.#steps.filter(({ text }) => text.toLowerCase().includes(stem)).length;
  }

  has(value: number): boolean {
    return this.#has.has(value);
  }

  /** How often the noun is counted in the evidence, by its numbers: "0 errors", `"errors": 0`. */
  countsOf(noun: string): readonly number[] {
    const stem = noun.slice(0, Math.max(4, noun.length - 2)).toLowerCase();
    this.#nouns ??= nounsIn(this.text);
    return (this.#nouns.get(stem.slice(0, 4)) ?? []).flatMap(([word, count]) =>
      word.startsWith(stem) ? [count] : [],
    );
  }

  /** Whether the evidence has the figure: equal, rounded, as a share, or in the other scale of temperature. */
  states(figure: Figure): boolean {
    const { value, tolerance, plain } = figure;
    if (plain !== Math.abs(value) && this.#has.has(plain)) return true;
    const has = (center: number, off: number) => this.#sorted.hasWithin(center - off, center + off);
    if (has(value, tolerance) || (Number.isInteger(value) && has(value, HALF))) return true;
    // "down 2.4 %" of -2.4312.
    if (
      (value < 0 || figure.isMoney || figure.isPercent) &&
      has(-value, Number.isInteger(value) ? HALF : tolerance)
    )
      return true;
    if (figure.isPercent && has(value / 100, (Number.isInteger(value) ? HALF : tolerance) / 100)) return true;
    return figure.isTemperature && (has((value - 32) / 1.8, 0.561) || has(value * 1.8 + 32, 1.818));
  }

  /** Whether the value is a sum or difference of two numbers. */
  addsUpTo(value: number): boolean {
    return this.#sorted.pairs(Math.abs(value), HALF / 100);
  }

  /** Whether a rounded figure ("1.37 million", "about $76") is a sum, difference or share of two numbers of the evidence. */
  sumsTo({ value, tolerance }: Figure): boolean {
    const size = Math.abs(value);
    if (tolerance > 1)
      return (
        this.numbers.length <= MAX_ROUNDED &&
        (this.#sorted.pairs(size, tolerance) || this.#sorted.shares(size, tolerance))
      );
    return tolerance > 0.5 && this.#sorted.pairsOfFractions(size, tolerance);
  }

  /**
   * The value is a sum, difference, small multiple, share or another unit of numbers in the evidence. `isSlip`: it is one
   * digit off a number of the evidence; then only the latest numbers count, or chance would excuse most slips.
   */
  derives(value: number, supported: readonly number[], isSlip: boolean): boolean {
    if (isSlip) {
      // What is supported only grows.
      if (this.#near?.count !== supported.length)
        this.#near = { count: supported.length, addends: new Addends([...this.#latest(), ...supported]) };
      return this.#near.addends.derive(value, false);
    }
    this.#addends ??= new Addends(
      this.numbers
        .filter((number) => Math.abs(number) < (Number.isInteger(number) ? 1e5 : 1e7))
        .slice(-MAX_ADDENDS),
    );
    if (this.#addends.derive(value, true)) return true;
    if (supported.length === 0) return false;
    const isFew = this.numbers.length <= FEW_NUMBERS;
    return new Addends(isFew ? [...this.numbers, ...supported] : supported).derive(value, isFew);
  }
}

/** Of more numbers of a length, one is near any number by chance. */
const mostOfLength = (form: string): number => {
  const digits = form.replace(/\.00$|\D/g, '').length;
  return (digits > 3 ? 0.01 : 0.03) * 10 ** (digits - 1);
};

/** Whether a number is one digit off one of few numbers of its length, given by their {@link formsOf}. */
export const isSlipAmong = (value: number, slips: Slips): boolean =>
  formsOf(value).some((form) => slips.countOf(form) <= mostOfLength(form) && slips.has(form));

/** A number as it may be written, by form: forms of different kinds never look alike. */
export function formsOf(number: number): readonly string[] {
  if (Number.isInteger(number)) return [wholeForm(number), `c:${Math.abs(number)}.00`];
  const plain = String(Math.abs(number));
  const point = plain.indexOf('.');
  const decimals = plain.length - 1 - point;
  const cents = point > 0 && decimals <= 2 ? plain.padEnd(point + 3, '0') : Math.abs(number).toFixed(2);
  return [point < 0 ? `i${plain}` : `f${plain.slice(0, point)}${plain.slice(point + 1)}`, `c:${cents}`];
}
const wholeForm = (number: number): string => `i${Math.abs(number)}`;

/** Keys of what is no count of things: `bottles_per_box`, `max_users`. */
const RATE = /(?:^|[_\s])(?:per|por|pro|je|par|each|max|min|limit|avg)(?:[_\s]|$)/i;

function nounsIn(text: string): ReadonlyMap<string, readonly (readonly [string, number])[]> {
  const nouns = new Map<string, (readonly [string, number])[]>();
  const add = (noun: string, count: string) => {
    for (const word of noun.toLowerCase().match(/\p{L}{4,30}/gu) ?? []) {
      const key = word.slice(0, 4);
      const list = nouns.get(key);
      if (list === undefined) nouns.set(key, [[word, Number(count)]]);
      else if (list.length < 100) list.push([word, Number(count)]);
    }
  };
  for (const match of text.matchAll(COUNTED)) {
    if (match[2] !== undefined) add(match[2], match[1] as string);
    else if (!RATE.test(match[3] as string)) add(match[3] as string, match[4] as string);
  }
  return nouns;
}

const MAX_MEMBERS = 500;
function firstMembers(record: object): readonly unknown[] {
  const members: unknown[] = [];
  for (const key in record) {
    if (members.length >= MAX_MEMBERS) break;
    members.push((record as Record<string, unknown>)[key]);
  }
  return members;
}

function listsIn(steps: readonly ReadStep[]) {
  const sizes = new Set<number>();
  const arrays: number[] = [];
  const available: [number, number][] = [];
  let left = 5000;
  const walk = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > 6 || left-- <= 0) return;
    const members = Array.isArray(value) ? value.slice(0, MAX_MEMBERS) : firstMembers(value);
    sizes.add(Array.isArray(value) ? value.length : members.length);
    if (Array.isArray(value)) arrays.push(value.length);
    const flags = members.flatMap((member) => {
      const flag =
        typeof member === 'object' && member !== null
          ? (member as { available?: unknown }).available
          : undefined;
      return typeof flag === 'boolean' ? [flag] : [];
    });
    if (flags.length > 2 && flags.length === members.length)
      available.push([flags.filter(Boolean).length, flags.length]);
    for (const member of members) walk(member, depth + 1);
  };
  for (const step of steps) walk(step.value, 0);
  return { sizes, arrays, available };
}
