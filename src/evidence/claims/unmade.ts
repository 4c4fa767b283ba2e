import { verbStemOf } from '../language/index.ts';
import { finding } from './ends.ts';
import { isPlan } from './sentences.ts';
import { WENT_WELL } from './states.ts';
import { timesIn } from './times.ts';
import type { Told } from './told.ts';
import type { AnswerClaim, ClaimFinding, Sentence } from './types.ts';
import { actsIn, LOOKUPS, Stems, shares } from './words.ts';

const MAX_ASKED_CHARS = 2048;
const MIN_STEM = 4;
const NOT_A_WORD = /[^\p{L}\p{N}]+/u;
/** What a model does in its answer itself, when asked for. */
const OF_TEXT = new Stems(
  'draft format sort compos convert rephras reword shorten polish proofread rank group fix cod implement refactor design solv pick choos select narrow prepar tailor writ rewrit edit correct simplif count number combin organi structur review outlin generat creat mak add remov us tak giv put',
);

/** The stems of the user's latest words. */
const askedStems = (prompt: string): ReadonlySet<string> =>
  new Set(prompt.slice(-MAX_ASKED_CHARS).toLowerCase().split(NOT_A_WORD).map(verbStemOf));

/** "I've paused your membership": a verb that names no known act, and that the user asked for. */
const isAsked = ({ isCompleted, doneStems }: AnswerClaim, asked: ReadonlySet<string>): boolean =>
  isCompleted &&
  [...doneStems].some(
    (stem) =>
      stem.length >= MIN_STEM && asked.has(stem) && actsIn([stem], '').size === 0 && !OF_TEXT.begin(stem),
  );

/** "After that, the first night is charged": what happens by rule, to nobody's thing. */
const isRule = ({ lower }: Sentence): boolean =>
  !/\d{4}|\b(?:your|you|it|now|has|have|i|we|both|all (?:two|three|four|five|six|\d{1,2}))\b/.test(lower) &&
  /\b(?:is|are)\b/.test(lower);

/** Claims of an answer before which no call was made. */
export function withoutCalls(
  prompt: string,
  claims: readonly AnswerClaim[],
  sentences: readonly Sentence[],
  hasBlock: boolean,
): readonly ClaimFinding[] {
  const asked = askedStems(prompt);
  const wentWell = sentences.filter(
    (one) =>
      !one.isQuestion &&
      ((!isPlan(one) && WENT_WELL.test(one.lower) && !claims.some(({ sentence }) => sentence === one)) ||
        claims.some(({ sentence }) => sentence === one && IS_SET.test(one.lower))),
  );
  return [
    ...wentWell.map((one) => finding('tool_never_called', one)),
    ...claims
      .filter((claim) => !isText(claim) && !QUOTED.test(claim.sentence.text) && !(hasBlock && isEdit(claim)))
      .filter(
        (claim) =>
          claim.kind === 'lookup' ||
          (claim.kind === 'other'
            ? isAsked(claim, asked)
            : claim.isCompleted || (claim.acts.size > 0 && !isRule(claim.sentence))),
      )
      .map((claim) => finding('tool_never_called', claim.sentence)),
  ];
}

/** What is set only by a call. */
const IS_SET =
  /\b(?:reminder|alarm|timer|alert|thermostat|heating)s?\b[^.!?;,]{0,60} (?:is|are) (?:now |all )?set\b/;
const QUOTED = /^\s{0,3}>/;
/** "as follows" */
const HELD = /如下|以下の(?:通り|とおり)/;
/** "I've written a haiku": the answer holds it. */
const isText = ({ verbs, sentence }: AnswerClaim): boolean =>
  HELD.test(sentence.text) ||
  (verbs.length > 0 &&
    verbs.every((verb) => /^(?:re)?wr[io]t/.test(verb)) &&
    !/\bfiles?\b|\.[a-z]{2,4}\b|\b(?:to|into|in) (?:the|your) /.test(sentence.lower));

/** "I corrected three typos", beside the corrected text: no file and no place is named. */
const isEdit = ({ kind, isOwn, verbs, stems, sentence }: AnswerClaim): boolean =>
  isOwn &&
  kind !== 'lookup' &&
  [...verbs, ...stems].length > 0 &&
  [...verbs, ...stems].every((verb) => OF_TEXT.begin(verb) || EDITS.begin(verb)) &&
  !/\bfiles?\b|\.[a-z]{2,4}\b|\b(?:on|to|into|in) (?:the|your) (?:file|repo|branch|server|database|account|calendar|system|table|app)/.test(
    sentence.lower,
  );
const EDITS = new Stems('edit chang replac renam modif');

/** "I've completed the searches." */
const isOfReading = ({ acts, verbs, sentence }: AnswerClaim): boolean =>
  (acts.size === 0 &&
    !verbs.some((verb) => PLAIN_CHANGES.test(verb)) &&
    sentence.words.some(({ text }) => LOOKUPS.begin(text) || READINGS.begin(text))) ||
  (acts.size === 1 && acts.has('run') && /\b(?:call|search|quer|tool|function)/i.test(sentence.text));
/** Verbs that name no act and yet are none of a search. */
const PLAIN_CHANGES =
  /^(?:comment|repl|lower|rais|increas|paus|extend|waiv|credit|open|fil|lodg|start|stopp|trigger|launch|issu|plac|swapp|split)/;
const READINGS = new Stems('analy compar calcul lookup look-up assess verif read');

/** Families of the words before the verb: "the exchange has been submitted". */
const actsBefore = ({ sentence, verbs }: AnswerClaim): ReadonlySet<string> => {
  const words = sentence.words.map(({ text }) => text);
  const verb = words.findIndex((word) => verbs.includes(word));
  return actsIn(words.slice(0, Math.max(0, verb)), '');
};

/** "Your appointment is booked for Monday": what the user asked for, and no result says it. */
const isWantedState = (
  claim: AnswerClaim,
  told: Told,
  asked: () => ReadonlySet<string>,
  prompt: string,
): boolean =>
  ((WANTED.test(claim.sentence.lower) &&
    (claim.acts.size === 0 ? asked().size > 0 : shares(claim.acts, asked()))) ||
    (ordersIt(prompt) && isOfOrder(claim.sentence))) &&
  !told.says(claim);
/** What the user said last, in lower case. */
const lastMessage = (prompt: string): string =>
  prompt
    .slice(prompt.lastIndexOf('\n\n') + 1)
    .slice(-MAX_LAST_CHARS)
    .toLowerCase();
/** "Yes, go ahead", "Set that up." */
const ordersIt = (prompt: string): boolean => {
  const last = lastMessage(prompt).trim();
  return !/[?？]$/.test(last) && ORDERS.test(last);
};
const ORDERS =
  /^(?:yes|yep|yeah|ok(?:ay)?|sure|please|perfect|great|correct|right|do it|go ahead|let['’]s|ja|sí|si|oui|sim|はい|好|可以|是)(?![a-zà-ÿ])|(?<![a-z])(?:go ahead|please|do (?:it|that|so)|(?:set|take|put|sign|book|file|move|change|cancel|send|order|make|add|switch) (?:it|that|this|them|me|my|us|the)|i confirm|bitte|por favor|s['’]il vous plaît)(?![a-zà-ÿ])|お願いします|请/;
/** What is said of a thing that an order has changed. */
export const isOfOrder = ({ lower }: Sentence): boolean => OF_ORDER.test(lower);
const OF_ORDER =
  /(?:^|[.!,;:–—]|\band)\s{0,3}(?:(?:your|both|all|the) [a-z][^.!?,\n]{0,60}?(?:\.\d[^.!?,\n]{0,40}?)?(?:,\d{3}[^.!?,\n]{0,40}?)? (?:is|are) (?:now |all |officially )?(?:recorded|registered|filed|submitted|activated|deactivated|blocked|locked|unlocked|paused|resumed|extended|moved|rebooked|upgraded|downgraded|switched|split|placed|ordered|opened|transferred|charged|waived|credited|set up|booked|scheduled|cancelled|canceled|reserved|refunded|changed|updated|deleted|removed|sent|created|added|uploaded|published|merged|deployed)\b|(?:your|the) [a-z][^.!?,\n]{0,60} now (?:has|includes?|shows?|contains?|reads?|goes to|ships? to|comes? with)\b)/;
const WANTED =
  /(?:^|[.!,;:–—]|\band)\s{0,3}(?:(?:your|both|all|the) [a-z][^.!?,\n]{0,60} (?:is|are)|you(?:['’]re| are)) (?:now |all |officially ){0,2}(?:booked|scheduled|cancelled|canceled|reserved|refunded|changed|updated|confirmed|deleted|removed|sent|created|added|uploaded|published|merged|deployed)\b/;

/** "Are the files deleted?", "Am I still on the list?": the user asks for a state, not for an act. */
const isInquiry = (prompt: string): boolean => {
  const last = lastMessage(prompt).trim();
  return (
    /[?？]$/.test(last) &&
    /^(?:is|are|am|was|were|has|have|did|do|does|where|what|when|which|who|how many|ist|sind|wurde|está|est)(?![a-z])/.test(
      last,
    ) &&
    !/please|(?:can|could|would|will) you/.test(last)
  );
};
/** "It has been deleted", to "Has it been deleted?": what was found, not what was done. */
const answers = ({ isOwn, doneStems, verbs }: AnswerClaim, prompt: string): boolean => {
  const asked = askedStems(lastMessage(prompt));
  return !isOwn && [...doneStems, ...verbs.map(verbStemOf)].some((stem) => asked.has(stem));
};
const ALL_SET = /\ball set\b/;
/** "You're all set. Monday at 10:30 with Dr. Kim": the act is not named, what it arranged is. */
const isArranged = (sentence: Sentence, sentences: readonly Sentence[]): boolean => {
  const at = sentences.indexOf(sentence);
  return sentences
    .slice(at, at + 3)
    .some(
      (one) => !one.isQuestion && !isPlan(one) && (timesIn(one.lower).length > 0 || ARRANGED.test(one.lower)),
    );
};
const ARRANGED =
  /\byour (?:[a-z-]{1,20} ){0,3}(?:is|are) (?:now )?(?:booked|confirmed|scheduled|reserved|cancelled|canceled)\b|\b(?:confirmation|booking|reservation|appointment) (?:number|id|code)\b/;

/** Whether it is about a thing that the user named last and that no result knows. */
const isOfUser = ({ words }: Sentence, prompt: string, told: Told): boolean => {
  const last = new Set(lastMessage(prompt).split(NOT_A_WORD));
  const subject = words.slice(0, MAX_SUBJECT).find(({ text }) => text.length >= MIN_NOUN && last.has(text));
  return subject !== undefined && !told.knows(subject.text);
};
const MAX_LAST_CHARS = 2048;
const MAX_SUBJECT = 4;
const MIN_NOUN = 5;

/** Only reads were made. What a result itself says was done ("status: cancelled") may be told. */
export function actWithoutCall(
  claim: AnswerClaim,
  told: Told,
  asked: () => ReadonlySet<string>,
  sentences: readonly Sentence[],
  prompt: string,
): ClaimFinding | undefined {
  if (isInquiry(prompt) && (!claim.isCompleted || claim.places.length > 0 || answers(claim, prompt)))
    return undefined;
  if (!claim.isCompleted)
    return isWantedState(claim, told, asked, prompt)
      ? finding('tool_never_called', claim.sentence)
      : undefined;
  if (isOfReading(claim)) return undefined;
  if (ALL_SET.test(claim.sentence.lower))
    return isArranged(claim.sentence, sentences) && asked().size > 0 && !told.saysArranged()
      ? finding('tool_never_called', claim.sentence)
      : undefined;
  if (told.areNamed(claim.places)) return undefined;
  if (claim.isOwn) return finding('tool_never_called', claim.sentence);
  // What others did ("notes have been published") is no act of the run, unless the user wanted it.
  const isOfOthers =
    claim.acts.size > 0 &&
    !shares(claim.acts, asked()) &&
    !shares(actsBefore(claim), asked()) &&
    !isOfUser(claim.sentence, prompt, told);
  return isOfOthers || told.says(claim) ? undefined : finding('tool_never_called', claim.sentence);
}
