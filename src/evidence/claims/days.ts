import { isPlan, tellsDone } from './sentences.ts';
import type { Sentence } from './types.ts';

/** Among more days than these, a day that is missing may have been computed from one of them. */
const FEW_DATES = 3;
/** Where something was done for a day, a call was given that day. */
const MAX_DATES = 100;
/** Of a longer text a part may be missing. */
const MAX_TEXT_CHARS = 24_576;
const MAX_CHECKED = 64;
/** Days that are counted from another one. */
const RELATIVE =
  /(?<![a-zß-ÿ])(?:today|tomorrow|yesterday|within|until|by|before|after|later|earlier|deadline|expected|estimated|due|heute|morgen|gestern|bis|hoy|mañana|ayer|hasta)(?![a-zß-ÿ])|今日|明日|昨日|今天|明天|昨天|まで/i;
/** The day after a departure is computed. */
const ARRIVAL = /\b(?:arriv|lands?\b|llega|ankunft)/i;

/** Days of the year that the answer gives, held against those of the evidence. */
export class Days {
  readonly #text: string;
  readonly #prompt: string;
  #known: ReadonlySet<number> | undefined;
  #left = MAX_CHECKED;

  constructor(text: string, prompt: string) {
    this.#text = text;
    this.#prompt = prompt;
  }

  /** Another day than those few that the evidence gives, or than all of them where it was acted on. */
  contradict(sentence: Sentence): boolean {
    if (sentence.isQuestion) return false;
    const dates = [...datesIn(sentence.text)];
    if (dates.length === 0) return false;
    const isDue = isPlan({ ...sentence, words: sentence.words.filter(({ text }) => text !== 'has') });
    if (isDue) return false;
    if (isPlan(sentence) || RELATIVE.test(sentence.text)) return false;
    const isOfAct = tellsDone(sentence) && !ARRIVAL.test(sentence.text) && this.#text.length < MAX_TEXT_CHARS;
    return dates.some((date) => this.#left-- > 0 && this.#isOther(date, isOfAct ? MAX_DATES : FEW_DATES));
  }

  #dates(): ReadonlySet<number> {
    this.#known ??= datesIn(`${this.#text}\n${this.#prompt}`);
    return this.#known;
  }

  /** Whether a day is none of the evidence, which has so many at most. */
  #isOther(date: number, most: number): boolean {
    const known = this.#dates();
    return known.size > 0 && known.size <= most && !known.has(date);
  }
}

/** Beginnings of the names of months in English, German, Spanish, French and Portuguese. */
const MONTHS: readonly RegExp[] = [
  /^(?:jan|ene)/,
  /^(?:feb|fév|fev)/,
  /^(?:mar|mär)/,
  /^(?:apr|abr|avr)/,
  /^(?:may|mai)/,
  /^(?:jun|juin)/,
  /^(?:jul|juil)/,
  /^(?:aug|ago|aoû)/,
  /^(?:sep|set)/,
  /^(?:oct|okt|out)/,
  /^(?:nov)/,
  /^(?:dec|dez|dic|déc)/,
];
const DATE =
  /(?<!\d)\d{4}-(\d\d)-(\d\d)|(?<![a-zß-ÿ\d])([a-zß-ÿ]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?(?![\d:.]\d|\d)|(?<!\d)(\d{1,2})(?:st|nd|rd|th|\.)?(?: of| de)? ([a-zß-ÿ]{3,10})|(?<!\d)(\d{1,2})月(\d{1,2})日/gi;
const MAX_DATES_READ = 200;

const monthOf = (name: string): number => {
  const lower = name.toLowerCase();
  return MONTHS.findIndex((month) => month.test(lower)) + 1;
};

/** Days of the year in a text, as month * 100 + day: `2026-03-13`, `March 13`, `13. März`, `3月13日`. */
function datesIn(text: string): ReadonlySet<number> {
  const dates = new Set<number>();
  for (const match of text.matchAll(DATE)) {
    if (dates.size >= MAX_DATES_READ) break;
    const [, isoMonth, isoDay, before, after, day, name, month, cjkDay] = match;
    const number =
      before !== undefined ? monthOf(before) : name !== undefined ? monthOf(name) : Number(isoMonth ?? month);
    const date = Number(isoDay ?? after ?? day ?? cjkDay);
    if (number >= 1 && number <= 12 && date >= 1 && date <= 31) dates.add(number * 100 + date);
  }
  return dates;
}
