import { toVerbStem, wordSet } from '../language/index.ts';
import { ACTS, HEDGES, LOOKUPS, Phrases, PLAIN_ACTS, SAYING } from '../phrases/index.ts';
import { idsIn } from '../trace/index.ts';
import { admitsFailure, type Sentence } from './statements.ts';
import { type Verb, verbsIn } from './verbs.ts';

/** What a statement says was done or looked up. */
export interface ActClaim {
  readonly statement: Sentence;
  /** `other`: a verb of no known act. */
  readonly kind: 'act' | 'lookup' | 'other';
  /** A completed act ("has been", "I've", "successfully"), not just a state ("is cancelled"). */
  readonly isCompleted: boolean;
  /** The speaker says that it did it. */
  readonly isOwn: boolean;
  /** Verbs of the claim, as they stand there. */
  readonly verbs: readonly string[];
  readonly stems: ReadonlySet<string>;
  /** Families of the verbs; empty for plain acts ("processed"). */
  readonly acts: ReadonlySet<string>;
  /** Of what the speaker says that it paid or sent itself: no other act does that along the way. */
  readonly ownActs: ReadonlySet<string>;
  /** Families named anywhere in the statement. */
  readonly mentioned: ReadonlySet<string>;
  /** Identifiers, paths and addresses in the statement, in lower case. */
  readonly ids: ReadonlySet<string>;
}

/** Claims of acts without a verb of the act: what is so only after it. */
const IN_EFFECT = new Phrases({
  en: "went through, went out, everything is confirmed, everything is set, everything is done, all set, all done, taken care of, is complete, is now complete, was a success, was successful, were successful, is successful, is live, is now live, are live, are now live, is now in, are now in, is set, is in place, is in effect, is now set, is all set, are all set, are set, is now active, is now on, is now off, is out, is on its way, are on their way, you're in the queue, you are in the queue, signed up, checked in, you're enrolled, you're registered, is now part, tests pass, tests now pass, tests are passing, tests are now passing, tests are green, all tests passed, checks pass, all checks passed, is now at, now includes, now contains, now shows, now has",
  de: 'ist erledigt, ist raus, ist unterwegs, sind erledigt, ist fertig, erledigt, fertig',
  es: 'ya está, está listo, listo, hecho',
  fr: "c'est fait, c'est bon, c'est réglé",
  pt: 'está pronto, pronto, feito',
});
/** What a search of records opens with. */
const OPENS_DATA = new Phrases({
  en: "here are your, here are the details, here is your, here's your, here are all, here are the order, here are the available, according to your, according to the records, according to our records, looking at your, based on your account, based on your order, based on the records, here is the user, here are the orders, here is the order, it looks like your, i can see that your, i see that your",
  de: 'laut ihrem, laut deinem, laut dem, gemäß',
  es: 'según tu, según su, según el, según los',
  fr: "d'après, selon votre, selon le",
  pt: 'de acordo com, segundo o',
  ja: 'によると, によれば',
  zh: '根据您的, 根据记录, 根据查询, 查询结果',
});

/** Past participles and completed forms of German, Spanish, Portuguese and French that follow an auxiliary. */
const AUXILIARIES = wordSet(
  "ist sind wurde wurden habe hat haben j'ai he ha han hemos fue fueron está están quedó queda quedan foi foram ficou ficaram est sont été ont ai se",
);
const PARTICIPLE =
  /^(?:(?:nach|um|ein|ab|auf|aus|an|zu|vor|mit|weiter|zurück)?(?:ge|be|ver|er)\p{L}{2,}(?:t|en)|\p{L}+iert|\p{L}{2,}ge\p{L}{2,}(?:t|en)|\p{L}+(?:[ai]d[oa]s?|ées?|és?|ió|aron|eron)|(?:hech|puest|escrit|abiert|resuelt|feit|abert|post)[oa]s?|fait|mise?s?|prise?s?|ouverte?s?)$/u;
const DONE_IN_CJK = /已(?!经?无)|了(?=[。，,！!\s]|$)|完成|しました|ました(?!か)|済み|完了/u;
const OWN_IN_CJK = /我(?:已|刚|剛|帮|幫|替)|(?:帮|幫|为|為|替)(?:您|你)|(?<![かがさたなばまらわ]れ)ました/u;
const ENGLISH = wordSet('the your you is has been and to of for i was are');
const MAX_CLAIMS = 64;

/** Said of an earlier answer. */
const OF_TALK =
  /\b(?:i|we|as) (?:shared|provided|sent|quoted|listed|mentioned|said) (?:earlier|above|before|previously)\b/;

/** What the statements claim, all that is no question, plan, request or label. */
export const listActClaims = (statements: readonly Sentence[]): readonly ActClaim[] =>
  statements
    .filter(({ kind, lower }) => kind === 'claim' && !OF_TALK.test(lower))
    .flatMap((statement) => actClaimIn(statement) ?? [])
    .slice(0, MAX_CLAIMS);

function actClaimIn(statement: Sentence): ActClaim | undefined {
  const verbs = verbsIn(statement);
  const mentioned = ACTS.in(statement);
  const done = verbs.filter((verb) => isAct(verb, mentioned));
  const others = verbs.filter(({ text }) => !SAYING.hasWord(text) && !LOOKUPS.hasWord(text));
  const isElsewhere = isCompletedElsewhere(statement);
  const inEffect = IN_EFFECT.find(statement);
  const hedge = HEDGES.find(statement)?.start ?? statement.text.length;
  const isThrough = inEffect !== undefined && inEffect.start < hedge;
  const acts = new Set(done.flatMap(({ text }) => ACTS.of(text)));
  if (isElsewhere) for (const act of mentioned) acts.add(act);
  const isClaimed =
    done.length > 0 || isThrough || (isElsewhere && (acts.size > 0 || PLAIN_ACTS.has(statement)));
  const isLookup =
    verbs.some(({ text, form }) => form === 'own' && (LOOKUPS.hasWord(text) || text.startsWith('confirm'))) ||
    OPENS_DATA.has(statement) ||
    (statement.isUnspaced && LOOKUPS.has(statement));
  const kind = isClaimed ? 'act' : isLookup ? 'lookup' : 'other';
  const own = isClaimed ? done : isLookup ? [] : others;
  if (kind === 'other' && own.length === 0) return undefined;
  return {
    statement,
    kind,
    isCompleted: kind === 'lookup' || (isClaimed && isElsewhere) || own.some(({ form }) => form !== 'state'),
    isOwn: verbs.some(({ form }) => form === 'own') || (isElsewhere && OWN_IN_CJK.test(statement.text)),
    verbs: [
      ...own.map(({ text }) => text),
      ...(isThrough ? ['complet', 'success', 'confirm', 'passed'] : []),
      ...(isElsewhere ? statement.words.flatMap(({ text }) => (ACTS.of(text).length > 0 ? [text] : [])) : []),
    ],
    stems: new Set(others.map(({ text }) => toActStem(text))),
    acts,
    ownActs: ownActsIn(statement, verbs),
    mentioned,
    ids: idsIn(statement.text),
  };
}

/** "Ich habe", "j'ai", and "enviei" by itself. */
const FIRST_PERSON = /^(?:habe|he|hemos|j'ai)$/;
const DENIED = /^(?:no|nicht|noch|keine?n?|pas|não|nem|ni|sin|sem|sans|ohne)$/;
const PRETERITE = /^\p{L}{3,}ei$/u;
/** "我已退款", "返金し、": the two characters of the act. */
const OWN_ACT_IN_CJK =
  /(?:[我并]|[为為帮幫替代给給][您你])已?[经經]?(?:[为為帮幫替代给給][您你]|成功)?(\p{Script=Han}{2})(?!方式|信息|记录)|(\p{Script=Han}{2})を?(?:いた)?し(?:ま|、|て)/gu;

/** What an answer itself may do: "shared". */
const SHOWN = /^(?:shar|post|publi|inform|messag|geteilt|partag|compart|共有)/;

function ownActsIn({ words, lower }: Sentence, verbs: readonly Verb[]): ReadonlySet<string> {
  const own = verbs.flatMap(({ text, form }) => (form === 'own' ? [text] : []));
  for (const [, after, before = ''] of lower.matchAll(OWN_ACT_IN_CJK)) own.push(after ?? before);
  let isFirst = false;
  for (const { text, start } of words) {
    if (DENIED.test(text)) break;
    if (AUXILIARIES.has(text) || CLAUSES.has(text) || lower[start - 2] === ',')
      isFirst = FIRST_PERSON.test(text);
    else if (PRETERITE.test(text) || (isFirst && PARTICIPLE.test(text))) own.push(text);
  }
  const acts = own.flatMap((verb) => (SHOWN.test(verb) ? [] : ACTS.of(verb)));
  return new Set(acts.filter((act) => act === 'pay' || act === 'send'));
}
const CLAUSES = wordSet('que dass ob si se qui wenn falls');

const IRREGULAR = new Map(
  Object.entries({ sent: 'send', paid: 'pay', made: 'make', wrote: 'write', written: 'write' }),
);
export const toActStem = (verb: string): string => toVerbStem(IRREGULAR.get(verb) ?? verb);

function isAct({ text, form }: Verb, mentioned: ReadonlySet<string>): boolean {
  // "The files are ordered by size."
  if (ACTS.of(text).length > 0) return text !== 'ordered' || form !== 'state';
  if (text === 'made') return mentioned.size > 0 && form !== 'own';
  // "I've confirmed that it leaves at nine": a look.
  return PLAIN_ACTS.hasWord(text) && !(form === 'own' && text.startsWith('confirm'));
}

/** A completed act in a language other than English. */
function isCompletedElsewhere(statement: Sentence): boolean {
  const { words, lower, isUnspaced } = statement;
  if (words.some(({ text }) => ENGLISH.has(text)) || admitsFailure(statement)) return false;
  if (isUnspaced) return DONE_IN_CJK.test(lower);
  if (words.some(({ text }) => PRETERITE.test(text) && ACTS.of(text).length > 0)) return true;
  const isParticiple = (word: string | undefined) =>
    word !== undefined && PARTICIPLE.test(word) && !/ung(?:en)?$/.test(word);
  // "Termin verschoben.", "¡Reserva confirmada!"
  if (words.length <= 3 && isParticiple(words[1]?.text) && ACTS.in(statement).size > 0) return true;
  const auxiliary = words.findIndex(({ text }) => AUXILIARIES.has(text));
  return auxiliary >= 0 && words.slice(auxiliary + 1, auxiliary + 16).some(({ text }) => isParticiple(text));
}
