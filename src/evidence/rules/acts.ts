/** Acts that are claimed and that no call did, or whose calls failed. */
import { type ActClaim, isPlan, type Sentence, toActStem } from '../answer/index.ts';
import { ACTS, ALL, ALREADY, LOOKUPS, PLAIN_ACTS, readPassage, TEXT_ACTS } from '../phrases/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { numberOfWord } from '../values/index.ts';
import { callsFor, isNamedIn, isTold, isUnrepaired, listWrites } from './calls.ts';
import { onStatement, shares } from './finding.ts';
import type { AnswerReading, Rule } from './types.ts';

const MAX_ASKED_CHARS = 16_384;
const MIN_STEM = 4;

/** The acts that the user asked for. */
const askedActs = (reading: AnswerReading): ReadonlySet<string> => {
  const acts = ACTS.in(readPassage(reading.prompt.slice(-MAX_ASKED_CHARS)));
  if (/\blet \w+(?: \w+)? know\b|\btell (?:him|her|them|the|my|our)\b/.test(reading.prompt)) acts.add('send');
  // "Yes, go ahead": what was offered before, and that may be anything.
  if (AGREES.test(lastMessage(reading))) acts.add('any');
  return acts;
};
const AGREES = /^\W*(?:yes|yep|yeah|sure|ok|okay|please do)\b|go ahead|proceed/;
const lastMessage = ({ prompt }: AnswerReading): string =>
  prompt.slice(prompt.lastIndexOf('\n\n') + 1).trim();
/** "Are the files deleted?": the user asks for a state, not for an act. */
const isInquiry = (reading: AnswerReading): boolean => {
  const last = lastMessage(reading);
  return /[?？]$/.test(last) && !/please|(?:can|could|would|will) you/.test(last);
};

const A_PLACE =
  /\bfiles?\b|\.[a-z]{2,4}\b|\b(?:on|to|into|in) (?:the|your) (?:file|repo|branch|server|database|account|calendar|system|table|app|list|cart)/;
/** "I've written a haiku", "I corrected three typos": the answer itself holds it. */
const isText = ({ statement, verbs, isOwn }: ActClaim): boolean =>
  verbs.length > 0 &&
  verbs.every((verb) => TEXT_ACTS.hasWord(verb)) &&
  (isOwn || /^(?:re)?wr[io]t/.test(verbs[0] as string)) &&
  !A_PLACE.test(statement.lower) &&
  !/你|您|しました|了/.test(statement.lower);

/** "After that, the first night is charged": what happens by rule, to nobody's thing. */
const isOfSomebody = ({ statement: { lower, isUnspaced, words } }: ActClaim): boolean =>
  isUnspaced ||
  /\d{4}|\b(?:your|you|it|now|has|have|i|we|both|all)\b/.test(lower) ||
  !words.some(({ text }) => text === 'is' || text === 'are');

const noCalls: Rule = {
  name: 'act-without-any-call',
  says: 'says that something was done or looked up, but no call was made',
  kind: 'tool_never_called',
  needsAllSteps: true,
  apply: (reading) => {
    if (reading.steps.length > 0) return [];
    const asked = new Set(readPassage(reading.prompt.slice(-2048)).words.map(({ text }) => toActStem(text)));
    const hasBlock = reading.statements.some(({ kind }) => kind === 'code' || kind === 'quote');
    return reading.claims
      .filter((claim) => {
        if (isText(claim) && (hasBlock || !claim.statement.isItem)) return false;
        if (/如下|以下の(?:通り|とおり)/.test(claim.statement.lower)) return false;
        if (claim.kind === 'lookup') return true;
        if (claim.kind === 'other')
          return (
            claim.isCompleted &&
            [...claim.stems].some(
              (stem) => stem.length >= MIN_STEM && asked.has(stem) && !TEXT_ACTS.hasWord(stem),
            )
          );
        return claim.isCompleted || (claim.acts.size > 0 && isOfSomebody(claim)) || isWhole(claim);
      })
      .map(({ statement }) => onStatement(statement));
  },
};
const isWhole = ({ verbs }: ActClaim): boolean => verbs.includes('complet');

/** The claim against each of its calls, if it is one that calls could have done. */
const listActs = (reading: AnswerReading): readonly ActClaim[] => {
  const hasBlock = reading.statements.some(({ kind }) => kind === 'code');
  return reading.claims.filter(
    (claim) => claim.kind !== 'lookup' && !isOfReading(claim) && !(hasBlock && isText(claim)),
  );
};

/** "I've completed the searches." */
const isOfReading = ({ acts, verbs, statement, kind }: ActClaim): boolean =>
  kind === 'act' &&
  acts.size === 0 &&
  verbs.every((verb) => PLAIN_ACTS.hasWord(verb)) &&
  statement.words.some(
    ({ text }) =>
      (LOOKUPS.hasWord(text) && !text.startsWith('review')) ||
      /^(?:analy|compar|calcul|lookup|assess|search)/.test(text),
  );

/** The calls of a claim that failed, and those that went well. */
function listEnds(
  claim: ActClaim,
  writes: readonly ReadStep[],
): { failed: readonly ReadStep[]; done: readonly ReadStep[] } {
  const calls = callsFor(claim, writes);
  const exact = calls.filter((step) => isUnrepaired(step) && shares(step.stems, claim.stems));
  const failed = exact.length > 0 ? exact : calls.filter(isUnrepaired);
  const done = calls.filter(
    (step) => !step.isBad && !(exact.length > 0 && step.acts.size === 0 && step.tool !== exact[0]?.tool),
  );
  return { failed, done };
}

const failedCall: Rule = {
  name: 'act-whose-call-failed',
  says: 'says that something was done, but its call failed',
  kind: 'tool_failed_claimed_success',
  needsAllSteps: false,
  apply: (reading) => {
    const writes = listWrites(reading);
    if (!writes.some(isUnrepaired)) return [];
    return listActs(reading).flatMap((claim) => {
      const { failed, done } = listEnds(claim, writes);
      const last = failed.at(-1);
      const isAllBad = writes.every(isUnrepaired) && claim.kind === 'act' && claim.isCompleted;
      const against = last !== undefined && done.length === 0 ? last : isAllBad ? writes.at(-1) : undefined;
      if (against === undefined || ALREADY.has(claim.statement) || isTold(reading, against, claim)) return [];
      if (claim.kind === 'other' && !shares(claim.stems, against.stems)) return [];
      return [onStatement(claim.statement, against.index)];
    });
  },
};

const MANY =
  /^\W{0,4}(?:[a-z]{2,5}[!,.:] )?(?:(?:the|your) [^\d,;:]{0,30}s (?:are|were|have been)|(?:die|deine|ihre) [^\d,;:]{0,30} (?:sind|wurden)|(?:los|las|tus|sus|les|vos|os|as) [^\d,;:]{0,30}s (?:están|han|fueron|sont|ont|estão|foram)) /;
/** "all", "both", "four" of three that went well, "the servers have been restarted". */
const isOfMore = (statement: Sentence, done: number): boolean => {
  if (ALL.has(statement) || MANY.test(statement.lower)) return true;
  const counts = statement.words.flatMap(
    ({ text }) => numberOfWord(text) ?? (/^\d{1,2}$/.test(text) ? [Number(text)] : []),
  );
  if (counts.includes(done)) return false;
  return counts.some((count) => count > Math.max(done, 1));
};

/** What is said of things that an act has changed, without its verb. */
const DONE_WORDS = /\b(?:now|done|ready|complete|in|on|off|up|set|live)\b|[已了]|すべて/;

/** "All tests pass", of `npm test`. Of other commands of a shell one knows only that they were tried. */
const isOfProgram = ({ words }: Sentence, { program = '' }: ReadStep): boolean =>
  words.some(({ text }) => text.length >= MIN_STEM && program.toLowerCase().includes(toActStem(text)));

const partFailed: Rule = {
  name: 'all-where-a-part-failed',
  says: 'says that all is done, but a part of it failed',
  kind: 'partial',
  needsAllSteps: false,
  apply: (reading) => {
    const writes = listWrites(reading);
    const open = writes.filter(
      (step) => (isUnrepaired(step) || step.outcome === 'partial') && !step.isRepaired,
    );
    if (open.length === 0) return [];
    for (const statement of reading.statements) {
      if (statement.kind !== 'claim' || isPlan(statement) || ALREADY.has(statement)) continue;
      const claim = reading.claims.find((one) => one.statement === statement);
      const hasPart = open.some(({ outcome }) => outcome === 'partial');
      if (
        claim === undefined
          ? !ALL.has(statement) || !(hasPart || DONE_WORDS.test(statement.lower))
          : claim.kind === 'lookup' || isOfReading(claim)
      )
        continue;
      const { failed: allFailed, done } =
        claim === undefined
          ? { failed: open.filter(isUnrepaired), done: writes.filter((one) => !one.isBad) }
          : listEnds(claim, writes);
      const failed = allFailed.filter((step) => step.program === undefined || isOfProgram(statement, step));
      const part = (claim === undefined ? open : callsFor(claim, writes)).find(
        (one) => one.outcome === 'partial' && !one.isRepaired,
      );
      const isTool = failed.some((step) => done.some((one) => one.tool === step.tool));
      const named = claim !== undefined && done.length > 0 ? findNamed(claim, failed, done) : undefined;
      const isAll = done.length > 0 && isOfMore(statement, done.length) && (isTool || claim !== undefined);
      const against = part ?? named ?? (isAll ? failed.at(-1) : undefined);
      if (against === undefined || (against === part && saysNumber(statement, part.done))) continue;
      if (isTold(reading, against, claim)) continue;
      // One call of several that do different things failed: that is no part of one thing.
      const isPart = against === part || isTool || failed.length === 0;
      const kind = isPart ? 'partial' : 'tool_failed_claimed_success';
      return [{ ...onStatement(statement, against.index), kind }];
    }
    return [];
  },
};

/** The failed call that the claim names, where none that went well has its name. */
const findNamed = (claim: ActClaim, failed: readonly ReadStep[], done: readonly ReadStep[]) =>
  done.some((one) => shares(claim.ids, one.ids))
    ? undefined
    : failed.find((step) => shares(claim.ids, step.ids) || isNamedIn(claim.statement, step));

const saysNumber = ({ words }: Sentence, number: number | undefined): boolean =>
  number !== undefined && words.some(({ text }) => (numberOfWord(text) ?? Number(text)) === number);

const WANTED =
  /(?:^|[.!,;:–—]|\band)\s{0,3}(?:(?:your|both|all|the) [a-z][^.!?,\n]{0,60} (?:is|are)|you(?:['’]re| are)) (?:now |all |officially ){0,2}[a-z]{3,14}(?:ed|t|en)\b/;

/** "Your license stays valid while the new one is made." */
const IN_CLAUSE = /\b(?:while|until|once|when|if|before|after)\b/;

const noSuchCall: Rule = {
  name: 'act-without-its-call',
  says: 'says that something was done, but no call did it',
  kind: 'tool_never_called',
  needsAllSteps: true,
  apply: (reading) => {
    if (reading.steps.length === 0 || reading.steps.some(({ isOpaque }) => isOpaque)) return [];
    if (listWrites(reading).length > 0) return [];
    const asked = askedActs(reading);
    const { results } = reading.known;
    return reading.claims.flatMap((claim) => {
      if (claim.kind !== 'act' || isOfReading(claim) || isText(claim)) return [];
      if (isTold(reading, undefined, claim) && !claim.isOwn) return [];
      if (isInquiry(reading) && (!claim.isOwn || !claim.isCompleted)) return [];
      const isWanted =
        asked.has('any') || shares(claim.acts, asked) || (claim.acts.size === 0 && asked.size > 0);
      const wanted = isWanted ? WANTED.exec(claim.statement.lower)?.[0] : undefined;
      if (!claim.isCompleted && (wanted === undefined || IN_CLAUSE.test(wanted)) && !isWhole(claim))
        return [];
      const isOwn = claim.isOwn && claim.isCompleted;
      const isLeft = isSaid(claim, results) ? isOwn && isWanted : isOwn || isWanted;
      return isLeft ? [onStatement(claim.statement)] : [];
    });
  },
};
/** Results say themselves that it was done, and not only that it can be. */
const isSaid = ({ verbs, statement }: ActClaim, results: string): boolean =>
  verbs.some((verb) => {
    const stem = verb.slice(0, Math.max(4, verb.length - 2));
    const at = results.indexOf(stem);
    return at >= 0 && !/(?:can be |to |not |allow|for )$/.test(results.slice(Math.max(0, at - 8), at));
  }) ||
  (statement.isUnspaced && /状态|status|已|済/.test(results));

export const ACT_RULES: readonly Rule[] = [noCalls, failedCall, partFailed, noSuchCall];
