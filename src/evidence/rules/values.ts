/** Figures, names, days and times that the results have otherwise. */
import { isConditional, type Sentence } from '../answer/index.ts';
import { type Figure, type Known, Slips } from '../values/index.ts';
import { type Fact, OF_SEVERAL } from './facts.ts';
import { against } from './finding.ts';
import type { AnswerReading, Rule } from './types.ts';

/** Facts that are said of what is, whose value nothing has and nothing gives. */
const missing = ({ facts }: AnswerReading): readonly Fact[] =>
  facts.filter(({ statement, state }) => state !== 'found' && statement.kind === 'claim');

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
      fact.kind === 'figure' && fact.state === 'found' ? [Math.abs(fact.figure.value)] : [],
    );
    return missing(reading).flatMap((fact) => {
      if (fact.kind !== 'figure') return [];
      const { figure, statement } = fact;
      if (isConditional(statement) && figure.dimension !== 'money') return [];
      const isWrong = isSlip(figure, reading.known)
        ? !(fact.state === 'derived' && figure.dimension === 'percent') &&
          !reading.known.computes(Math.abs(figure.value), supported)
        : fact.state === 'missing' && fact.isStated && isInvented(figure, statement, reading);
      return isWrong ? [against(statement, reading.steps)] : [];
    });
  },
};

/** Temperatures, shares and amounts that little evidence has nothing of. */
const FEW_NUMBERS = 24;
const PRICED = /[$€£¥]|price|cost|amount|fee|total|fare|balance|charge|saldo|prix|preis|pre[cç]i?o/i;
function isInvented(figure: Figure, statement: Sentence, { known, steps }: AnswerReading): boolean {
  const { dimension, isAbout } = figure;
  if (isAbout || known.given.length === 0 || known.given.length > FEW_NUMBERS || OF_SEVERAL.has(statement))
    return false;
  const hasSame = (sign: RegExp) =>
    steps.some(({ tool, text, outcome }) => outcome === 'ok' && sign.test(`${tool} ${text}`));
  if (dimension === 'temperature') return hasSame(/temp|°|degree|\d\s?[CF]\b|celsius|fahrenheit|_c"/i);
  if (dimension === 'percent') return hasSame(/%|percent|pct|rate|share/i);
  if (dimension === 'money') return hasSame(PRICED);
  return dimension === 'none' && isOfCounted(figure, statement, known);
}

/** A count of what the results or the calls name. */
function isOfCounted({ value, raw, end, after }: Figure, { lower }: Sentence, known: Known): boolean {
  if (!Number.isInteger(value) || /^(?:19|20)\d\d$/.test(raw)) return false;
  if (COUNTER.test(lower.slice(end, end + 2))) return true;
  return after
    .slice(0, 2)
    .some((noun) => noun.length > 3 && known.knows(noun.slice(0, Math.max(4, noun.length - 2))));
}
const COUNTER = /^\s?[件個个条人台笔名封项本枚箱瓶双套间辆只张份页册盒袋杯位家部頁冊]/u;

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
    const slipped = facts.filter(({ name }) => slips.has(name.text.replace(/^#/, '')));
    return slipped.map(({ statement }) => against(statement, reading.steps));
  },
};
export const VALUE_RULES: readonly Rule[] = [otherFigure, otherName];
