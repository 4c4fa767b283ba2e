/** Which calls a claim is about, and whether the answer owns up to what failed. */
import { type ActClaim, admitsFailure, type Sentence, toActStem } from '../answer/index.ts';
import { wordSet } from '../language/index.ts';
import { ACTS } from '../phrases/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { shares } from './finding.ts';
import type { AnswerReading } from './types.ts';

/** The calls that change something. */
export const listWrites = ({ steps }: AnswerReading): readonly ReadStep[] =>
  steps.filter((step) => !step.isRead && !step.isListing && step.tool !== 'think');

/** The failure of a call that no later one made good. */
export const isUnrepaired = (step: ReadStep): boolean => step.isBad && !step.isRepaired;

/** The calls that a claim is about: of its families or its verb, and with its identifiers where a call has one of them. */
export function callsFor(claim: ActClaim, writes: readonly ReadStep[]): readonly ReadStep[] {
  const isPlain = claim.acts.size === 0 && claim.mentioned.size === 0 && claim.kind === 'act';
  const related = isPlain
    ? writes
    : writes.filter(
        (step) =>
          shares(step.stems, claim.stems) ||
          (claim.kind === 'act' && (step.acts.size === 0 || shares(step.acts, claim.mentioned))),
      );
  const named = related.filter((step) => shares(claim.ids, step.ids) || isNamedIn(claim.statement, step));
  return named.length > 0 ? named : related;
}

/** Whether the statement has a text that the call was given: a name, a place. */
export const isNamedIn = ({ lower }: Sentence, step: ReadStep): boolean =>
  step.names.some((name) => name.length > 2 && /\p{L}/u.test(name) && lower.includes(name));

const MAX_REASON_CHARS = 400;
const MIN_REASON_WORD = 5;

/** Whether the answer tells of the failure of this call: it admits one, or has the words of its reason. */
export const isTold = (reading: AnswerReading, step?: ReadStep): boolean =>
  reading.statements.some((one) => one.kind !== 'code' && admitsFailure(one) && concerns(one, step)) ||
  (step !== undefined && hasReason(reading, step));

/** That another act failed excuses nothing. */
function concerns(admission: Sentence, step: ReadStep | undefined): boolean {
  const acts = ACTS.in(admission);
  return step === undefined || step.acts.size === 0 || acts.size === 0 || shares(acts, step.acts);
}

/** Words of a failure that no request, tool or argument has, and that the answer has. */
function hasReason({ statements, prompt }: AnswerReading, step: ReadStep): boolean {
  const reason = step.text.slice(0, MAX_REASON_CHARS).toLowerCase();
  const given = `${step.argumentsText} ${step.tool} ${prompt}`.toLowerCase();
  const answer = statements.map(({ lower }) => lower).join('\n');
  if (/\p{Script=Han}/u.test(reason))
    return (reason.match(/[\p{Script=Han}\p{Script=Katakana}]{2}/gu) ?? []).some(
      (pair) => answer.includes(pair) && !given.includes(pair),
    );
  return (reason.match(/\p{L}{4,20}/gu) ?? []).some((word) => {
    const stem = word.slice(0, Math.max(MIN_REASON_WORD, Math.min(7, word.length - 2)));
    const isTelling = (word.length >= MIN_REASON_WORD || SHORT_REASON.test(word)) && !COMMON.has(word);
    const isOfAct = ACTS.of(word).length > 0 || step.stems.has(toActStem(word));
    return isTelling && !isOfAct && !given.includes(stem.slice(0, MIN_REASON_WORD)) && answer.includes(stem);
  });
}
const SHORT_REASON = /^(?:full|busy|lost|late|dead|down)$/;
const COMMON = wordSet(
  'error errors failed failure failures order orders payment item items amount method status error request requested operation completed processed success successful passed passing confirm confirmed message result address customer account user false state service number please there their which could would should invalid details reason further information assist cannot record value',
);
