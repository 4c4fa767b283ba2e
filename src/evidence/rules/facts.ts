import { isAdvice, isOffer, isPlan, type Sentence } from '../answer/index.ts';
import { FUNCTION_WORDS } from '../language/index.ts';
import { Phrases } from '../phrases/index.ts';
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
        ...rest,
      } as Fact);
    const [names, days, times] = [namesIn(text), daysIn(text), timesIn(lower)];
    const toState = (isFound: boolean) => (isFound ? 'found' : 'missing');
    // Not a key of an answer that is JSON.
    for (const name of names.filter(({ end }) => !/^["']\s?:/.test(text.slice(end, end + 3))))
      put(name, toState(isNameKnown(name, known)), { kind: 'name', name });
    for (const { readings, ...day } of days)
      put(day, toState(readings.some((one) => known.days.has(one))), { kind: 'day', readings });
    for (const figure of figuresOutside(text, [...names, ...days, ...times])) {
      if (isMarker(text, figure)) continue;
      const isFound = known.states(figure) || known.counts.has(figure.value);
      if (!isFound) open.push({ at: facts.length, figure });
      put(figure, toState(isFound), { kind: 'figure', figure });
    }
  }
  for (const { at, figure } of open)
    if (known.derives(figure, besides(facts, at))) facts[at] = { ...(facts[at] as Fact), state: 'derived' };
    else if (known.isCut) facts[at] = { ...(facts[at] as Fact), state: 'found' };
  return facts;
}

/** The form of a fact, in whatever section: a heading with its score, a label with its value, an amount that is usual. */
function isEntry(statement: Sentence, { start }: { start: number }, fact: Partial<Fact>): boolean {
  const { kind, text } = statement;
  const dimension = fact.kind === 'figure' ? fact.figure?.dimension : fact.kind;
  if (kind === 'label') return dimension === 'ratio';
  if (kind !== 'claim' || isOffer(statement) || isPlan(statement)) return false;
  return (
    dimension === 'money' ||
    (/^(?:money|time|ratio)$/.test(dimension ?? '') && LABELED.test(text.slice(0, start)))
  );
}
const LABELED =
  /^[^.:!?]{2,60}[:：]\W{0,6}(?:(?:about|around|usually|typically|approximately|ca)\.?\W{1,3})?$/i;

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
/** The found figures nearest to one. */
const besides = (facts: readonly Fact[], at: number): readonly Figure[] =>
  facts
    .slice(Math.max(0, at - MAX_BESIDE), at + MAX_BESIDE)
    .flatMap((fact) => (fact.kind === 'figure' && fact.state !== 'missing' ? [fact.figure] : []))
    .slice(0, MAX_BESIDE);

/** Of an address, what stands before its later parameters is enough. */
const isNameKnown = ({ text, kind }: NamedThing, known: Known): boolean =>
  known.knows(text.split('&', 1)[0] as string) ||
  (kind === 'id' && known.knows(text.replace(/^[#v](?=\d)/, ''))) ||
  known.knowsBare(bareName(text.replace(/^https?:\/\/(?:www\.)?/, '')));

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
    !FUNCTION_WORDS.en.has(word.toLowerCase())
  );
}
const NUMBERED =
  /(?:step|day|week|option|part|chapter|section|phase|level|no\.?|number|page|figure|table|top|line|question|version|q)\s?#?$/i;
