import { Amounts } from './amounts.ts';
import { deviationsOf, tellsAsked } from './asked-for.ts';
import { Clock } from './clock.ts';
import { Days } from './days.ts';
import { combines } from './derive.ts';
import { COUNTERS, Evidence } from './evidence.ts';
import { isBound, isMarkerOrTime, isShareOf, isSpan, isTop, rounded, TIME_UNIT } from './figure-context.ts';
import { converts, type Figure, figuresOf, NUMBER_WORDS, numbersIn } from './figures.ts';
import { Keyed } from './keyed.ts';
import { idsWithPlace, tokensIn } from './names.ts';
import { wrongState } from './one-state.ts';
import { Payments } from './payments.ts';
import { isOfEarlierAnswer } from './sentences.ts';
import { isSwapOf } from './slips.ts';
import { StepsAgainst } from './step-against.ts';
import { Sums } from './sums.ts';
import type { ClaimFinding, ReadStep, Sentence } from './types.ts';

const HAS_DIGIT = /\p{N}/u;
const BELOW_ZERO = /零下|minus|below|negativ|bajo cero|マイナス|氷点下/i;
const UNIT = /^\s?(km\/h|mph|m\/s|kg|mb|gb|kb|tb|ms|km|cm|mm|kw|kwh|hpa|psi)\b/i;
const METRIC = /\d\s?(?:mm|cm|m|km|km\/h|kg|g|l|ml)(?![a-zß-ÿ])/i;
const IMPERIAL =
  /\d\s?(?:in|inch(?:es)?|ft|feet|miles?|mi|mph|lbs?|pounds?|oz|ounces?|gal|gallons?|")(?![a-zß-ÿ])/i;
/** Of more numbers than these one may always give a count. */
const FEW_NUMBERS = 24;
/** Among more numbers than these one of the same length is near by chance. */
const MANY_NUMBERS = 60;
const COUNTER = /^\s?[件個个条人台笔名封项本枚箱瓶双套间辆只张份页册盒袋杯位家部頁冊]/u;
const OPTIONS =
  /^[\s*]{0,3}(?!-)(?:[^\s.,;:!?()]{1,20}\s){0,4}(?:options?|variants?|products?|items?|types?|kinds?|choices|different)\b/i;
/** What the number of a card, an account or a line ends in. */
const ENDING =
  /\b(?:end(?:ing|s)? (?:in|with)|last (?:four|4)(?: digits)?(?: (?:are|is|of))?|endet auf|terminad[ao] en)\s{1,2}[*"“]{0,3}$/i;
const CASE = /(?<!\p{L})(?:if|unless|should) (?:you|your|the|it|there|they|at any|any|symptoms)(?!\p{L})/iu;
const EXAMPLE = /\be\.g\.|\b(?:for example|for instance|such as|looks? like)\b/i;
const BALANCE = /\b(?:balance|remaining|left over|leftover)\b/i;
const MAX_IDS = 64;
const MAX_CHECKED = 64;

/** Figures, identifiers, counts and states of the answer that the results contradict. */
export function contradictedValues(
  prompt: string,
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
): readonly ClaimFinding[] {
  if (steps.length === 0 || steps.some((step) => step.isOpaque)) return [];
  const evidence = new Evidence(prompt, steps);
  const sums = new Sums(
    sentences,
    steps,
    (figure) => evidence.states(figure) || (figure.isMoney && evidence.derives(figure.value, [], false)),
  );
  const check = new ValueCheck(evidence, steps, sums);
  const days = new Days(evidence.text, evidence.prompt);
  const payments = new Payments(steps, sums);
  const keyed = new Keyed(steps, (text) => evidence.knows(text));
  const clock = new Clock(evidence.text, evidence.prompt, steps, sentences);
  const answer = sentences.map(({ lower }) => lower).join('\n');
  const deviations = steps.flatMap((step) =>
    step.isRead || step.isBad || step.isRetried ? [] : deviationsOf(step),
  );
  const isWrong = sentences.map(
    (sentence) =>
      keyed.contradict(sentence) ||
      (HAS_DIGIT.test(sentence.text) && (days.contradict(sentence) || check.misnames(sentence))) ||
      clock.contradicts(sentence) ||
      deviations.some((one) => tellsAsked(sentence, answer, one)) ||
      check.miscounts(sentence) ||
      check.misstates(sentence),
  );
  const against = new StepsAgainst(steps, evidence);
  const wrong = sentences.filter((sentence, i) => isWrong[i] || payments.contradict(sentence));
  const state = wrong.length === 0 ? wrongState(sentences, steps) : undefined;
  return [...wrong, ...(state === undefined ? [] : [state])].map((sentence) => {
    const step = against.of(sentence);
    const { start, end } = sentence;
    return { kind: 'wrong_value', start, end, ...(step !== undefined && { step: step.index }) };
  });
}

class ValueCheck {
  readonly #evidence: Evidence;
  readonly #steps: readonly ReadStep[];
  readonly #sums: Sums;
  readonly #amounts: Amounts;
  /** Figures of the answer that stand in the evidence or derive from it: others may be their sums. */
  readonly #supported: number[] = [];
  #left = MAX_CHECKED;
  #idsLeft = MAX_IDS;

  constructor(evidence: Evidence, steps: readonly ReadStep[], sums: Sums) {
    this.#evidence = evidence;
    this.#steps = steps;
    this.#sums = sums;
    this.#amounts = new Amounts(steps);
  }

  /** An identifier one character off one of the evidence. */
  misnames({ text }: Sentence): boolean {
    if (EXAMPLE.test(text)) return false;
    for (const token of tokensIn(text))
      if (this.#idsLeft-- > 0 && this.#evidence.hasLikeOf(token)) return true;
    for (const { id, index } of idsWithPlace(text)) {
      const isDecimal =
        /^\d+$/.test(id) &&
        (/^[.,]\d/.test(text.slice(index + id.length)) || /[.,]$/.test(text.slice(0, index)));
      if (isDecimal || /^(?:19|20)\d\d$/.test(id) || id.length < 4) continue;
      const { ids, text: all, prompt } = this.#evidence;
      if (ids.has(id)) continue;
      if (this.#idsLeft-- <= 0) return false;
      if (all.includes(id) || prompt.includes(id)) continue;
      if (/^\d{4}$/.test(id) && ENDING.test(text.slice(Math.max(0, index - 32), index))) {
        if (this.#evidence.endsLike(id)) return true;
        continue;
      }
      if (!this.#evidence.hasSlipOf(id)) continue;
      // A short number is a figure, not a name: it may be computed.
      if (/^\d{4,5}$/.test(id) && this.#evidence.derives(Number(id), this.#supported, true)) continue;
      return true;
    }
    return false;
  }

  /** Money, a measure or a number of three digits and more that is a slip or that nothing gives. */
  misstates(sentence: Sentence): boolean {
    const { text } = sentence;
    if (isOfEarlierAnswer(sentence)) return false;
    const figures = figuresOf(sentence);
    const isCase = CASE.test(text);
    return figures.some((figure) => {
      if (this.#left-- <= 0 || isMarkerOrTime(text, figure)) return false;
      const around = text.slice(Math.max(0, figure.start - 25), figure.end + 25);
      const signed =
        figure.isTemperature && figure.value > 0 && BELOW_ZERO.test(around)
          ? { ...figure, value: -figure.value }
          : figure;
      const near = rounded(text, signed);
      if (this.#evidence.states(near)) {
        this.#supported.push(figure.value);
        return false;
      }
      // Advice for a case: "if the fever rises above 101 °F, call 911".
      if (isCase && !figure.isMoney) return false;
      if (
        sentence.isQuestion ||
        isTop(text, figure) ||
        isBound(text, figure) ||
        isShareOf(figure, figures) ||
        (figure.isPercent && this.#evidence.has(100 - figure.value)) ||
        this.#isConverted(text, figure, figures)
      )
        return false;
      const isWrong =
        (this.#isInventedCount(text, figure) ||
          this.#isSlipOrInvented(signed, text) ||
          this.#hasOtherMeasure(text, figure) ||
          this.#isSwapped(signed)) &&
        !this.#evidence.sumsTo(near) &&
        !this.#sums.give(near, sentence.start + figure.start);
      if (!isWrong) this.#supported.push(figure.value);
      return isWrong;
    });
  }

  /** "204" where the few numbers have 240, and no two of them give it. */
  #isSwapped({ value, noun, isMoney, isPercent }: Figure): boolean {
    const { numbers, counts } = this.#evidence;
    const isLong = Math.abs(value) >= 100 || !Number.isInteger(value);
    if (numbers.length > (isLong ? FEW_NUMBERS : 8) || counts.has(value)) return false;
    if (!isLong && noun === undefined && !isMoney && !isPercent) return false;
    const swaps = (digits: number) =>
      numbers.some((number) => isSwapOf(Math.abs(value).toFixed(digits), Math.abs(number).toFixed(digits)));
    return (swaps(2) || (!Number.isInteger(value) && swaps(4))) && !this.#evidence.addsUpTo(value);
  }

  /** The sentence gives the measure in the units of the evidence too. */
  #isConverted(text: string, figure: Figure, figures: readonly Figure[]): boolean {
    if (!METRIC.test(text) || !IMPERIAL.test(text)) return false;
    return figures.some((other) => converts(other.value, figure.value) && this.#evidence.states(other));
  }

  /** A count of what little evidence there is about, which nothing in it gives. */
  #isInventedCount(text: string, { value, end, raw, isMoney, isPercent, isTemperature }: Figure): boolean {
    const { numbers, counts, listed } = this.#evidence;
    if (
      isMoney ||
      isPercent ||
      isTemperature ||
      !Number.isInteger(value) ||
      value < 2 ||
      /^(?:19|20)\d\d$/.test(raw)
    )
      return false;
    if (numbers.length === 0 || numbers.length > FEW_NUMBERS || value <= listed || counts.has(value))
      return false;
    const after = text.slice(end, end + 40);
    const nouns = (
      after
        .split(/[.,;:()]/)[0]
        ?.toLowerCase()
        .match(/\p{L}{4,30}/gu) ?? []
    ).slice(0, 2);
    // "2 heads" of five throws
    if (nouns.some((noun) => this.#evidence.resultsWith(noun) === value)) return false;
    const isCounted =
      COUNTER.test(after) ||
      nouns.some((noun, i) => !(i === 0 && TIME_UNIT.test(noun)) && this.#evidence.speaksOf(noun));
    return (
      isCounted && !TIME_UNIT.test(after.trim()) && !this.#evidence.derives(value, this.#supported, false)
    );
  }

  #isSlipOrInvented(figure: Figure, text: string): boolean {
    const { value, raw, isMoney, isTemperature, isPercent } = figure;
    const isYear = /^(?:19|20)\d\d$/.test(raw);
    const isMeasure = isMoney || isTemperature || isPercent;
    if (!isMeasure && isYear) return false;
    if (!isMeasure && raw.replace(/\D/g, '').length < 3) return false;
    const { numbers } = this.#evidence;
    // A whole number among many may be a total of several steps.
    const isTotal = !isMeasure && Number.isInteger(value) && numbers.length > MANY_NUMBERS;
    const isSlip = !isTotal && this.#evidence.hasSlipOfNumber(value);
    // What is left after several payments is computed from more than the results show.
    const isLeft = isMoney && BALANCE.test(text.slice(Math.max(0, figure.start - 40), figure.end + 12));
    if (isLeft && (!isSlip || this.#evidence.derives(value, this.#supported, false))) return false;
    if (isMoney && !isLeft && this.#amounts.isSlip(value, this.#supported)) return true;
    if (
      this.#evidence.derives(
        value,
        this.#supported,
        isTemperature || (isSlip && String(value).replace(/\D/g, '').length >= 4),
      )
    )
      return false;
    return (
      isSlip ||
      isTemperature ||
      isPercent ||
      (isMoney && numbers.some((number) => !Number.isInteger(number) || number >= 10))
    );
  }

  /** "16 km/h" where the results give the unit with other numbers only. */
  #hasOtherMeasure(text: string, figure: Figure): boolean {
    const unit = UNIT.exec(text.slice(figure.end, figure.end + 8))?.[1]?.toLowerCase();
    if (unit === undefined || !this.#evidence.hasUnit(unit)) return false;
    return !this.#evidence.derives(figure.value, this.#supported, false);
  }

  /** A count of a noun that the results count otherwise, of available things, or of what several pages list. */
  miscounts(sentence: Sentence): boolean {
    if (sentence.isQuestion) return false;
    const { text, words } = sentence;
    for (const match of text.matchAll(COUNTERS)) {
      const count = Number(match[1]);
      if (this.#evidence.has(count) || this.#evidence.counts.has(count)) continue;
      if (this.#evidence.hasCounter(match[2] as string)) return true;
    }
    const counted = figuresOf(sentence)
      .filter(
        ({ isMoney, isPercent, isTemperature, value }) =>
          !isMoney && !isPercent && !isTemperature && Number.isInteger(value) && value >= 0 && value < 10_000,
      )
      .filter((figure) => {
        const near = rounded(text, figure);
        return near === figure || !this.#evidence.states(near);
      })
      .flatMap(({ value, noun, start, end, raw }) =>
        noun === undefined ||
        isSpan(text, start, noun) ||
        isMarkerOrTime(text, { start, end, raw, isMoney: false })
          ? []
          : [{ count: value, noun, isWord: false, isOfOptions: OPTIONS.test(text.slice(end, end + 48)) }],
      );
    const worded = words.flatMap((word, i) => {
      const count = NUMBER_WORDS.get(word.text);
      const noun = words.slice(i + 1, i + 4).find(({ text }) => text.length > 3)?.text;
      return count === undefined || noun === undefined
        ? []
        : [
            {
              count,
              noun,
              isWord: true,
              isOfOptions: OPTIONS.test(text.slice(word.end, word.end + 48)),
            },
          ];
    });
    return [...counted, ...worded].some((one) => this.#left-- > 0 && this.#isMiscounted(one, text));
  }

  #isMiscounted(
    {
      count,
      noun,
      isWord,
      isOfOptions,
    }: { count: number; noun: string; isWord: boolean; isOfOptions: boolean },
    text: string,
  ): boolean {
    const { available, counts, listed } = this.#evidence;
    // "8 of our 11 variants"
    if (available.some(([some, all]) => all === count && numbersIn(text, MAX_CHECKED).includes(some)))
      return false;
    if (available.length > 0 && isOfOptions && /\b(?:available|in stock)\b/i.test(text))
      return (
        !available.some(([some]) => some === count) && available.some(([, all]) => Math.abs(all - count) <= 2)
      );
    if (noun.length < 4 || counts.has(count) || this.#evidence.has(count)) return false;
    if (this.#evidence.spans.has(count, noun)) return false;
    const given = this.#evidence.countsOf(noun);
    if (given.length > 0) {
      const isRest = given.some((all) => this.#evidence.has(all - count));
      return !given.includes(count) && !isRest && !combines(count, given);
    }
    const [first] = this.#steps;
    const isPaged = this.#steps.length > 1 && this.#steps.every((step) => step.tool === first?.tool);
    const isAsked = `${first?.tool} ${this.#evidence.prompt}`
      .toLowerCase()
      .includes(noun.slice(0, Math.max(4, noun.length - 2)));
    return isWord && isPaged && isAsked && listed > 0 && listed < 50 && count !== listed;
  }
}
