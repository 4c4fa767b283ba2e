/** Acts that are claimed and that no call did, or whose calls failed. */
import { type ActClaim, isPlan, type Sentence, toActStem } from '../answer/index.ts';
import { ACTS, ALL, ASKS_TO_LOOK, LOOKUPS, readPassage, TEXT_ACTS } from '../phrases/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { numberOfWord } from '../values/index.ts';
import { callsFor, isNamedIn, isTold, isUnrepaired, listWrites } from './calls.ts';
import { onStatement, shares } from './finding.ts';
import type { AnswerReading, Rule } from './types.ts';

const MAX_ASKED_CHARS = 16_384;
const MIN_STEM = 4;

/** The acts that the user asked for. */
const askedActs = ({ prompt }: AnswerReading): ReadonlySet<string> =>
  // "Let her know": send it.
  ACTS.in(readPassage(prompt.slice(-MAX_ASKED_CHARS).replace(/\blet \w+(?: \w+)? know\b/g, 'send')));

/** "I've written a haiku", "I corrected three typos": the answer itself holds it. */
const isText = ({ statement, verbs, isOwn }: ActClaim): boolean =>
  isOwn &&
  verbs.length > 0 &&
  verbs.every((verb) => TEXT_ACTS.hasWord(verb)) &&
  !A_PLACE.test(statement.lower);
const A_PLACE =
  /\bfiles?\b|\.[a-z]{2,4}\b|\b(?:on|to|into|in) (?:the|your) (?:repo|branch|server|database|account|calendar|system|table|app|list|cart|folder|inbox)/;

const noCalls: Rule = {
  name: 'act-without-any-call',
  says: 'says that something was done or looked up, but no call was made',
  kind: 'tool_never_called',
  needsAllSteps: true,
  apply: (reading) => {
    if (reading.steps.length > 0) return [];
    const asked = new Set(readPassage(reading.prompt.slice(-2048)).words.map(({ text }) => toActStem(text)));
    return reading.claims
      .filter((claim) => {
        if (isText(claim)) return false;
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
/** Not what happens by rule, to nobody's thing: "After that, the first night is charged". */
const isOfSomebody = ({ statement: { lower, isUnspaced, isItem, words } }: ActClaim): boolean =>
  !isItem &&
  (isUnspaced ||
    /\d{4}|\b(?:your|you|it|now|has|have|i|we|both|all)\b/.test(lower) ||
    !words.some(({ text }) => text === 'is' || text === 'are'));
const isWhole = ({ verbs }: ActClaim): boolean => verbs.includes('complet');

/** The claim against each of its calls, if it is one that calls could have done. */
const listActs = (reading: AnswerReading): readonly ActClaim[] => {
  const hasBlock = reading.statements.some(({ kind }) => kind === 'code');
  return reading.claims.filter(
    (claim) => claim.kind !== 'lookup' && !isOfReading(claim) && !(hasBlock && isText(claim)),
  );
};

/** "I've completed the searches." */
const isOfReading = ({ acts, statement }: ActClaim): boolean =>
  acts.size === 0 && statement.words.some(({ text }) => LOOKUPS.hasWord(text));

/** The calls of a claim that failed, and those that went well. */
const listEnds = (claim: ActClaim, writes: readonly ReadStep[]) => {
  const calls = callsFor(claim, writes);
  return {
    failed: calls.filter((step) => isUnrepaired(step) && isOfProgram(claim.statement, step)),
    done: calls.filter((step) => !step.isBad),
  };
};

/** "npm test", "git push": what a shell is given to run, after where it runs. */
const PROGRAM = /^"\w+":"(?:cd [^;&]{1,200}(?:&&|;)\s{0,4})?([\w./-]{1,60}(?: [a-z][a-z-]{1,30})?)/;
/** "All tests pass", of `npm test`. Of other commands one knows only that they were tried. */
function isOfProgram({ words }: Sentence, { runsCommands, argumentsText }: ReadStep): boolean {
  const program = PROGRAM.exec(argumentsText)?.[1]?.toLowerCase() ?? '';
  return (
    !runsCommands || words.some(({ text }) => text.length >= MIN_STEM && program.includes(toActStem(text)))
  );
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
      const against = done.length === 0 ? failed.at(-1) : undefined;
      if (against === undefined || isTold(reading, against)) return [];
      return [onStatement(claim.statement, against.index)];
    });
  },
};

const MANY = /^\W{0,4}(?:[a-z]{2,5}[!,.:] )?(?:the|your) [^\d,;:]{0,30}s (?:are|were|have been) /;
/** "all", "both", "four" of three that went well, "the servers have been restarted". */
const isOfMore = (statement: Sentence, done: number): boolean => {
  if (ALL.has(statement) || MANY.test(statement.lower)) return true;
  const counts = statement.words.flatMap(
    ({ text }) => numberOfWord(text) ?? (/^\d{1,2}$/.test(text) ? [Number(text)] : []),
  );
  if (counts.includes(done)) return false;
  return counts.some((count) => count > Math.max(done, 1));
};

const partFailed: Rule = {
  name: 'all-where-a-part-failed',
  says: 'says that all is done, but a part of it failed',
  kind: 'partial',
  needsAllSteps: false,
  apply: (reading) => {
    const writes = listWrites(reading);
    if (!writes.some((step) => isUnrepaired(step) || step.outcome === 'partial')) return [];
    for (const claim of listActs(reading)) {
      if (isPlan(claim.statement)) continue;
      const { failed, done } = listEnds(claim, writes);
      const part = callsFor(claim, writes).find((one) => one.outcome === 'partial' && !one.isRepaired);
      const isTool = failed.some((step) => done.some((one) => one.tool === step.tool));
      const isAll = done.length > 0 && isOfMore(claim.statement, done.length);
      const named = done.length > 0 ? findNamed(claim, failed, done) : undefined;
      const against = part ?? named ?? (isAll ? failed.at(-1) : undefined);
      if (against === undefined || isTold(reading, against)) continue;
      // One call of several that do different things failed: that is no part of one thing.
      const kind = against === part || isTool ? 'partial' : 'tool_failed_claimed_success';
      return [{ ...onStatement(claim.statement, against.index), kind }];
    }
    return [];
  },
};

/** The failed call that the claim names, where none that went well has its name. */
const findNamed = (claim: ActClaim, failed: readonly ReadStep[], done: readonly ReadStep[]) =>
  done.some((one) => shares(claim.ids, one.ids))
    ? undefined
    : failed.find((step) => shares(claim.ids, step.ids) || isNamedIn(claim.statement, step));

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
    const writes = listWrites(reading);
    if (reading.steps.length === 0) return [];
    if (writes.length > 0) return listUndone(reading, writes);
    const asked = askedActs(reading);
    // "Are the files deleted?": the user asks for a state, not for an act.
    const isInquiry =
      (/[?？]\s*$/.test(reading.prompt) && !/please|(?:can|could|would|will) you/.test(reading.prompt)) ||
      asksToLook(reading.prompt);
    return reading.claims.flatMap((claim) => {
      if (claim.kind !== 'act' || isOfReading(claim) || isText(claim)) return [];
      if (isTold(reading) && !claim.isOwn) return [];
      const isWanted = shares(claim.acts, asked) || (claim.acts.size === 0 && asked.size > 0);
      const { lower } = claim.statement;
      if (isInquiry && !claim.isOwn && claim.ownActs.size === 0) return [];
      const isState = isWanted && WANTED.test(lower) && !IN_CLAUSE.test(lower);
      if (!claim.isCompleted && !isState && !isWhole(claim)) return [];
      const isLeft = (claim.isOwn && claim.isCompleted) || claim.ownActs.size > 0 || isWanted;
      return isLeft && !isSaid(claim, reading.known.results) ? [onStatement(claim.statement)] : [];
    });
  },
};
/** "Check the payments", and not "check the order and cancel it". */
function asksToLook(prompt: string): boolean {
  const passage = readPassage(prompt.slice(-MAX_ASKED_CHARS));
  const look = ASKS_TO_LOOK.find(passage);
  if (look === undefined || look.word < 0) return look !== undefined;
  return !passage.words.some(({ text, start }) => {
    const before = passage.lower.slice(Math.max(0, start - 8), start);
    return ACTS.of(text).length > 0 && (start < look.start || (!text.endsWith('s') && JOINS.test(before)));
  });
}
const JOINS = /(?:[.,;:!]|\b(?:and|then|und|dann|y|e|luego|et|puis|depois|to)) ?$/;

/** "I refunded the order and emailed the customer", where no call sends, and none that was made says that it did. */
function listUndone({ claims }: AnswerReading, writes: readonly ReadStep[]) {
  const told = claims.filter(({ ownActs }) => ownActs.size > 0);
  // What a tool without an act in its name does, or one that runs what it is given, is not known.
  if (told.length === 0 || writes.some((one) => one.acts.size === 0 || one.runsCommands)) return [];
  const calls = writes.map(({ toolWords, lower }) => `${toolWords.join(' ')}\n${lower}`).join('\n');
  const done = ACTS.in(readPassage(calls));
  const undone = told.filter(({ ownActs }) => [...ownActs].some((act) => !done.has(act)));
  return undone.map(({ statement }) => onStatement(statement));
}

/** Results say themselves that it was done, and not only that it can be. */
const isSaid = ({ verbs }: ActClaim, results: string): boolean =>
  verbs.some((verb) => {
    const at = results.indexOf(verb.slice(0, Math.max(4, verb.length - 2)));
    return at >= 0 && !/(?:can be |to |not |allow|for )$/.test(results.slice(Math.max(0, at - 8), at));
  });

export const ACT_RULES: readonly Rule[] = [noCalls, failedCall, partFailed, noSuchCall];
