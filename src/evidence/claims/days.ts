import { datesIn } from './dates.ts';
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
