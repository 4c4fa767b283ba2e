import { isNegation, wordSet } from '../language/index.ts';
import type { Word } from '../phrases/index.ts';
import { isHedge, type Sentence } from './statements.ts';

/** `own`: "I've sent it"; `done`: "has been sent"; `state`: "is sent". */
export type VerbForm = 'own' | 'done' | 'state';
export interface Verb {
  readonly text: string;
  readonly form: VerbForm;
}

const ADVERBS = wordSet(
  'now just also already both all each successfully been officially since then recently fully correctly automatically indeed again went gone ahead and therefore all',
);
const PAST_FORMS = wordSet('sent made found wrote rewrote paid put built ran set');
const BE = wordSet("is are was were you're they're it's that's");
/** A participle: what follows "have" and is none is a thing that one has. */
const COMPLETED = /(?:[dntw]|[ndmt]e|un|ut|ung)$/;
const STATE_ENDING = /(?:ed|en|nt|id|lt|de|pt|plit)$/;
const MAX_REACH = 10;

/** English verbs in a completed form whose clause is no plan and no denial. */
export function verbsIn(statement: Sentence): readonly Verb[] {
  const { words } = statement;
  const verbs: Verb[] = [];
  const at = (index: number) => words[index]?.text ?? '';
  const afterAdverbs = (index: number) => {
    let next = index;
    while (ADVERBS.has(at(next))) next++;
    return next;
  };
  const take = (from: number, verb: number, form: VerbForm) => {
    const word = words[verb];
    if (word === undefined || (form !== 'state' && !COMPLETED.test(word.text))) return;
    if (!isHedged(statement, from, verb)) verbs.push({ text: word.text, form });
  };
  for (let i = 0; i < words.length; i++) {
    const word = at(i);
    const isWe = word === 'i' || word === 'we';
    if (isJoined(statement, i, verbs)) take(i, i, verbs.at(-1)?.form ?? 'own');
    else if (word === "i've" || word === "we've") take(i, afterAdverbs(i + 1), 'own');
    else if (isWe && at(i + 1) === 'have') take(i, afterAdverbs(i + 2), 'own');
    else if (isWe) {
      const verb = afterAdverbs(i + 1);
      if (/..ed$/.test(at(verb)) || PAST_FORMS.has(at(verb))) take(i, verb, 'own');
    } else if (word === 'has' || word === 'have') {
      const verb = afterAdverbs(i + 1);
      if (words.slice(i + 1, verb).some((one) => one.text === 'been')) take(i, verb, 'done');
    } else if ((BE.has(word) || word.endsWith("'s")) && !isRelative(words, i)) {
      const verb = afterAdverbs(i + 1);
      if (STATE_ENDING.test(at(verb)) && at(verb).length > 3)
        take(i, verb, at(i + 1) === 'successfully' ? 'done' : 'state');
    } else if (word === 'successfully') {
      take(i, at(i + 1) === 'been' ? i + 2 : i + 1, 'done');
      if (at(i - 1).endsWith('ed')) take(i - 1, i - 1, 'done');
    }
  }
  return verbs;
}

/** "a code that's sent to your phone": what a thing is like. */
const isRelative = (words: readonly Word[], i: number): boolean => {
  const [before, earlier] = [words[i - 1]?.text ?? '', words[i - 2]?.text ?? ''];
  return (before === 'that' || before === 'which') && i > 1 && !/^(?:confirm|see|say)/.test(earlier);
};
/** "I've booked the room and invited Lou" */
const isJoined = ({ words }: Sentence, i: number, verbs: readonly Verb[]): boolean =>
  words[i - 1]?.text === 'and' &&
  /(?:ed|^sent|^paid)$/.test(words[i]?.text ?? '') &&
  (verbs.at(-1)?.form ?? 'state') !== 'state';

/** A plan, a condition or a denial stands before the verb in its clause. */
function isHedged(statement: Sentence, from: number, verb: number): boolean {
  const { words, text } = statement;
  for (let i = verb - 1; i >= Math.max(0, from - MAX_REACH); i--) {
    const word = words[i] as Word;
    const next = words[i + 1] as Word;
    const isBreak = /[,;:–—]/.test(text.slice(word.end, next.start)) || /^(?:but|and)$/.test(word.text);
    if (isBreak && i < from) return false;
    if ((i < from && isHedge(statement, i)) || isNegation(word.text)) return true;
  }
  return false;
}
