import { verbStemOf } from '../language/index.ts';
import { withoutPoliteness } from './admissions.ts';
import { finding } from './ends.ts';
import { idsIn, isConditional, isPlan } from './sentences.ts';
import type { AnswerClaim, ClaimFinding, ReadStep, Sentence } from './types.ts';
import { actsIn, hasUnspacedScript, PLAIN_ACTS, shares } from './words.ts';

/** Patterns of text in lower case. */
const DENIED =
  /(?<![a-zß-ÿ])(?:could(?: not|n['’]t)|cannot|can['’]t|unable to|was(?: not|n['’]t)|were(?: not|n['’]t)|ha(?:s|ve)(?: not|n['’]t)|did(?: not|n['’]t)|failed(?: to)?|fails|fehlgeschlagen|nicht|no (?:he|se|ha|pude)|n['’]ai? pas)(?![a-zß-ÿ])|失败了|失敗しました|できませんでした|未能|没有?.{0,3}成功/;
const DENIED_ACT =
  /(?<![a-zß-ÿ])(?:could not be|couldn['’]t be|was not|wasn['’]t|were not|has not been|have not been|i (?:couldn['’]t|could not|was unable to))(?![a-zß-ÿ])/;
const BROKEN =
  /(?<![a-zß-ÿ])(?:(?:is|are|appears|seems)(?: (?:currently|now|to be|completely)){0,2} (?:down|offline|unavailable|failing|broken|unhealthy)|está (?:caíd[oa]|inactiv[oa])|fehlgeschlagen|ausgefallen|nicht erreichbar|failed|with (?:an? )?(?:errors?|failures?)|is not (?:running|working|active))(?![a-zß-ÿ])|失败了|失敗し|落ちて|停止して/;
const HEALTHY =
  /(?<![a-zß-ÿ])(?:ok|up|healthy|active|activo|running|done|complete[d]?|finished|success[a-zß-ÿ]{0,6}|succeeded|passed)(?![a-zß-ÿ])|"(?:failed|fehler|errors?|fallidos)":0|成功|正常|稼働/;
/** One of several things is not well, or a flag is off. */
const UNHEALTHY =
  /\bnot\b|:false|"(?:failed|error|timeout)"(?!:)|\b(?:down|offline|inactive|unhealthy|degraded|stopped)\b/;
const MAX_STATUS_CHARS = 400;
const FOREIGN_WORD =
  /(?<![a-zß-ÿ])(?:der|das|ist|sind|wurden?|nicht|konnten?|leider|und|el|la|los|las|lo|se|fue|está|pude|pudo|su|tu|le|les|est|été|votre|os|foi|não|sua?|seu)(?![a-zß-ÿ])/;

/** Denials of what succeeded. */
export function contradictedDenials(
  claims: readonly AnswerClaim[],
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
): readonly ClaimFinding[] {
  const claimed = new Set(claims.flatMap((claim) => (claim.isCompleted ? [...claim.acts] : [])));
  const writes = steps.filter((step) => !step.isRead);
  // What was tried again and went well is done; a look that failed or found nothing denies no act.
  const tried = writes.filter((step) => !(step.isBad && step.isRetried));
  const isDone =
    (writes.length === 0 || tried.length > 0) &&
    tried.every((step) => step.outcome === 'ok' && isClear(step));
  if (!isDone && steps.some((step) => step.outcome !== 'ok')) return [];
  const last = steps.at(-1);
  const lastText = last === undefined || last.text.length >= MAX_STATUS_CHARS ? '' : last.text.toLowerCase();
  const isHealthy =
    last !== undefined &&
    steps.every((step) => step.outcome === 'ok') &&
    HEALTHY.test(lastText) &&
    !UNHEALTHY.test(lastText);
  return sentences.flatMap((sentence) => {
    if (sentence.isQuestion || isConditional(sentence)) return [];
    const text = withoutPoliteness(sentence.lower);
    const isFailure = isDone && !NOT_TRIED.test(text);
    const step = isFailure ? deniedStep(sentence, text, tried, claimed) : undefined;
    if (step !== undefined) return [finding('wrong_negation', sentence, step.index)];
    return isHealthy && BROKEN.test(text) && !FOUND_NONE.test(text) && !isPlan(sentence)
      ? [finding('wrong_negation', sentence, last.index)]
      : [];
  });
}

/** "I don't see any snapshot that failed" */
const FOUND_NONE =
  /(?:don['’]t|do not|didn['’]t|did not|can['’]t|cannot|couldn['’]t|could not) (?:see|find) (?:any|an?)(?![a-z])|(?<![a-z])none of/;

/** Denials of what nobody asked for, or of what is still to come. */
const NOT_TRIED =
  /(?<![a-zß-ÿ])(?:yet|remains?|unchanged|(?:was|were) not (?:requested|asked|included|part|needed|affected)|as requested|at your request)(?![a-zß-ÿ])/;

/** The longest key of a status. */
const MAX_STATUS_KEY = 9;
const STATUS = /^(?:status|state|result|outcome|estado|statut|ergebnis|esito|stato|状态|ステータス)$/i;
const DONE_STATE =
  /ok|success|succe|done|complet|confirm|activ|cancel|sent|creat|updat|delet|queue|pend|accept|schedul|process|ship|paid|book|reserv|open|appro|modif|exchang|return|request|ready|new|aktiv|bestätig|erfolg|erledigt|gesendet|hecho|envi|listo|éxito|fait|pronto|feito|成功|完了|完成|已|済/i;
/** A result with a status that is no known word of success may be a refusal. */
const isClear = ({ value, stems }: ReadStep): boolean =>
  typeof value !== 'object' ||
  value === null ||
  !Object.entries(value).some(
    ([key, member]) =>
      typeof member === 'string' &&
      key.length <= MAX_STATUS_KEY &&
      STATUS.test(key) &&
      !DONE_STATE.test(member) &&
      !stems.has(verbStemOf(member.toLowerCase())),
  );

/** "the virtual call queue could not be joined": of `join_virtual_call_queue`. */
const isNamed = ({ stems }: ReadStep, after: readonly string[], text: string): boolean => {
  if (stems.size < 2) return false;
  const said = new Set([...after, ...text.split(NOT_A_WORD)].map(verbStemOf));
  return [...stems].every((stem) => said.has(stem));
};

const NOT_A_WORD = /[^\p{L}\p{N}]+/u;
/** `4471902`, `6wjj2d`: an identifier of a record. */
const OF_RECORD = /\d{4}|^(?=(?:[a-z]{0,7}\d){2})(?=\d{0,7}[a-z])[a-z\d]{5,8}$/;

/** `IFOYYZ`, `SE9KEL`: as bookings are named. */
const LOCATOR = /(?<![\p{L}\d_-])[A-Z][A-Z\d]{5}(?![\p{L}\d_-])/gu;

function deniedStep(
  sentence: Sentence,
  text: string,
  writes: readonly ReadStep[],
  claimed: ReadonlySet<string>,
): ReadStep | undefined {
  const match = DENIED.exec(text);
  const isEnglish = !FOREIGN_WORD.test(text) && !hasUnspacedScript(text);
  if (match === null || (isEnglish && !DENIED_ACT.test(text))) return undefined;
  const after = text.slice(match.index, match.index + 60);
  const words = after.split(NOT_A_WORD);
  // A plain verb, or a verb before the denial, takes its act from the whole sentence.
  const isAnywhere = !isEnglish || PLAIN_ACTS.occurIn(words, after);
  const acts = isAnywhere ? actsIn(text.split(NOT_A_WORD), text) : actsIn(words, after);
  if (shares(acts, claimed)) return undefined;
  const ids = [
    ...[...idsIn(sentence.text)].filter((id) => OF_RECORD.test(id)),
    ...(sentence.text.match(LOCATOR) ?? []).map((id) => id.toLowerCase()),
  ];
  return writes.findLast(
    (step) =>
      (shares(step.acts, acts) ||
        (step.acts.size === 0 && (isEnglish ? isNamed(step, words, text) : !Array.isArray(step.value)))) &&
      (ids.length === 0 ||
        ids.some((id) => step.ids.has(id) || step.argumentsText.toLowerCase().includes(id))),
  );
}
