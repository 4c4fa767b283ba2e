import { isAdvice, isOffer, isPlan, type Sentence } from '../answer/index.ts';
import { FUNCTION_WORDS } from '../language/index.ts';
import { isUnspaced, Phrases } from '../phrases/index.ts';
import {
  bareName,
  daysIn,
  type Figure,
  figuresOutside,
  type Known,
  type NamedThing,
  namesIn,
  timesIn,
} from '../values/index.ts';

interface Place {
  readonly statement: Sentence;
  /** In the answer. */
  readonly start: number;
  readonly end: number;
  /** `derived`: it can be computed from what is known. */
  readonly state: 'found' | 'derived' | 'missing';
  /** The statement presents it as found: it is no advice, plan, estimate or example. */
  readonly isStated: boolean;
  /** It is not the result of a computation in the statement. */
  readonly isGiven: boolean;
}

/** Something in a claim that can be looked up in the results. */
export type Fact = Place &
  (
    | { readonly kind: 'figure'; readonly figure: Figure }
    | { readonly kind: 'name'; readonly name: NamedThing }
    | { readonly kind: 'day'; readonly readings: readonly number[] }
  );

const MAX_FACTS = 128;
/** Where the result of a computation begins: of "¥150 a night = ¥300"; a product with the factor before its sign. */
const givenUpTo = (text: string): number => {
  const sign = text.search(/\s[÷×]\s|→/);
  if (sign >= 0) return text.slice(0, sign).trimEnd().lastIndexOf(' ');
  const at = text.search(/\s=\s/);
  return at < 0 ? text.length : at;
};

/** The facts of the claims, each held against what is known. */
export function checkFacts(statements: readonly Sentence[], known: Known): readonly Fact[] {
  const facts: Fact[] = [];
  const open: { at: number; figure: Figure }[] = [];
  for (const statement of statements) {
    if (statement.kind === 'code' || statement.kind === 'question' || facts.length >= MAX_FACTS) continue;
    const { text, lower, start } = statement;
    const isStated = statement.kind === 'claim' && !isAdvice(statement) && !isPlan(statement);
    const given = givenUpTo(text);
    const put = (at: { start: number; end: number }, state: Place['state'], rest: Partial<Fact>) =>
      facts.push({
        statement,
        start: Math.min(start + at.start, statement.end),
        end: Math.min(start + at.end, statement.end),
        state,
        isStated: at.start < given && (isStated || isEntry(statement, at, rest)),
        isGiven: at.start < given,
        ...rest,
      } as Fact);
    const [names, days, times] = [namesIn(text), daysIn(text), timesIn(lower)];
    const toState = (isFound: boolean) => (isFound ? 'found' : 'missing');
    for (const name of names) put(name, toState(isNameKnown(name, known)), { kind: 'name', name });
    for (const { readings, ...day } of days)
      put(day, toState(readings.some((one) => known.days.has(one))), { kind: 'day', readings });
    for (const figure of figuresOutside(text, [...names, ...days, ...times])) {
      if (isMarker(text, figure)) continue;
      const isFound =
        known.states(figure) ||
        known.counts.has(figure.value) ||
        (figure.dimension === 'none' && isInGroups(text, figure, known));
      if (!isFound) open.push({ at: facts.length, figure });
      put(figure, toState(isFound), { kind: 'figure', figure });
    }
  }
  for (const { at, figure } of open)
    if (
      known.derives(figure, besides(facts, at, known), true) ||
      (!figure.isSpan &&
        isSum(figure, figure.dimension === 'none' ? listFigures(facts) : besides(facts, at, known)))
    )
      facts[at] = { ...(facts[at] as Fact), state: 'derived' };
    else if (known.mayHaveUnread(figure.raw)) facts[at] = { ...(facts[at] as Fact), state: 'found' };
  return facts;
}

/** The form of a fact, in whatever section: a heading with its score, a label with its value, an amount that is usual. */
function isEntry(statement: Sentence, { start }: { start: number }, fact: Partial<Fact>): boolean {
  const { kind, isInAdvice, text } = statement;
  const dimension = fact.kind === 'figure' ? fact.figure?.dimension : fact.kind;
  if (kind === 'label') return !isInAdvice && dimension === 'ratio';
  if (kind !== 'claim' || isOffer(statement) || isPlan(statement)) return false;
  return (
    (dimension === 'money' && !isInAdvice) ||
    (/^(?:money|time|ratio)$/.test(dimension ?? '') && LABELED.test(text.slice(0, start)))
  );
}
const LABELED =
  /^[^.:!?]{2,60}[:：]\W{0,6}(?:(?:about|around|usually|typically|approximately|ca)\.?\W{1,3})?$/i;

const GROUPS = /\+?[A-Z]{0,4}\d[\dA-Z]{0,12}(?:[ -]\d[\dA-Z]{0,12}){1,9}/g;
const MIN_GROUPED = 7;
/** Digits of a number that is written in groups: a phone number, an account. */
const isInGroups = (text: string, { start, end }: Figure, known: Known): boolean => {
  const from = Math.max(0, start - MAX_GROUPED);
  for (const { 0: groups, index } of text.slice(from, end + MAX_GROUPED).matchAll(GROUPS)) {
    const bare = groups.replace(/[ +-]/g, '').toLowerCase();
    if (from + index <= start && end <= from + index + groups.length)
      return bare.length >= MIN_GROUPED && known.knowsBare(bare);
  }
  return false;
};
const MAX_GROUPED = 40;

export const listFigures = (facts: readonly Fact[]): readonly Figure[] =>
  facts.flatMap((fact) => (fact.kind === 'figure' ? [fact.figure] : []));

const MAX_SUMMED = 64;
/** Whether the figure is the sum of others beside each other in the answer. */
export function isSum({ value, dimension }: Figure, figures: readonly Figure[]): boolean {
  const others = figures
    .flatMap((one) => (one.dimension === dimension && one.value !== value ? [Math.abs(one.value)] : []))
    .slice(0, MAX_SUMMED);
  for (let from = 0; from < others.length; from++) {
    let sum = 0;
    for (let i = from; i < others.length && i < from + 16; i++) {
      sum += others[i] as number;
      if (i > from && Math.abs(sum - value) < 0.011) return true;
    }
  }
  return false;
}

/** What is computed from several figures. */
export const OF_SEVERAL = new Phrases({
  en: 'combined, together, altogether, total, totals, totaling, subtotal, average, averages, sum, difference, savings, save, saves, remaining, change, refund',
  de: 'insgesamt, zusammen, gesamt*, durchschnittlich, differenz, summe',
  es: 'total, promedio, diferencia, en conjunto',
  fr: 'total, en moyenne, différence',
  pt: 'total, em média, diferença',
  ja: '合計, 平均, 差額',
  zh: '一共, 合计, 总, 平均, 差价',
});

const MAX_BESIDE = 16;
/** The found figures nearest to one; beside an amount those of its own sentence, or of one that says that it computes. */
const besides = (facts: readonly Fact[], at: number, known: Known): readonly Figure[] => {
  const own = facts[at] as Fact;
  const isAmount = own.kind === 'figure' && own.figure.dimension === 'money' && !known.hasFew;
  const isNear = ({ statement, state }: Fact) =>
    state !== 'missing' && (!isAmount || statement === own.statement || OF_SEVERAL.has(own.statement));
  return listFigures(facts.slice(Math.max(0, at - MAX_BESIDE), at + MAX_BESIDE).filter(isNear)).slice(
    0,
    MAX_BESIDE,
  );
};

const isNameKnown = ({ text, kind }: NamedThing, known: Known): boolean => {
  if (known.knows(text)) return true;
  if (kind === 'id') return known.knows(text.replace(/^[#v](?=\d)/, '')) || known.knowsBare(bareName(text));
  // The beginning of an address, before what it asks for.
  if (text.length > 40 && known.knows(text.slice(0, Math.max(30, text.lastIndexOf('&'))))) return true;
  return known.knowsBare(bareName(decoded(text).replace(/^https?:\/\/(?:www\.)?/, '')));
};
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The number of an item or a heading ("1.", "Step 3", "Day 2"), or a part of a name ("401(k)"). */
function isMarker(text: string, { start, end, raw, dimension }: Figure): boolean {
  const before = text.slice(Math.max(0, start - 14), start);
  const after = text.slice(end, end + 4);
  if (/^\([a-z]\)/.test(after) || NUMBERED.test(before)) return true;
  if (/^\s*$/.test(text.slice(0, start)) && /^[.):]/.test(after)) return true;
  // "iPhone 15", "Class 3": a name with a number. A currency or a unit makes a figure of it.
  const word = /(\p{L}{2,14})[\s-]$/u.exec(before)?.[1] ?? '';
  return (
    raw.length <= 4 &&
    dimension === 'none' &&
    /\p{Lu}/u.test(word) &&
    !isUnspaced(word) &&
    !FUNCTION_WORDS.en.has(word.toLowerCase()) &&
    !/^(?:total|rating|price|score)$/i.test(word)
  );
}
const NUMBERED =
  /(?:step|day|week|option|part|chapter|section|phase|level|no\.?|number|page|figure|table|top|line|question|version|q)\s?#?$/i;
