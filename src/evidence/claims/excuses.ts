import { verbStemOf } from '../language/index.ts';
import { reportsTrouble } from './admissions.ts';
import { failedIn } from './batch.ts';
import { idsIn } from './sentences.ts';
import type { AnswerClaim, ReadStep, Sentence } from './types.ts';
import { actsIn, Stems, shares, wordsOfName } from './words.ts';

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
  if (isOther && !admission.words.some(({ text }) => step.stems.has(verbStemOf(text)))) return false;
  const ids = [...idsIn(lower)].filter((id) => /\d{4}/.test(id));
  const given = step.argumentsText.toLowerCase();
  return ids.length === 0 || ids.some((id) => claim.ids.has(id) || given.includes(id));
}

/** Whether the answer has words of a failure that are in no request: then it reports it. */
export function reportsFailure(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
  prompt: string,
  all: readonly Sentence[],
): boolean {
  const bad = steps.filter((step) => (step.isBad || step.outcome === 'partial') && !step.isRetried);
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
  // What the calls were given is no reason.
  const given = steps
    .map(({ argumentsText, tool }) => `${argumentsText} ${tool}`.slice(0, MAX_REASON_CHARS))
    .join('\n')
    .toLowerCase();
  const told = (reason: string) =>
    (reason.match(HAN_PAIRS) ?? []).some(
      (pair) =>
        !asked.includes(pair) && !HAN_COMMON.test(pair) && all.some(({ text }) => text.includes(pair)),
    );
  return failed.some((step) => {
    const { value, tool } = step;
    const whole = step.isBad ? step.text : failedIn(value, wordsOfName(tool)).reasons;
    const reason = whole.slice(0, MAX_REASON_CHARS).toLowerCase();
    if (told(reason)) return true;
    if ((reason.match(SHORT_REASONS) ?? []).some((word) => said.has(word))) return true;
    const words = reason.match(/\p{L}{5,20}/gu) ?? [];
    return words.some((word) => {
      const [stem, start] = [word.slice(0, Math.max(5, Math.min(7, word.length - 2))), word.slice(0, 5)];
      return (
        said.has(stem) &&
        isNoAct(word, step) &&
        !(typeof step.value === 'object' && step.isBad && fine.includes(stem)) &&
        !COMMON_REASONS.begin(word) &&
        !given.includes(start) &&
        !step.stems.has(verbStemOf(word)) &&
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
/** Two letters where words are not divided. */
const HAN_PAIRS = /[\p{Script=Han}\p{Script=Katakana}]{2}/gu;
const HAN_COMMON = /状态|結果|结果|成功|完成|完了|消息|信息|理由|原因|已|予約|送信/;
const SHORT_REASONS = /(?<!\p{L})(?:full|busy|lost|late|dead|down|over|gone)(?!\p{L})/gu;
export const MAX_REPORTED = 16;
const MAX_ASKED_CHARS = 16_384;
const MAX_REASON_CHARS = 400;
/** Words of what went well are no reason of a failure. */
const MAX_FINE_CHARS = 2048;
const COMMON_REASONS = new Stems(
  'order paymen item amount method status error reques operat complet proces success confirm message result address custom accoun user fals state servic number please there their which could would should invalid details reason further inform assist',
);
