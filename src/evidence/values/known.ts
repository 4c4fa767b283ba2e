import type { ReadStep } from '../trace/index.ts';
import { Addends } from './derive.ts';
import { type Figure, figuresIn, isMeasure, measuresIn, numbersIn } from './figures.ts';
import { knownDays } from './moments.ts';
import { numberOfWord } from './number-words.ts';
import { walkValues } from './records.ts';
import { Slips } from './slips.ts';
import { type Dimension, listSizes } from './units.ts';

const MAX_PROMPT_CHARS = 16_384;
const MAX_NUMBERS = 12_000;
/** Up to this many numbers, what can be computed from them counts as known. */
const FEW = 24;
/** Of more numbers two make any share. */
const MANY = 48;
/** So many amounts with a sign show that results have one. */
const MIN_AMOUNTS = 3;
const MAX_IDS = 8000;
const MAX_LOOKUPS = 120;
const NAME_BREAK = /[^\w.#-]+/;
const MAX_ID_CHARS = 60;

/** What the results, the arguments and the prompt hold, as values. */
export class Known {
  /** Results, arguments and tools in lower case. */
  readonly results: string;
  /** All of it in lower case. Results that list tools are not part of it. */
  readonly text: string;
  /** The prompt in lower case. */
  readonly prompt: string;
  /** Some of the results was cut, here or before: what is missing may have been there. */
  readonly isCut: boolean;
  readonly steps: readonly ReadStep[];
  /** Numbers of results and arguments. */
  readonly given: readonly number[];
  readonly #numbers: Addends;
  readonly #set: ReadonlySet<number>;
  readonly #measures = new Map<Dimension, Addends>();
  #figures: readonly Figure[] | undefined;
  #isPriced: boolean | undefined;
  /** How many texts are still looked for: each costs time in proportion to all results. */
  #left = MAX_LOOKUPS;
  #ids: ReadonlySet<string> | undefined;
  #bare: string | undefined;
  #days: ReadonlySet<number> | undefined;
  #slips: Slips | undefined;
  #counts: ReadonlySet<number> | undefined;

  /** @param hasEarlier whether there are calls before these steps. */
  constructor(prompt: string, steps: readonly ReadStep[], hasEarlier = false) {
    const told = steps.filter((step) => !step.isListing);
    this.steps = told;
    this.prompt = prompt.slice(-MAX_PROMPT_CHARS).toLowerCase();
    const results = told.map((step) => `${step.text}\n${step.argumentsText}\n${step.tool}`).join('\n');
    this.results = results.toLowerCase();
    this.text = `${this.results}\n${this.prompt}`;
    this.isCut = hasEarlier || told.some((step) => step.isCut);
    this.given = [...new Set(numbersIn(results, MAX_NUMBERS))];
    const words = (this.prompt.match(/\p{L}{3,8}/gu) ?? []).flatMap((word) => numberOfWord(word) ?? []);
    this.#set = new Set([...this.given, ...numbersIn(this.prompt, MAX_NUMBERS), ...words]);
    this.#numbers = new Addends([...this.#set]);
  }

  /** So few numbers that what can be computed from them counts as known. */
  get hasFew(): boolean {
    return this.#set.size <= FEW;
  }

  /** Whether it has the figure: equal, rounded, as a share of one, in another unit or scale. */
  states(figure: Figure): boolean {
    const { value, plain, dimension, factor, raw, whole } = figure;
    // "9/10" is a score as such; a fraction ("4.84/5") is one by itself.
    if (dimension === 'ratio')
      return Number.isInteger(value)
        ? ['/', ' / ', ' out of ', ' of '].some((sign) => this.knows(`${raw}${sign}${whole}`))
        : this.#set.has(value);
    if (isLong(figure) && (this.#set.has(value) || this.#set.has(plain) || this.knows(raw))) return true;
    const off = figure.isAbout ? Math.max(figure.tolerance, roundness(figure)) : figure.tolerance;
    const numbers = (dimension === 'money' ? this.#money : undefined) ?? this.#numbers;
    const has = (center: number, within: number) => numbers.hasWithin(center - within, center + within);
    const measured = this.#measured(dimension);
    if (measured !== undefined && (figure.isSpan || dimension !== 'percent')) {
      const within = Math.max(off, MEASURED * value);
      return (
        (factor >= A_DAY && this.#set.has(value)) ||
        listFactors(figure).some((one) => measured.hasWithin((value - within) * one, (value + within) * one))
      );
    }
    // "$20" of 19.95: an amount is not rounded by half.
    if (numbers !== this.#numbers) return has(value, figure.isAbout ? off : CENTS) || has(plain, 0.001);
    if (this.#set.has(value) || this.#set.has(plain)) return true;
    if (has(value, off) || has(-value, off)) return true;
    if (dimension === 'percent')
      return has(value / 100, off / 100) || has(100 - value, off) || has(1 - value / 100, off / 100);
    if (dimension === 'money') return has(value * 100, 100 * off);
    if (dimension === 'temperature') return has((value - 32) / 1.8, 0.561) || has(value * 1.8 + 32, 1.818);
    return listSizes(dimension).some(
      (other) =>
        other !== factor &&
        has((value * factor) / other, Math.max((off * factor) / other, 0.0051 * ((value * factor) / other))),
    );
  }

  /**
   * The amounts of money, where results write them with their sign; a number of another kind is then none. Of few numbers
   * any may be one.
   */
  get #money(): Addends | undefined {
    this.#isPriced ??= PRICED.test(this.text);
    if (this.given.length <= FEW || this.#isPriced) return undefined;
    const amounts = this.#readAs('money');
    return amounts.size < MIN_AMOUNTS ? undefined : amounts;
  }

  /** What long results measure so, by units and keys, without texts that the agent wrote: another number is then none. */
  #measured(dimension: Dimension): Addends | undefined {
    if (this.given.length <= FEW || !isMeasure(dimension)) return undefined;
    return this.#readAs(dimension);
  }

  #readAs(dimension: Dimension): Addends {
    let known = this.#measures.get(dimension);
    if (known !== undefined) return known;
    const told = `${this.steps.map((step) => `${step.text}\n${step.given}`).join('\n')}\n${this.prompt}`;
    this.#figures ??= figuresIn(told, MAX_NUMBERS, false);
    known = new Addends([
      ...this.#figures.flatMap((one) => (one.dimension === dimension ? [one.value * one.factor] : [])),
      ...(isMeasure(dimension) ? measuresIn(told.toLowerCase(), dimension) : []),
    ]);
    this.#measures.set(dimension, known);
    return known;
  }

  /** Whether the value can be computed from what is known, or from this and those of the answer. */
  derives(figure: Figure, beside: readonly Figure[]): boolean {
    const { dimension, tolerance, isAbout } = figure;
    const value = Math.abs(figure.value);
    const supported = beside.map((one) => one.value);
    if (dimension === 'temperature' || dimension === 'ratio') return false;
    const isMeasured = this.#measured(dimension) !== undefined;
    if (isMeasured && figure.isSpan) return false;
    if (isMeasured && dimension !== 'percent') {
      const same = beside.filter((one) => one.dimension === dimension);
      const within = isAbout ? Math.max(tolerance, MEASURED * value) : tolerance;
      return listFactors(figure).some((factor) =>
        new Addends(same.map((one) => (one.value * one.factor) / factor)).gives(value, within),
      );
    }
    if (dimension === 'percent') {
      const all = this.#set.size <= MANY ? [...this.#set, ...supported] : supported;
      return (
        new Addends(all).isShare(value, Math.max(tolerance, 0.051)) || this.#isShareOfKnown(figure, beside)
      );
    }
    const off = Math.min(tolerance, isAbout ? 1e12 : 0.51);
    const isExact = Number.isInteger(value) || tolerance < 0.01;
    // Of many numbers something gives any figure: only those beside it in the answer count.
    if (!this.hasFew && dimension === 'money' && this.#money !== undefined) return false;
    const all = this.hasFew ? [...this.#set, ...supported] : supported;
    return new Addends(all).gives(value, isExact ? (this.hasFew ? 0.51 : 0.0101) : off);
  }

  /** Whether a value can be computed to the cent from few known numbers and those of the answer. */
  computes(value: number, beside: readonly number[]): boolean {
    return new Addends([...(this.hasFew ? this.#set : []), ...beside]).gives(value);
  }

  /** "20,094 | 8.37 %": the share of the count beside it in a total of the results. */
  #isShareOfKnown({ value, tolerance }: Figure, beside: readonly Figure[]): boolean {
    return beside.some(
      ({ dimension, value: part }) =>
        dimension === 'none' &&
        value > tolerance &&
        this.#numbers.hasWithin((100 * part) / (value + tolerance), (100 * part) / (value - tolerance)),
    );
  }

  /** Whether a number is one digit off one of few known numbers of its length. */
  hasSlipOf(value: number): boolean {
    this.#slips ??= new Slips(new Set(this.given.flatMap(listForms)));
    const slips = this.#slips;
    return listForms(value).some((form) => slips.countOf(form) <= mostOfLength(form) && slips.has(form));
  }

  /** Whether it has a text, given in lower case. Of too many texts to look for it is said to have them. */
  knows(lower: string): boolean {
    if (this.#ids?.has(lower) === true || this.#left-- <= 0) return true;
    return this.text.includes(lower);
  }

  /** Whether a name is known, written with other signs or none. */
  knowsBare(bare: string): boolean {
    this.#bare ??= this.text.replace(/[^\p{L}\p{N}]+/gu, '');
    return bare !== '' && (this.#left-- <= 0 || this.#bare.includes(bare));
  }

  /** Words with digits. */
  get ids(): ReadonlySet<string> {
    this.#ids ??= new Set(
      this.text
        .split(NAME_BREAK)
        .filter((word) => word.length > 2 && word.length <= MAX_ID_CHARS && /\d/.test(word))
        .slice(-MAX_IDS)
        .flatMap((id) => [id, id.replace(/^#|[.]$/g, '')]),
    );
    return this.#ids;
  }

  get days(): ReadonlySet<number> {
    this.#days ??= knownDays(this.text);
    return this.#days;
  }

  /** Sizes of lists, and how often each tool was called. */
  get counts(): ReadonlySet<number> {
    if (this.#counts !== undefined) return this.#counts;
    const counts = new Set([this.steps.length]);
    for (const { tool, value, text } of this.steps) {
      counts.add(this.steps.filter((one) => one.tool === tool).length).add(text.split('\n').length);
      walkValues(value, (part) => counts.add(Object.keys(part).length));
    }
    this.#counts = counts;
    return counts;
  }
}

/** A price under its key has no sign. */
const PRICED = /"[a-z_]{0,24}(?:price|cost|amount|total|fee|balance|fare|paid|value)[a-z_]{0,12}":\s?-?\d/;
/** So many digits are not equal by chance, whatever they count: "519,693 bytes" of `519693 data.csv`. */
const LONG = 5;
const isLong = ({ raw }: Figure): boolean => raw.replace(/\D|0+$/g, '').length >= LONG;
/** A kilobyte has 1,000 bytes or 1,024. */
const listFactors = ({ dimension, factor }: Figure): readonly number[] =>
  dimension === 'data' ? [factor, 1024 ** Math.round(Math.log10(factor) / 3)] : [factor];
/** From here on, results count too: `row_count: 16` of sixteen years. */
const A_DAY = 86_400;
const CENTS = 0.0501;
/** "8.5 minutes" of 513 seconds. */
const MEASURED = 0.011;
/** How far a round figure may be off, of itself. */
const ABOUT = 0.06;
/** Half of the last digit that is not 0: of "about 2,900". */
const roundness = ({ raw, tolerance, value }: Figure): number => {
  const zeros = /[1-9](0{1,9})$/.exec(raw.replace(/\D/g, ''))?.[1]?.length ?? 0;
  return /[.,]\d{1,2}$/.test(raw) ? tolerance : Math.min(tolerance * 10 ** zeros, Math.abs(value) * ABOUT);
};

/** A number as it may be written, by form: forms of different kinds never look alike. */
function listForms(number: number): readonly string[] {
  if (Number.isInteger(number)) return [`i${Math.abs(number)}`, `c:${Math.abs(number)}.00`];
  const plain = String(Math.abs(number));
  const [whole = '', decimals = ''] = plain.split('.');
  return [
    `f${decimals.length}:${whole}${decimals}`,
    `c:${decimals.length <= 2 ? `${whole}.${decimals.padEnd(2, '0')}` : Math.abs(number).toFixed(2)}`,
  ];
}
/** Of more numbers of a length, one is near any number by chance. */
const mostOfLength = (form: string): number => {
  const digits = form.replace(/\.00$|\D/g, '').length;
  return (digits > 3 ? 0.01 : 0.03) * 10 ** (digits - 1);
};

/** The figures of a statement, without those inside names, days and times. */
export const figuresOutside = (text: string, taken: readonly Pick<Figure, 'start' | 'end'>[]) =>
  figuresIn(text).filter(({ start, end }) => !taken.some((one) => one.start < end && start < one.end));
