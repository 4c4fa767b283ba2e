import type { AnswerClaim, Sentence } from './sentences.ts';
import type { ReadStep } from './steps.ts';
import { shares, verbStem } from './words.ts';

const COUNTS: Readonly<Record<string, number>> = {
  both: 2,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  beide: 2,
  zwei: 2,
  drei: 3,
  vier: 4,
  ambos: 2,
  dos: 2,
  tres: 3,
  cuatro: 4,
  deux: 2,
  trois: 3,
  all: 0,
  every: 0,
  each: 0,
  everything: 0,
  alle: 0,
  todos: 0,
  todas: 0,
  tous: 0,
  toutes: 0,
};
const ALL_IN_CJK = /全部|全員|全都|都|所有|すべて|全て|両方|两/u;

/** "all", "both", "four": 0 stands for a word that gives no number. */
export function quantityIn({ words, text }: Sentence): number | undefined {
  for (const [i, word] of words.entries()) {
    const count = COUNTS[word.text];
    if (count === undefined || !Object.hasOwn(COUNTS, word.text)) continue;
    if (word.text === 'all' && words[i + 1]?.text === 'set') continue;
    const isPart = words[i + 1]?.text === 'of' || words[i - 1]?.text === 'of' || words[i - 2]?.text === 'of';
    if (!isPart) return count;
  }
  return ALL_IN_CJK.test(text) ? 0 : undefined;
}

/** The first noun after "all", "both", "four". */
export function countedIn({ words }: Sentence): string | undefined {
  const at = words.findIndex(({ text }) => Object.hasOwn(COUNTS, text));
  const after = at < 0 ? [] : words.slice(at + 1, at + 4);
  return after.find(({ text }) => text.length > 3 && !Object.hasOwn(COUNTS, text))?.text;
}

/** "Both orders have been cancelled", or two that are named, where one call was made, for one of them. */
export function isOfMoreThanCalled(claim: AnswerClaim, writes: readonly ReadStep[]): boolean {
  const quantity = quantityIn(claim.sentence);
  const isListed = quantity !== undefined || LISTED.test(claim.sentence.text);
  if (!isListed) return false;
  const calls = writes.filter((step) => shares(step.acts, claim.acts));
  if (calls.length === 0 || writes.some((step) => step.isBad || step.acts.size === 0)) return false;
  const given = writes.map((step) => step.argumentsText.toLowerCase()).join('\n');
  const forms = new Set(calls.map((step) => formOf(step.target.toLowerCase().replace(/^#/, ''))));
  const named = [...claim.ids].filter((id) => /\d{4}/.test(id) && forms.has(formOf(id)));
  if (named.length > 1 && named.some((id) => given.includes(id)))
    return named.some((id) => !given.includes(id));
  const count = quantity ?? 0;
  const parts = calls.reduce((sum, step) => sum + Math.max(1, step.parts), 0);
  return (
    count > parts &&
    claim.sentence.words.some((word, i) => isCountedBy(word.text, claim.sentence.words[i - 1]?.text, calls))
  );
}

/** "#W5056519 and #W5995614" */
const LISTED = /#?[A-Za-z_]{1,20}\d{4,20}\W{0,4}(?:and|,|&)\W{0,4}#?[A-Za-z_]{1,20}\d{4,20}/;
const formOf = (id: string): string => id.replace(/\d/g, '0');

/** Whether the word is what the calls do one of at a time: "both orders" of `cancel_order`. */
const isCountedBy = (noun: string, before: string | undefined, calls: readonly ReadStep[]): boolean =>
  noun.endsWith('s') &&
  before !== undefined &&
  (Object.hasOwn(COUNTS, before) || /^(?:your|the|pending|of)$/.test(before)) &&
  calls.every((step) => step.stems.has(verbStem(noun)));
