import { isNegation } from '../language/index.ts';
import type { Sentence, Word } from './types.ts';
import { actsIn, NO_ACTS } from './words.ts';

const set = (words: string) => new Set(words.split(' '));
const ADVERBS = set(
  'now just also already both all each successfully been officially since then recently fully correctly automatically indeed again went gone ahead and therefore',
);
const PAST_FORMS = set('sent made found wrote rewrote paid put built ran set');
export const HEDGES = set(
  "will would can could may might shall should i'll we'll you'll they'll it'll let's what please once if when after before unless until must being whether",
);
/** Two words that make what follows a plan, or words of the user: "going to cancel", "sorry to hear that you were". */
export const HEDGE_PAIRS = set(
  'soon_as you_said you_mentioned you_want you_told you_stated going_to let_me to_proceed order_to need_to needs_to want_to would_like try_to about_to has_to have_to like_to to_hear hear_that hear_you sorry_you sorry_that understand_that understand_you sounds_like provided_that provided_you long_as assuming_that assuming_you make_sure making_sure sure_that',
);
/** Whether a word makes what follows a plan: not the month in "3 May", not "I can see that it was approved". */
export function isHedge(words: readonly Word[], i: number): boolean {
  const word = words[i]?.text ?? '';
  const next = words[i + 1]?.text ?? '';
  if (HEDGE_PAIRS.has(`${word}_${next}`)) return true;
  if (!HEDGES.has(word)) return false;
  const before = words[i - 1]?.text ?? '';
  if (word === 'may')
    return !(IS_DAY.test(before) || IS_DAY.test(next) || before === 'of' || before === 'since');
  return !(word === 'can' && (before === 'i' || before === 'we') && SEES.has(next));
}
const IS_DAY = /^\d{1,4}(?:st|nd|rd|th)?$/;
const SEES = set('see confirm assure');
/** Whether a word denies; contractions may have lost their end. */
export const isDenial = (word: string): boolean => isNegation(word) || CUT_OFF.test(word);
const CUT_OFF = /^(?:unable|couldn|didn|wasn|weren|hasn|haven|isn|aren|won)$/;
/** A participle: what follows "have" and is none is a thing that one has. */
const COMPLETED = /(?:[dntw]|[ndmt]e|un|ut|ung)$/;
const STATE_ENDING = /(?:ed|en|nt|id|lt|de|pt|plit)$/;

export interface Verb {
  readonly text: string;
  readonly form: 'own' | 'done' | 'state';
}

/** "I have confirmed that the order is pending": what one looked at, not what one did. */
export const isSaid = (verb: string, form: Verb['form']): boolean =>
  form === 'own' && verb.startsWith('confirm');

/** English verbs in a completed form whose clause is no plan and no denial. */
export function verbsIn({ text, words, start }: Sentence): readonly Verb[] {
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
    if (i === 0 && start < MAX_OPENING && takesBare(text, words)) {
      const verb = bareParticiple(text, words);
      if (verb > 0) take(verb, verb, 'done');
    }
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
    } else if (/^(?:is|are|was|were|you're|they're|.+'s)$/.test(word) && !isRelative(text, words, i)) {
      const verb = afterAdverbs(i + 1);
      if (STATE_ENDING.test(at(verb)) && at(verb).length > 3) take(i, verb, 'state');
    } else if (word === 'successfully') {
      take(i, at(i + 1) === 'been' ? i + 2 : i + 1, 'done');
      if (at(i - 1).endsWith('ed')) take(i - 1, i - 1, 'done');
    }
  }
  return verbs;
}

/** "a code that's sent to your phone", "the form which is attached": what a thing is like. */
const isRelative = (text: string, words: readonly Word[], i: number): boolean => {
  const [word, before] = [words[i], words[i - 1]];
  if (word === undefined || before === undefined) return false;
  if (before.text === 'that' || before.text === 'which') return i > 1 && !SAYS.test(words[i - 2]?.text ?? '');
  return (
    word.text === "that's" && !SAYS.test(before.text) && /^ {1,3}$/.test(text.slice(before.end, word.start))
  );
};
/** "I confirm that is cancelled" */
const SAYS = /^(?:confirm|confirmed|see|say|and|but|so|yes|ok|okay|all|both|is)$/;

/** Most words before a participle that stands without "is": "Snapshot of vm-22 taken". */
const MAX_BARE = 9;
/** Claims without a verb are at the beginning of an answer. */
const MAX_OPENING = 60;
const FINITE =
  /^(?:is|are|was|were|be|been|being|has|have|had|do|does|did|can|could|will|would|should|may|might|must|get|gets|got|not|no|never|i|you|we|they|he|she|it|that|which|who|if|when|once|any|how|what|why|not|un|nothing|none|need|needs|want|i'm|you're|i've|it's|that's|there's|don't|can't|than|remains?|stays?|looks?|seems?|shows?|includes?|comes?|costs?|runs?|expires?|appears?|requires?)$/;
const takesBare = (text: string, words: readonly Word[]): boolean =>
  words.length >= 2 && /^\s{0,4}[\p{Lu}\d#✅✓]/u.test(text);
/** The participle of "Snapshot of vm-22 taken, …", "Reminder set for Friday."; -1 where there is none. */
function bareParticiple(text: string, words: readonly Word[]): number {
  for (let i = 0; i < Math.min(words.length, MAX_BARE); i++) {
    const word = words[i] as Word;
    if (FINITE.test(word.text) || HEDGES.has(word.text)) return -1;
    if (i > 0 && CLAUSE_BREAK.test(text.slice((words[i - 1] as Word).end, word.start))) return -1;
    if (i === 0 || !BARE_PARTICIPLE.test(word.text) || OF_SUM.test((words[i - 1] as Word).text)) continue;
    const after = text.slice(word.end);
    if (!/^\s{0,3}(?:[.!,;(–—✅✓]|$)|^ (?:for|to) /.test(after)) continue;
    const rest = words.slice(i + 1).findIndex((one, n) => {
      const previous = words[i + n] as Word;
      return n > 0 && /[.!,;:–—(]/.test(text.slice(previous.end, one.start));
    });
    const clause = words.slice(i + 1, rest < 0 ? undefined : i + 1 + rest);
    const isWhole = /^\s{0,3}[.!,;(–—✅✓]/.test(after) || after.trim() === '';
    return isWhole || !clause.some((one) => FINITE.test(one.text)) ? i : -1;
  }
  return -1;
}
/** "Total paid" */
const OF_SUM = /^(?:total|amount|sum|price|fees?|date|time|already|originally)$/;
const BARE_PARTICIPLE =
  /^(?:[a-z]{3,14}ed|sent|paid|made|set|taken|put|written|sold|reset|rebuilt|built|rerun|undone|frozen)$/;
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
  for (let i = from; i < verb; i++) if (isDenial((words[i] as Word).text)) return true;
  let isAfterAnd = false;
  for (let i = from - 1; i >= Math.max(0, from - 10); i--) {
    const word = words[i] as Word;
    const next = words[i + 1] as Word;
    if (CLAUSE_BREAK.test(text.slice(word.end, next.start)) || word.text === 'but') return false;
    // "as soon as the return and both exchanges are completed": a condition reaches further than a plan.
    if (word.text === 'and') isAfterAnd = true;
    if (isAfterAnd) {
      if (TIMES.has(word.text) || (word.text === 'soon' && next.text === 'as')) return true;
    } else if (isHedge(words, i) || isDenial(word.text)) return true;
  }
  return false;
}
