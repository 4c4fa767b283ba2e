import { verbStemOf } from '../language/index.ts';
import { sentenceEnds } from '../support/index.ts';
import { admitsFailure } from './admissions.ts';
import { BARE, IN_EFFECT, IN_PLACE, LOOKED_UP, SENT_OFF, WENT_THROUGH } from './states.ts';
import type { AnswerClaim, Sentence } from './types.ts';
import { isDenial, isHedge, isSaid, verbsIn } from './verbs.ts';
import { actsIn, hasUnspacedScript, LOOKUPS, NO_ACTS, PLAIN_ACTS, wordsIn } from './words.ts';

/** Longer sentences are read up to here, so that work on a sentence is bounded. */
const MAX_SENTENCE_CHARS = 600;
const MAX_SENTENCES = 200;

/** A question mark, or the particle that Japanese has for it. */
const ASKS = /[?？]["'”’)\]*\s]{0,4}$|(?:です|ます|ません|ましょう|でしょう)か[。.]?$/;

export function sentencesOf(text: string): readonly Sentence[] {
  const sentences: Sentence[] = [];
  let start = 0;
  const take = (end: number) => {
    const raw = text.slice(start, end);
    const trimmed = raw.trim();
    if (trimmed !== '' && sentences.length < MAX_SENTENCES) {
      const from = start + raw.indexOf(trimmed[0] as string);
      const read = trimmed.slice(0, MAX_SENTENCE_CHARS).replace(/[*_`]/g, ' ');
      sentences.push({
        start: from,
        end: from + trimmed.length,
        text: read,
        lower: read.toLowerCase(),
        words: wordsIn(read),
        isQuestion: ASKS.test(trimmed.slice(-12)),
      });
    }
    start = end;
  };
  for (const end of sentenceEnds(text)) take(end);
  return sentences;
}

const set = (words: string) => new Set(words.split(' '));
/** What results say of a thing that is on its way. */
const SENT = ['submitted', 'filed', 'sent', 'queued'];
/** What a sentence that begins so asks for. */
const IMPERATIVES = set(
  'please confirm reply respond provide review choose tell type select specify verify let ask check',
);
const ENGLISH = set('the your you is has been and to of for i was are');

/** Past participles and completed forms of German, Spanish, Portuguese and French that follow an auxiliary. */
const AUXILIARIES = set(
  'ist sind wurde wurden wird habe hat haben he ha han hemos fue fueron está quedó queda quedan foi foram ficou ficaram est sont été ont ai',
);
const OWN_ELSEWHERE = set("habe he hemos j'ai");
/** "I have … for you" */
const OWN_IN_HAN = /我(?:已|刚|剛|帮|幫|替)|(?:帮|幫|为|為|替)(?:您|你)/;
const PARTICIPLE =
  /^(?:(?:nach|um|ein|ab|auf|aus|an|zu|vor|mit|weiter|zurück)(?:ge|be|ver|er).+(?:t|en)|(?:ge|ver|be|er).+(?:t|en)|.+iert|.{2,}ge.{2,}(?:t|en)|.+(?:ad|id)[oa]s?|(?:hech|puest|escrit|abiert|resuelt|feit|escrit|abert|post)[oa]s?|fait|mise?s?|prise?s?|ouverte?s?|.+(?:ió|aron|eron)|.+ée?s?|.+é)$/;
const DONE_IN_CJK = /已(?!经?无)|了(?=[。，,！!\s]|$)|完成|しました|ました(?!か)|済み|完了/u;

const IRREGULAR: Readonly<Record<string, string>> = { sent: 'send', paid: 'pay' };

const OPENS_DATA = set('your the all my');
const DATA = set(
  'details detail orders order ids id information info list status results result summary account profile',
);

/** Identifiers: words with digits, file names. */
export const idsIn = (text: string): Set<string> =>
  new Set(
    (
      text.match(/(?<![A-Za-z_])[A-Za-z_]{0,40}\d[A-Za-z0-9_-]{2,60}|(?<![\w-])[\w-]{1,60}\.[a-z]{2,4}\b/g) ??
      []
    ).map((id) => id.toLowerCase()),
  );

/** The claims of the answer. Questions, plans, offers, conditions and denials claim nothing. */
export function claimsOf(sentences: readonly Sentence[]): readonly AnswerClaim[] {
  const claims = sentences.flatMap((sentence, index) => {
    const claim = sentence.isQuestion ? undefined : claimIn(sentence);
    if (claim === undefined) return [];
    if (/:\s*$/.test(sentence.text))
      for (const item of sentences.slice(index + 1, index + 8)) {
        if (!/^(?:[-•*\s]|\d{1,2}[.)])/.test(item.text)) break;
        for (const id of idsIn(item.text)) claim.ids.add(id);
      }
    return [claim];
  });
  // "Done." stands for the claim beside it.
  return claims.length < 2 ? claims : claims.filter((claim) => !BARE.test(claim.sentence.lower));
}

function claimIn(sentence: Sentence): AnswerClaim | undefined {
  const { text, words } = sentence;
  if (isRequest(sentence) || OF_CONVERSATION.test(sentence.lower) || isOfEarlierAnswer(sentence))
    return undefined;
  const { lower } = sentence;
  const texts = words.map((word) => word.text);
  const verbs = verbsIn(sentence);
  const ids = idsIn(text);
  const mentioned = actsIn(texts, lower);
  const done = verbs.filter(
    ({ text, form }) =>
      (actsIn([text], '').size > 0 && (text !== 'ordered' || form !== 'state')) ||
      (text === 'made'
        ? mentioned.size > 0 && form !== 'own'
        : PLAIN_ACTS.begin(text) && !isSaid(text, form)),
  );
  const other = verbs.filter(({ text }) => !NO_ACTS.begin(text) && !LOOKUPS.begin(text));
  const isOther = isCompletedElsewhere(sentence, texts, lower);
  const isThrough = standsIn(sentence, WENT_THROUGH);
  const places = placesIn(sentence);
  const acts = new Set(done.flatMap((verb) => [...actsIn([verb.text], '')]));
  if (isOther) for (const act of mentioned) acts.add(act);
  const isAct =
    done.length > 0 ||
    isThrough ||
    places.length > 0 ||
    standsIn(sentence, IN_EFFECT) ||
    (isOther && (acts.size > 0 || PLAIN_ACTS.occurIn(texts, lower)));
  const doneStems = new Set(
    other.flatMap(({ text, form }) =>
      form !== 'state' && text.endsWith('ed') ? [verbStemOf(text)] : (IRREGULAR[text] ?? []),
    ),
  );
  if (isAct)
    return {
      sentence,
      doneStems,
      kind: 'act',
      stems: new Set(other.map(({ text }) => verbStemOf(text))),
      isCompleted: isThrough || isOther || places.length > 0 || done.some(({ form }) => form !== 'state'),
      isOwn:
        done.some(({ form }) => form === 'own') ||
        (isOther && (texts.some((word) => OWN_ELSEWHERE.has(word)) || OWN_IN_HAN.test(text))),
      verbs: [
        ...done.map((verb) => verb.text),
        ...(isOther ? texts.filter((word) => PARTICIPLE.test(word) && actsIn([word], '').size > 0) : []),
        ...(isThrough ? ['complet', 'success', 'confirm'] : []),
        ...(SENT_OFF.test(lower) ? SENT : places),
      ],
      places,
      acts,
      mentioned,
      ids,
    };
  const isLookup =
    verbs.some(({ text, form }) => form === 'own' && (LOOKUPS.begin(text) || isSaid(text, form))) ||
    opensData(texts) ||
    LOOKED_UP.test(lower);
  const rest = {
    sentence,
    doneStems,
    isCompleted: true,
    isOwn: true,
    verbs: [],
    places,
    acts,
    mentioned,
    ids,
  };
  if (isLookup) return { ...rest, kind: 'lookup', stems: new Set() };
  return other.length === 0
    ? undefined
    : {
        ...rest,
        kind: 'other',
        isOwn: other.some(({ form }) => form === 'own'),
        stems: new Set(other.map(({ text }) => verbStemOf(text))),
      };
}

/** "this call is recorded": said of the talk itself. */
const OF_CONVERSATION =
  /\b(?:this|our|all|your) (?:phone )?(?:calls?|chats?|conversations?|lines?) (?:is|are|may be|might be|will be) (?:being )?(?:recorded|monitored|logged|transcribed|saved|stored)\b/;

const EARLIER_ANSWER =
  /\b(?:i|we)(?: had|['’]ve| have)?(?: just)? (?:shared|mentioned|quoted|provided|listed|gave|given|told|stated)(?: you| to you)? (?:earlier|above|before|previously)\b/;
/** "the $1,515 figure I mentioned earlier": of what an answer before this one said, which is no part of the trace. */
export const isOfEarlierAnswer = ({ lower }: Sentence): boolean => EARLIER_ANSWER.test(lower);

/** Words of the place that somebody is said to be in. */
const placesIn = (sentence: Sentence): readonly string[] =>
  [IN_PLACE, SENT_OFF].flatMap((phrase) => {
    const [whole, ...words] = phrase.exec(sentence.lower) ?? [];
    const word = words.find((one) => one !== undefined) ?? whole;
    return word === undefined || !standsIn(sentence, phrase) ? [] : [word.slice(0, 4)];
  });

/** Whether the sentence has the phrase, and nothing before it that makes it a plan or a denial. */
function standsIn({ lower, words }: Sentence, phrase: RegExp): boolean {
  const at = lower.search(phrase);
  // "Will do: the reminder is set."
  const from = Math.max(lower.lastIndexOf(': ', at), lower.lastIndexOf('; ', at));
  return (
    at >= 0 &&
    !words.some(
      (word, i) => word.end <= at && word.start > from && (isHedge(words, i) || isDenial(word.text)),
    )
  );
}

/** A completed act in a language other than English. */
function isCompletedElsewhere(sentence: Sentence, texts: readonly string[], lower: string): boolean {
  if (texts.some((word) => ENGLISH.has(word)) || admitsFailure(sentence)) return false;
  if (hasUnspacedScript(lower)) return DONE_IN_CJK.test(lower);
  const [first = ''] = texts;
  if (texts.length > 2 && PARTICIPLE.test(first) && actsIn([first], '').size > 0) return true;
  // "¡Reserva confirmada!", "Termin verschoben."
  const [, second = ''] = texts;
  const isShort =
    texts.length === 2 ||
    (texts.length > 2 && /^\s{0,3}[!.:,;]/.test(sentence.text.slice(sentence.words[1]?.end)));
  if (isShort && PARTICIPLE.test(second) && actsIn([first, second], '').size > 0) return true;
  const auxiliary = texts.findIndex((word) => AUXILIARIES.has(word) || word.startsWith("j'ai"));
  const rest = auxiliary < 0 ? [] : texts.slice(auxiliary + 1, auxiliary + 16);
  return (
    rest.some((word) => PARTICIPLE.test(word) && !/ung(?:en)?$/.test(word)) ||
    texts.some((word, i) => word === 'se' && PARTICIPLE.test(texts[i + 1] ?? ''))
  );
}

/** "Here are your order details": data that a tool must have given. */
function opensData(texts: readonly string[]): boolean {
  const here = texts.findIndex(
    (word, i) => word === "here's" || (word === 'here' && /^(?:is|are)$/.test(texts[i + 1] ?? '')),
  );
  if (here < 0) return false;
  const rest = texts.slice(here + 1, here + 12);
  return rest.slice(0, 2).some((word) => OPENS_DATA.has(word)) && rest.some((word) => DATA.has(word));
}

/** Asks for something, or for leave to do what it says. */
export const isRequest = ({ text, words }: Sentence): boolean => {
  const at = words.findIndex((word) => !/^\d+$/.test(word.text));
  const isNote = /^(?:note|be|find|see)$/.test(words[at + 1]?.text ?? '');
  return (IMPERATIVES.has(words[at]?.text ?? '') && !isNote) || UPON_LEAVE.test(text);
};
const UPON_LEAVE =
  /\b(?:once|after|when|as soon as|if) you(?:['’]ve| have)? (?:\w{1,12} )?(?:confirm|approve|agree|reply)/i;

const ABSENCES =
  /(?<![a-zß-ÿ])(?:no|none|nobody|nothing|never|neither|without|empty|zero|not|[a-zß-ÿ]{2,8}n['’]t|kein[a-zß-ÿ]{0,2}|nichts?|niemand|leer|sin|ning[uú]n[a-zß-ÿ]{0,2}|nada|nadie|vac[ií][a-zß-ÿ]{1,2}|aucun[a-zß-ÿ]{0,2}|rien|pas|nenhum[a-zß-ÿ]{0,2}|não|niet|geen|non|nessun[ao]?|inte|ikke|ingen|nie|yok|değil)(?![a-zß-ÿ])|(?<![\d.,])0(?![\d.,])|没|不|未|无|無|なし|ない|なかった|ません/i;
/** Whether a sentence says that there is none of something, or that something is not so. */
export const saysNone = ({ text }: Sentence): boolean => ABSENCES.test(text);

const CONDITIONS = set('if unless when whether until would');
/** Whether the sentence speaks of a case, not of what happened. */
export const isConditional = ({ words }: Sentence): boolean => words.some(({ text }) => CONDITIONS.has(text));

/** Whether words before the first claim of the sentence make it a plan or a condition. */
export const isPlan = ({ words }: Sentence): boolean => words.some((_, i) => isHedge(words, i));

const DONE =
  /\b(?:(?:has|have) been|successfully|(?:is|are) now|(?:i|we)(?:['’]ve| have) (?:\w{3,12}ed|sent|made|paid|put|set|given)|wurden?|fue(?:ron)?)\b/i;
/** Whether a sentence tells of something as done: looser than a claim, which needs the verb of an act. */
export const tellsDone = ({ text }: Sentence): boolean => DONE.test(text);
