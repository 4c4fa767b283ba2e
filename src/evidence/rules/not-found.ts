/** Figures and names that are presented as found and that neither results nor calls nor the user have. */
import type { ReadStep } from '../trace/index.ts';
import { type Fact, OF_SEVERAL } from './facts.ts';
import type { AnswerReading, Rule, RuleFinding } from './types.ts';

/** The answer says itself that it speaks from what is generally known. */
const DISCLOSED =
  /\b(?:general (?:guidance|recommendations?|knowledge|information|advice|estimate|overview)|common knowledge|based on my (?:general )?knowledge|my training|from memory|typical(?:ly)? prices?)\b/;

/** Calls that found something: without one, the answer is held against nothing. */
const hasEvidence = (steps: readonly ReadStep[]): boolean => steps.some((step) => !step.isListing);

const missing = ({ facts, steps, known }: AnswerReading): readonly Fact[] =>
  hasEvidence(steps) && !known.isCut
    ? facts.filter(({ state, isStated }) => state === 'missing' && isStated)
    : [];

/** One finding a statement: the first place. */
const firstOfEach = (facts: readonly Fact[]): readonly RuleFinding[] =>
  facts.flatMap(({ statement, start, end }, i) =>
    facts.findIndex((one) => one.statement === statement) === i ? [{ start, end }] : [],
  );

const figureNotFound: Rule = {
  name: 'figure-not-found',
  says: 'a figure that nothing has',
  kind: 'unsupported_number',
  needsAllSteps: true,
  apply: (reading) =>
    firstOfEach(
      missing(reading).filter(
        (fact) => fact.kind === 'figure' && isConcrete(fact) && !isRepeated(fact, reading.facts),
      ),
    ),
};

/** The score of a heading that the next statement with a score says as well. */
const isRepeated = (fact: Fact, facts: readonly Fact[]): boolean => {
  if (fact.kind !== 'figure' || fact.statement.kind !== 'label') return false;
  const next = facts.slice(facts.indexOf(fact) + 1).find((one) => isScore(one));
  return next?.kind === 'figure' && next.statement.kind !== 'label' && next.figure.raw === fact.figure.raw;
};
const isScore = (fact: Fact): boolean => fact.kind === 'figure' && fact.figure.dimension === 'ratio';

/** A figure that is more than a small whole number without a unit. */
const isConcrete = (fact: Fact): boolean => {
  if (fact.kind !== 'figure') return false;
  // A threshold: "moves of >5 %".
  if (/[<>≥≤]\s?[$€£¥]?$/.test(fact.statement.text.slice(0, fact.figure.start))) return false;
  const { dimension, value } = fact.figure;
  if (value === 0 || OF_SEVERAL.has(fact.statement)) return false;
  if (dimension === 'ratio') return true;
  return dimension === 'none' ? Math.abs(value) >= 10 : dimension !== 'percent' || Math.abs(value) !== 100;
};

const nameNotFound: Rule = {
  name: 'name-not-found',
  says: 'an address, a path or an identifier that nothing has',
  kind: 'unsupported_name',
  needsAllSteps: true,
  apply: (reading) =>
    reading.statements.some(({ lower }) => DISCLOSED.test(lower))
      ? []
      : firstOfEach(
          missing(reading).filter(
            (fact) =>
              fact.kind === 'name' || (fact.kind === 'day' && fact.readings.every((day) => day % 100 !== 0)),
          ),
        ),
};

export const NOT_FOUND_RULES: readonly Rule[] = [figureNotFound, nameNotFound];
