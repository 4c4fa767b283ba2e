import { type Evidence, formsOf } from './evidence.ts';
import { figuresOf, numbersIn } from './figures.ts';
import { idsWithPlace } from './names.ts';
import { Slips } from './slips.ts';
import type { ReadStep, Sentence } from './types.ts';
import { wordsIn } from './words.ts';

/** Of an answer so many figures are looked for, and so many words of a sentence. */
const MAX_FIGURES = 64;
const MAX_WORDS = 24;
const MAX_NUMBERS = 500;
const MIN_WORD_CHARS = 3;

/** Finds the call that a wrong value contradicts. */
export class StepsAgainst {
  readonly #evidence: Evidence;
  readonly #steps: readonly ReadStep[];
  readonly #read = new Map<ReadStep, { readonly words: ReadonlySet<string>; readonly slips: Slips }>();
  #left = MAX_FIGURES;

  constructor(steps: readonly ReadStep[], evidence: Evidence) {
    this.#steps = steps.filter((step) => step.tool !== 'think' && step.outcome !== 'failed');
    this.#evidence = evidence;
  }

  /**
   * The call whose result has the sentence's wrong figures but for one digit, and most of its words. The last one where
   * several are alike.
   */
  of(sentence: Sentence): ReadStep | undefined {
    if (this.#steps.length < 2) return this.#steps[0];
    const wrong = this.#wrongForms(sentence);
    const said = sentence.words.map((word) => word.text).filter((word) => word.length >= MIN_WORD_CHARS);
    const some = [...new Set(said)].slice(0, MAX_WORDS);
    let [best, most] = [this.#steps.at(-1), -1];
    for (const step of this.#steps) {
      const { words, slips } = this.#reading(step);
      const near = wrong.filter((forms) => forms.some((form) => slips.has(form))).length;
      const known = some.filter((word) => words.has(word)).length;
      const score = near * (MAX_WORDS + 1) + known;
      if (score >= most) [best, most] = [step, score];
    }
    return best;
  }

  /** Figures and identifiers of the sentence that nothing in the evidence has. */
  #wrongForms(sentence: Sentence): readonly (readonly string[])[] {
    const wrong: (readonly string[])[] = [];
    for (const figure of figuresOf(sentence)) {
      if (this.#evidence.states(figure)) continue;
      if (this.#left-- <= 0) return wrong;
      wrong.push(formsOf(figure.value));
    }
    for (const { id } of idsWithPlace(sentence.text)) {
      if (/^\d+$/.test(id) || this.#evidence.knows(id.toLowerCase())) continue;
      if (this.#left-- <= 0) return wrong;
      wrong.push([id.toLowerCase()]);
    }
    return wrong;
  }

  #reading(step: ReadStep): { readonly words: ReadonlySet<string>; readonly slips: Slips } {
    let read = this.#read.get(step);
    if (read === undefined) {
      const text = `${step.text}\n${step.argumentsText}`;
      const names = idsWithPlace(text).slice(-MAX_NUMBERS);
      const forms = numbersIn(text, MAX_NUMBERS).flatMap(formsOf);
      read = {
        words: new Set(wordsIn(text).map((word) => word.text)),
        slips: new Slips(new Set([...forms, ...names.map(({ id }) => id.toLowerCase())])),
      };
      this.#read.set(step, read);
    }
    return read;
  }
}
