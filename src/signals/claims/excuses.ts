import { reportsTrouble } from './admissions.ts';
import { type AnswerClaim, idsIn, type Sentence } from './sentences.ts';
import type { ReadStep } from './steps.ts';
import { actsIn, Stems, shares, verbStem } from './words.ts';

/** Whether an admitted failure may be the one that contradicts the claim: a plain claim of that very act is excused by its own failure only. */
export function excuses(admission: Sentence, claim: AnswerClaim, step: ReadStep | undefined): boolean {
  const isOfStep =
    step !== undefined &&
    (shares(claim.acts, step.acts) || shares(claim.ids, step.ids) || shares(claim.doneStems, step.stems));
  if (!claim.isCompleted || !isOfStep || admission === claim.sentence) return true;
  if (!reportsTrouble(admission)) return false;
  const lower = admission.text.toLowerCase();
  const acts = actsIn(
    admission.words.map(({ text }) => text),
    lower,
  );
  const isOther = acts.size > 0 && !shares(acts, step.acts) && !shares(acts, claim.acts);
  if (isOther && !admission.words.some(({ text }) => step.stems.has(verbStem(text)))) return false;
  const ids = [...idsIn(lower)].filter((id) => /\d{4}/.test(id));
  const given = step.argumentsText.toLowerCase();
  return ids.length === 0 || ids.some((id) => claim.ids.has(id) || given.includes(id));
}

/** Whether the answer has words of a failure that are in no request: then it reports it. */
export function reportsFailure(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
  prompt: string,
): boolean {
  const bad = steps.filter((step) => step.isBad && !step.isRetried);
  const writes = bad.filter((step) => !step.isRead);
  const failed = (writes.length > 0 ? writes : bad).slice(-MAX_REPORTED);
  if (failed.length === 0) return false;
  const asked = prompt.slice(-MAX_ASKED_CHARS).toLowerCase();
  const fine = steps
    .filter((step) => !step.isBad)
    .map((step) => step.text.slice(0, MAX_FINE_CHARS))
    .join('\n')
    .toLowerCase();
  const said = new Set<string>();
  for (const { words } of sentences)
    for (const { text } of words) for (let length = 4; length <= 7; length++) said.add(text.slice(0, length));
  return failed.some((step) => {
    const reason = step.text.slice(0, MAX_REASON_CHARS).toLowerCase();
    if ((reason.match(SHORT_REASONS) ?? []).some((word) => said.has(word))) return true;
    const words = reason.match(/\p{L}{5,20}/gu) ?? [];
    const given = `${step.argumentsText} ${step.tool}`.slice(0, MAX_REASON_CHARS).toLowerCase();
    return words.some((word) => {
      const [stem, start] = [word.slice(0, 7), word.slice(0, 5)];
      return (
        said.has(stem) &&
        isNoAct(stem, step) &&
        !(typeof step.value === 'object' && fine.includes(stem)) &&
        !COMMON_REASONS.begin(stem) &&
        !given.includes(start) &&
        !asked.includes(start)
      );
    });
  });
}
/** Whether a word of a failure names no act, or another one than the tool's: then an answer with it does not claim that act. */
const isNoAct = (stem: string, { acts }: ReadStep): boolean => {
  const named = actsIn([stem], '');
  return named.size === 0 || (acts.size > 0 && !shares(named, acts));
};
const SHORT_REASONS = /(?<!\p{L})(?:full|busy|lost|late|dead|down|over|gone)(?!\p{L})/gu;
export const MAX_REPORTED = 16;
const MAX_ASKED_CHARS = 16_384;
const MAX_REASON_CHARS = 400;
/** Words of what went well are no reason of a failure. */
const MAX_FINE_CHARS = 2048;
const COMMON_REASONS = new Stems(
  'order paymen item amount method status error reques operat complet proces success confirm message result address custom accoun user fals state servic number please there their which could would should invalid details reason further inform assist',
);
