import { isObject } from '../../json/index.ts';
import { datesIn } from './dates.ts';
import { figuresOf } from './figures.ts';
import { isConditional, isPlan } from './sentences.ts';
import type { ReadStep, Sentence } from './types.ts';

const MAX_NODES = 1500;
const MAX_DEPTH = 6;
const MAX_CHECKED = 64;
const MAX_FIELDS = 100;
const MAX_FLAGS = 100;
const MAX_NAMES = 4;
const MAX_TEXTS = 400;
const MAX_NAME_CHARS = 40;
const MAX_KEY_CHARS = 60;
const MAX_DAY_CHARS = 60;
const HALF = 0.51;
const CENT = 0.01;
const NOT_IN_HAN = ['不', '没', '没有', '未', '不能', '不可以'];
const KEY_BREAKS = /[_\s-]+|(?<=[a-z])(?=[A-Z])/;
const HAN = /^\p{Script=Han}{2,10}$/u;
const NOT = /(?<![a-z])(?:not|no longer|isn['’]t|aren['’]t|doesn['’]t|don['’]t|cannot|can['’]t)(?![a-z])/;
const DENIED_BEFORE =
  /(?:not|no longer|isn['’]t|aren['’]t|doesn['’]t|don['’]t|cannot|can['’]t)(?: [a-z]{1,16}){0,3}$/;
const LEFT = /(?:remain|left|free|avail|rest|unused)/i;
const SAID_LEFT =
  /^\W{0,6}(?:of [^.,;]{1,40} )?(?:is |are |still )?(?:left|remaining|free|available|unused)\b/i;
const OF_WHOLE =
  /(?<![\d.,])(\d{1,3}(?:,\d{3}){1,2}|\d{1,6}) (?:of|out of|von|de|sur) (?:the |your |den )?(\d{1,3}(?:,\d{3}){1,2}|\d{1,6})(?![\d.,])[^;%\d]{0,50}?(?:\(|=|, or|, so|which is|that is|that['’]s|i\.e\.|or)\s?(?:about |roughly |only )?(\d{1,3}(?:[.,]\d{1,2})?)\s?%(?! (?:more|less|higher|lower|up|down|above|below|of|faster|slower))/g;
const MONEY_OF = /(?<![a-z])([a-z]{4,20}) (?:of|is|was|:) (?:about )?[$€£]?$/;
/** Of what a call was asked for and did instead. */
const CHANGED =
  /(?<![a-z])(?:not|n['’]t|instead|asked|requested|wanted|originally|full|taken|moved|rather|from|unfortunately)(?![a-z])|nicht|statt/;

type Fields = Readonly<Record<string, unknown>>;

/** What the keys of the records give. */
interface Facts {
  /** Who did it, in lower case, by the verb: `joel` of `merged_by`. */
  readonly by: ReadonlyMap<string, readonly string[]>;
  /** Numbers of what is left. */
  readonly left: readonly number[];
  /** Numbers by their keys, with their records; two are enough to know that there is not one alone. */
  readonly amounts: ReadonlyMap<string, readonly { readonly value: number; readonly record: Fields }[]>;
  /** Keys that are true, as words in lower case. */
  readonly flags: readonly (readonly string[])[];
  /** Short texts in lower case. */
  readonly texts: ReadonlySet<string>;
}

/** What the records of the results say under keys that an answer names in words of its own. */
export class Records {
  readonly #steps: readonly ReadStep[];
  #facts: Facts | undefined;
  #left = MAX_CHECKED;

  constructor(steps: readonly ReadStep[]) {
    this.#steps = steps;
  }

  contradict(sentence: Sentence): boolean {
    if (sentence.isQuestion || this.#left-- <= 0) return false;
    if (misdivides(sentence.text)) return true;
    if (isPlan(sentence) || isConditional(sentence)) return false;
    this.#facts ??= factsOf(this.#steps);
    return (
      namesAnother(sentence, this.#facts) ||
      tellsTheRest(sentence, this.#facts) ||
      takesAnother(sentence, this.#facts) ||
      tellsPercent(sentence, this.#facts, this.#steps) ||
      deniesFlag(sentence, this.#facts) ||
      wasChanged(sentence, this.#steps)
    );
  }
}

/** "merged by Tariq" of `"merged_by": "joel"` where Tariq is somebody else. */
function namesAnother({ words }: Sentence, { by, texts }: Facts): boolean {
  if (by.size === 0) return false;
  return words.some(({ text: said }, i) => {
    const names = words[i - 1]?.text === 'by' ? (by.get(words[i - 2]?.text ?? '') ?? []) : [];
    if (names.length === 0 || names.some((one) => one.includes(said) || said.includes(one))) return false;
    return texts.has(said);
  });
}

/** "60 % left" of `"remaining_pct": 40`. */
function tellsTheRest(sentence: Sentence, { left }: Facts): boolean {
  return (
    left.length > 0 &&
    figuresOf(sentence).some(
      ({ isPercent, value, end }) =>
        isPercent &&
        SAID_LEFT.test(sentence.text.slice(end, end + 60)) &&
        left.some((one) => Math.abs(100 - one - value) < HALF) &&
        !left.some((one) => Math.abs(one - value) < HALF || Math.abs(one * 100 - value) < HALF),
    )
  );
}

/** "a limit of $2,210" of a record with another limit, whose rest is $2,210. */
function takesAnother(sentence: Sentence, { amounts }: Facts): boolean {
  if (amounts.size === 0) return false;
  return figuresOf(sentence).some(({ isMoney, value, start }) => {
    if (!isMoney) return false;
    const before = sentence.lower.slice(Math.max(0, start - 40), start + 1).trimEnd();
    const noun = MONEY_OF.exec(`${before.replace(/[$€£]$/, '').trimEnd()} `)?.[1];
    const named = noun === undefined ? undefined : amounts.get(noun);
    const [one] = named ?? [];
    if (one === undefined || named?.length !== 1 || Math.abs(one.value - value) <= 1) return false;
    return Object.values(one.record)
      .slice(0, MAX_FIELDS)
      .some((other) => typeof other === 'number' && other !== one.value && Math.abs(other - value) < CENT);
  });
}

/** "at 88 %" of `{"level_l": 88, "tank_l": 400}`: no key has it in percent, and it is no share of two. */
function tellsPercent(sentence: Sentence, { amounts }: Facts, steps: readonly ReadStep[]): boolean {
  if (amounts.size === 0 || !sentence.text.includes('%')) return false;
  return figuresOf(sentence).some(({ isPercent, value, raw }) => {
    if (!isPercent) return false;
    const of = [...amounts].filter(([, members]) => members.some((one) => one.value === value));
    const [[key, [one]] = ['', []]] = of;
    if (of.length !== 1 || one === undefined || !HAS_UNIT.test(key)) return false;
    const numbers = Object.values(one.record).filter((other) => typeof other === 'number');
    const isShare = [...numbers.slice(0, MAX_FIELDS)].some((part) =>
      numbers.some(
        (whole) =>
          part !== whole &&
          [part / whole, (whole - part) / whole].some((share) => Math.abs(Math.abs(share) * 100 - value) < 1),
      ),
    );
    return !isShare && !steps.some((step) => step.text.includes(`${raw}%`) || step.text.includes(`${raw} %`));
  });
}
const HAS_UNIT = /_(?:l|ml|kg|g|t|km|m|cm|mm|ms|s|sec|min|h|gb|mb|kb|kwh|wh|kw|w|v|eur|usd|chf|gbp|c|f)$/;

/** "isn't taking new patients" of `"accepting_new_patients": true`. */
function deniesFlag({ lower, text }: Sentence, { flags }: Facts): boolean {
  if (flags.length === 0) return false;
  const isDenied = NOT.test(lower);
  return flags.some((words) => {
    const [first = ''] = words;
    if (words.length === 1)
      return HAN.test(first) && NOT_IN_HAN.some((not) => text.includes(`${not}${first.slice(0, 2)}`));
    const at = isDenied && words.length > 2 ? lower.indexOf(` ${words.slice(1).join(' ')}`) : -1;
    return at > 0 && DENIED_BEFORE.test(lower.slice(Math.max(0, at - 40), at));
  });
}

/** A day that a call was asked for, where it answers with another one under the same key. */
function wasChanged({ lower, text }: Sentence, steps: readonly ReadStep[]): boolean {
  if (!HAS_DIGIT.test(text) || CHANGED.test(lower)) return false;
  const [day, ...others] = datesIn(text);
  if (day === undefined || others.length > 0) return false;
  return steps.some((step) => {
    const { value, arguments: given } = step;
    if (step.isRead || step.isBad || step.isRetried || !isObject(value) || !isObject(given)) return false;
    return Object.entries(given)
      .slice(0, MAX_FIELDS)
      .some(([key, asked]) => {
        const got = value[key];
        if (typeof asked !== 'string' || typeof got !== 'string' || asked === got) return false;
        if (asked.length > MAX_DAY_CHARS || got.length > MAX_DAY_CHARS) return false;
        const days = datesIn(got);
        return days.size > 0 && !days.has(day) && datesIn(asked).has(day);
      });
  });
}

const HAS_DIGIT = /\d/;
const countOf = (digits = ''): number => Number(digits.replaceAll(',', ''));
/** "33 of 60 points, i.e. 65 %": no share of the two. */
function misdivides(text: string): boolean {
  for (const [, part, whole, percent = ''] of text.matchAll(OF_WHOLE)) {
    const share = (countOf(part) / countOf(whole)) * 100;
    const said = Number(percent.replace(',', '.'));
    if (share <= 100 && Math.abs(share - said) > 1 && Math.abs(100 - share - said) > 1) return true;
  }
  return false;
}

const wordsOf = (key: string): readonly string[] =>
  key
    .slice(0, MAX_KEY_CHARS)
    .split(KEY_BREAKS)
    .map((word) => word.toLowerCase());

function factsOf(steps: readonly ReadStep[]): Facts {
  const by = new Map<string, string[]>();
  const left: number[] = [];
  const amounts = new Map<string, { value: number; record: Fields }[]>();
  const flags: (readonly string[])[] = [];
  const texts = new Set<string>();
  let nodes = MAX_NODES;
  const take = (key: string, value: unknown, record: Fields): void => {
    if (typeof value === 'string') {
      if (value.length > MAX_NAME_CHARS || texts.size >= MAX_TEXTS) return;
      texts.add(value.toLowerCase());
      const [verb = '', second, ...more] = /by$/i.test(key) ? wordsOf(key) : [];
      if (second === 'by' && more.length === 0)
        by.set(verb, [...(by.get(verb) ?? []), value.toLowerCase()].slice(-MAX_NAMES));
    } else if (value === true) {
      if (flags.length < MAX_FLAGS) flags.push(wordsOf(key));
    } else if (typeof value === 'number') {
      if (left.length < MAX_FLAGS && LEFT.test(key)) left.push(value);
      const named = amounts.get(key) ?? [];
      if (named.length < 2 && amounts.size < MAX_FLAGS) amounts.set(key, [...named, { value, record }]);
    }
  };
  const walk = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
    for (const key in value) {
      if (nodes-- <= 0) return;
      const member = (value as Fields)[key];
      if (typeof member === 'object') walk(member, depth + 1);
      else if (isObject(value)) take(key, member, value);
    }
  };
  for (const step of steps) if (!step.isBad) walk(step.value, 0);
  return { by, left, amounts, flags, texts };
}
