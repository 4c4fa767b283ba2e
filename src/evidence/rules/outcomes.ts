/** What is said of results that hold nothing, or of things that failed or did not. */
import { admitsFailure, isConditional, isPlan, type Sentence } from '../answer/index.ts';
import { toVerbStem } from '../language/index.ts';
import { ABSENCES, ACTS, DENIALS, Phrases, PLAIN_ACTS, readPassage } from '../phrases/index.ts';
import { idsIn, type ReadStep } from '../trace/index.ts';
import { isTold, listWrites } from './calls.ts';
import { onStatement, shares } from './finding.ts';
import type { Rule } from './types.ts';

const nothingFound: Rule = {
  name: 'facts-from-nothing',
  says: 'states something, but every call failed or found nothing',
  kind: 'empty_result_confident_answer',
  needsAllSteps: true,
  apply: (reading) => {
    const calls = reading.steps.filter((step) => step.tool !== 'think');
    const last = calls.at(-1);
    const foundNothing = ({ isListing, outcome }: ReadStep) =>
      !isListing && (outcome === 'failed' || outcome === 'empty');
    if (last === undefined || !calls.every(foundNothing)) return [];
    const states = reading.statements.filter((one) => one.kind === 'claim');
    if (states.some((one) => admitsFailure(one) || ABSENCES.has(one))) return [];
    const asks = reading.statements.find(({ kind }) => kind === 'question' || kind === 'request');
    const isTalk = ({ start, lower }: Sentence) => asks && (start > asks.start || !STATES.test(lower));
    const told = states.filter((one) => !isPlan(one) && !isTalk(one));
    const statement = told.find((one) => one.words.length >= 3 || one.isUnspaced);
    if (statement === undefined || UNREAD.test(statement.text) || isTold(reading, last)) return [];
    const kind = last.outcome === 'failed' ? 'tool_failed_claimed_success' : 'empty_result_confident_answer';
    return [{ ...onStatement(statement, last.index), kind }];
  },
};
/** Before a question only what says how things are is a claim: not "Happy to help", "I need the day first". */
const STATES = /^(?!.*\b(?:i|we|you|help|need\w*|required)\b)(?:.*\d|(?:the|your|there)\b.* (?:is|are) )/s;
const UNREAD =
  /[\p{Script=Hangul}\p{Script=Thai}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Greek}\p{Script=Devanagari}]/u;

/** Denials of what nobody asked for, or of what is still to come. */
const NOT_TRIED = new Phrases({
  en: 'yet, remains, remain, unchanged, not requested, not asked, not included, not needed, not affected, as requested, at your request, only, another, again, further',
});

const deniedAct: Rule = {
  name: 'denial-of-what-was-done',
  says: 'says that something could not be done, but its call went well',
  kind: 'wrong_negation',
  needsAllSteps: true,
  apply: (reading) => {
    const writes = listWrites(reading);
    const tried = writes.filter((step) => !(step.isBad && step.isRepaired));
    if ((tried.length > 0 ? tried : reading.steps).some(({ outcome }) => outcome !== 'ok')) return [];
    return reading.statements.flatMap((statement) => {
      if (statement.kind !== 'claim' || isConditional(statement) || NOT_TRIED.has(statement)) return [];
      const denial = DENIALS.find(statement);
      const { lower } = statement;
      if (denial === undefined || REPAIRED.test(lower)) return [];
      // "Since that wasn't possible, I sent …": what follows the comma was done.
      const rest = readPassage(lower.slice(denial.start, denial.start + 80).split(/[,;]/, 1)[0] ?? '');
      const isEnglish = /\b(?:the|i|was|were|has|have|could|couldn['’]t|your)\b/.test(lower);
      const acts = isEnglish && !PLAIN_ACTS.has(rest) ? ACTS.in(rest) : ACTS.in(statement);
      const ids = idsIn(lower);
      const done = tried.findLast(
        (step) =>
          (shares(step.acts, acts) || (step.acts.size === 0 && isNamed(step, statement))) &&
          (ids.size === 0 || shares(ids, step.ids)),
      );
      return done === undefined || denies(done, statement) ? [] : [onStatement(statement, done.index)];
    });
  },
};
/** The call says so too: `prepared_not_submitted`, "leaving wireless unchanged". */
const denies = ({ lower }: ReadStep, { words }: Sentence): boolean =>
  words.some(({ text }) => text.length > 4 && ['not_', 'not ', 'un'].some((no) => lower.includes(no + text)));
/** "It failed twice, then went through": the failure was, and is no more. */
const REPAIRED = /\b(?:then|finally|eventually|at last|retried|(?:second|third|next) (?:attempt|try))\b/;
/** All words of the tool's name are in the statement. */
const isNamed = ({ stems }: ReadStep, { words }: Sentence): boolean => {
  const said = new Set(words.map(({ text }) => toVerbStem(text)));
  return stems.size > 0 && [...stems].every((stem) => said.has(stem));
};

export const OUTCOME_RULES: readonly Rule[] = [nothingFound, deniedAct];
