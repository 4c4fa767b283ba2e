import type { Sentence } from './sentences.ts';
import { actsIn, NO_ACTS, type Word } from './words.ts';

const set = (words: string) => new Set(words.split(' '));
const ADVERBS = set(
  'now just also already both all each successfully been officially since then recently fully correctly automatically indeed again went ahead and therefore',
);
const PAST_FORMS = set('sent made found wrote rewrote paid put built ran set');
export const HEDGES = set(
  "will would can could may might shall should i'll we'll you'll they'll it'll let's what please once if when after before unless until must being whether",
);
/** Two words that make what follows a plan, or words of the user: "going to cancel", "sorry to hear that you were". */
export const HEDGE_PAIRS = set(
  'soon_as you_said you_mentioned you_want you_told you_stated going_to let_me to_proceed order_to need_to needs_to want_to would_like try_to about_to has_to have_to like_to to_hear hear_that hear_you sorry_you sorry_that understand_that understand_you sounds_like',
);
export const NEGATIONS =
  /^(?:not|no|cannot|unable|never|nothing|couldn|didn|wasn|weren|hasn|haven|isn|aren|won)$|n't$/;
/** A participle: what follows "have" and is none is a thing that one has. */
const COMPLETED = /(?:[dntw]|[ndmt]e|un|ut|ung)$/;
const STATE_ENDING = /(?:ed|en|nt|id|lt|de|pt)$/;

export interface Verb {
  readonly text: string;
  readonly form: 'own' | 'done' | 'state';
}

/** "I have confirmed that the order is pending": what one looked at, not what one did. */
export const isSaid = (verb: string, form: Verb['form']): boolean =>
  form === 'own' && verb.startsWith('confirm');

/** English verbs in a completed form whose clause is no plan and no denial. */
export function verbsIn({ text, words }: Sentence): readonly Verb[] {
  const verbs: Verb[] = [];
  const at = (index: number) => words[index]?.text ?? '';
  const afterAdverbs = (index: number) => {
    let next = index;
    while (ADVERBS.has(at(next))) next++;
    return next;
  };
  const take = (from: number, verb: number, form: Verb['form']) => {
    const word = words[verb];
    if (word === undefined || (form !== 'state' && !COMPLETED.test(word.text))) return;
    if (!isHedged(text, words, from, verb)) verbs.push({ text: word.text, form });
  };
  for (let i = 0; i < words.length; i++) {
    const word = at(i);
    const isWe = word === 'i' || word === 'we';
    if (i === 0 && OBJECTS.has(at(1)) && word.endsWith('ed') && !NO_ACTS.begin(word)) take(0, 0, 'own');
    else if (
      i === 0 &&
      words.length === 1 &&
      ALONE.test(text) &&
      word.endsWith('ed') &&
      actsIn([word], '').size > 0
    )
      take(0, 0, 'own');
    else if (isJoined(word, at(i - 1), at(i - 2), verbs)) take(i, i, verbs.at(-1)?.form ?? 'own');
    else if (word === "i've" || word === "we've") take(i, afterAdverbs(i + 1), 'own');
    else if (isWe && at(i + 1) === 'have') take(i, afterAdverbs(i + 2), 'own');
    else if (isWe) {
      const verb = afterAdverbs(i + 1);
      if (/..ed$/.test(at(verb)) || PAST_FORMS.has(at(verb))) take(i, verb, 'own');
    } else if (word === 'has' || word === 'have') {
      const verb = afterAdverbs(i + 1);
      if (verb > i + 1 && words.slice(i + 1, verb).some(({ text }) => text === 'been')) take(i, verb, 'done');
    } else if (/^(?:is|are|was|were|you're|they're|.+'s)$/.test(word)) {
      const verb = afterAdverbs(i + 1);
      if (STATE_ENDING.test(at(verb)) && at(verb).length > 3) take(i, verb, 'state');
    } else if (word === 'successfully') {
      take(i, at(i + 1) === 'been' ? i + 2 : i + 1, 'done');
      if (at(i - 1).endsWith('ed')) take(i - 1, i - 1, 'done');
    }
  }
  return verbs;
}

/** "Fixed the typo": what follows a participle that begins a sentence and claims an act. */
const OBJECTS = set('the your a an all both it them this that these');
/** "Updated!" */
const ALONE = /^\W{0,6}[A-Za-z]{4,14}[!.]/;
/** "I've booked the room and invited Lou" */
const isJoined = (word: string, before: string, earlier: string, verbs: readonly Verb[]): boolean =>
  (word.endsWith('ed') || word === 'sent' || word === 'paid') &&
  verbs.length > 0 &&
  verbs.at(-1)?.form !== 'state' &&
  (before === 'and' || (before === 'also' && earlier === 'and')) &&
  actsIn([word], '').size > 0;

const TIMES = set('once if when after until unless whether');
const CLAUSE_BREAK = /[,;:–—]/;

function isHedged(text: string, words: readonly Word[], from: number, verb: number): boolean {
  for (let i = from; i < verb; i++) if (NEGATIONS.test((words[i] as Word).text)) return true;
  let isAfterAnd = false;
  for (let i = from - 1; i >= Math.max(0, from - 10); i--) {
    const word = words[i] as Word;
    const next = words[i + 1] as Word;
    if (CLAUSE_BREAK.test(text.slice(word.end, next.start)) || word.text === 'but') return false;
    // "as soon as the return and both exchanges are completed": a condition reaches further than a plan.
    if (word.text === 'and') isAfterAnd = true;
    if (isAfterAnd) {
      if (TIMES.has(word.text) || (word.text === 'soon' && next.text === 'as')) return true;
    } else if (
      HEDGES.has(word.text) ||
      NEGATIONS.test(word.text) ||
      HEDGE_PAIRS.has(`${word.text}_${next.text}`)
    )
      return true;
  }
  return false;
}
