/** Figures, names, days and times that the results have otherwise. */
import { isConditional, isPlan, type Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
import { type Figure, type Known, Slips } from '../values/index.ts';
import { type Fact, isSum, listFigures, OF_SEVERAL } from './facts.ts';
import { onStatement } from './finding.ts';
import type { AnswerReading, Rule, RuleFinding } from './types.ts';

const ASIDE =
  /\be\.g\.|\b(?:for example|for instance|such as|looks? like|mentioned earlier|shared earlier)\b/;

/** Facts that are said of what is, whose value nothing has and nothing gives. */
export const missing = (reading: AnswerReading): readonly Fact[] =>
  reading.steps.some(({ isOpaque }) => isOpaque)
    ? []
    : reading.facts.filter(
        ({ statement, state }) =>
          state !== 'found' && statement.kind === 'claim' && !ASIDE.test(statement.lower),
      );

/** The step that has what the statement is about: most of its words. */
export function stepFor(statement: Sentence, steps: readonly ReadStep[]): number | undefined {
  const words = statement.words.filter(({ text }) => text.length > 3 || /\d/.test(text)).slice(0, 24);
  let [best, most] = [undefined as number | undefined, 0];
  for (const step of steps) {
    if (step.isListing || step.isBad) continue;
    const count = words.filter((word) => step.lower.includes(word.text)).length;
    if (count >= most) [best, most] = [step.index, count];
  }
  return best;
}

export const against = (
  reading: AnswerReading,
  { statement }: { readonly statement: Sentence },
): RuleFinding => onStatement(statement, stepFor(statement, reading.steps));

export const perStatement = (found: readonly RuleFinding[]): readonly RuleFinding[] => [
  ...new Map(found.map((one) => [one.start, one])).values(),
];

const MANY_NUMBERS = 60;

/** Whether a figure is a slip of one that is known: one digit is another one, and it cannot be computed. */
function isSlip(figure: Figure, known: Known): boolean {
  const { value, raw, dimension, isAbout } = figure;
  const digits = raw.replace(/\D/g, '').length;
  const isMeasure = dimension === 'money' || dimension === 'percent' || dimension === 'temperature';
  if (isAbout || (/^(?:19|20)\d\d$/.test(raw) && !isMeasure)) return false;
  if (!isMeasure && digits < 3) return false;
  // A whole number among many may be a total of several steps.
  if (!isMeasure && Number.isInteger(value) && known.given.length > MANY_NUMBERS && digits < 6) return false;
  return known.hasSlipOf(value);
}

const otherFigure: Rule = {
  name: 'another-figure',
  says: 'a figure is one digit off the one in the result',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const supported = reading.facts.flatMap((fact) =>
      fact.kind === 'figure' && fact.state === 'found' ? [fact.figure] : [],
    );
    return perStatement(
      missing(reading).flatMap((fact) => {
        if (fact.kind !== 'figure') return [];
        const { figure, statement } = fact;
        if (isConditional(statement) && figure.dimension !== 'money') return [];
        const isWrong = isSlip(figure, reading.known)
          ? !isSum(figure, listFigures(reading.facts)) &&
            !reading.known.derives(figure, supported.slice(0, 64), INCLUSIVE.test(statement.lower))
          : fact.state === 'missing' && fact.isStated && isInvented(figure, statement, reading);
        return isWrong ? [against(reading, fact)] : [];
      }),
    );
  },
};

/** An amount with others in it: a product and a fee. */
const INCLUSIVE = /\b(?:including|incl|plus|with (?:the )?(?:fees?|tax|shipping))\b/;

/** Temperatures, shares and amounts that little evidence has nothing of. */
const FEW_NUMBERS = 24;
function isInvented(figure: Figure, statement: Sentence, { known, steps }: AnswerReading): boolean {
  const { dimension, value, isAbout } = figure;
  if (
    isAbout ||
    known.isCut ||
    known.given.length === 0 ||
    known.given.length > FEW_NUMBERS ||
    isPlan(statement) ||
    OF_SEVERAL.has(statement)
  )
    return false;
  const hasSame = (sign: RegExp) =>
    steps.some(({ tool, text, outcome }) => outcome === 'ok' && sign.test(`${tool} ${text}`));
  if (dimension === 'temperature') return hasSame(/temp|°|\d\s?[CF]\b|celsius|fahrenheit|_c"/i);
  if (dimension === 'percent') return hasSame(/%|percent|pct|rate|share/i) && Math.abs(value) !== 100;
  if (dimension === 'money') return hasSame(/[$€£¥]|price|cost|amount|fee|total|fare|balance|charge|saldo/i);
  return dimension === 'none' && isOfCounted(figure, statement, known);
}

/** A count of what the results or the calls name. */
function isOfCounted({ value, raw, end, after }: Figure, { lower }: Sentence, known: Known): boolean {
  if (!Number.isInteger(value) || value < 2 || /^(?:19|20)\d\d$/.test(raw)) return false;
  if (COUNTER.test(lower.slice(end, end + 2))) return true;
  return after
    .slice(0, 2)
    .some((noun) => noun.length > 3 && known.knows(noun.slice(0, Math.max(4, noun.length - 2))));
}
const COUNTER = /^\s?[件個个条人台笔名封项本枚箱瓶双套间辆只张份页册盒袋杯位家部頁冊]/u;

const MIN_ID = 4;
const MIN_NUMBERED = 3;
const otherName: Rule = {
  name: 'another-identifier',
  says: 'an identifier is one character off the one in the calls',
  kind: 'wrong_value',
  needsAllSteps: true,
  apply: (reading) => {
    const facts = missing(reading).flatMap((fact) =>
      fact.kind === 'name' && fact.name.kind === 'id' ? [fact] : [],
    );
    const slips = new Slips(facts.length === 0 ? [] : reading.known.ids);
    const slipped = facts.filter(({ name }) => {
      const id = name.text.replace(/^#/, '');
      const isCommon = /^\d+$/.test(id) && slips.countOf(id) > 10 ** (id.length - 2) / 2;
      return id.length >= (name.text.startsWith('#') ? MIN_NUMBERED : MIN_ID) && !isCommon && slips.has(id);
    });
    return perStatement(slipped.map((fact) => against(reading, fact)));
  },
};
export const VALUE_RULES: readonly Rule[] = [otherFigure, otherName];
