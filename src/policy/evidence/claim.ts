/** Whether a quote can carry its claim. This proves nothing about truth; it stops claims that say more than the quote. */
import type { ReasonCode } from '../reasons/index.ts';
import { isNegated } from './negations.ts';
import { hasInvisible, normalizeWithOffsets } from './normalize.ts';
import { sentenceAround } from './sentences.ts';
import { addressTokens, contentStems, numericTokens, properNouns, splitWords, turnsAround } from './words.ts';

/** Share of a claim's content words that must occur in the quote. */
const MIN_OVERLAP = 0.5;

/** Why the quote does not carry the claim, or undefined. */
export function claimProblem(claim: string, quote: string): ReasonCode | undefined {
  if (hasInvisible(claim)) return 'claim_invisible_character';
  const said = withPlainFigures(normalizeWithOffsets(claim.trim()).text);
  const shown = withPlainFigures(normalizeWithOffsets(quote).text);
  if (said === shown) return undefined;
  if (!numbersStand(said, shown)) return 'claim_number_unsupported';
  const lower = shown.toLowerCase();
  if (addressTokens(said).some((token) => !lower.includes(token.toLowerCase())))
    return 'claim_name_unsupported';
  const words = new Set(splitWords(shown));
  if (properNouns(said).some((name) => !splitWords(name).every((word) => words.has(word))))
    return 'claim_name_unsupported';
  const both = `${said} ${shown}`;
  const claimed = contentStems(said);
  if (turnsAround(said, shown)) return 'claim_polarity';
  // A mark such as "x" says nothing that a quote could fail to carry; "It is so" says something about no quote.
  if (claimed.size === 0) {
    if (isNegated(said, both) && !isNegated(shown, both)) return 'claim_polarity';
    return splitWords(said).some((word) => word.length >= 2) ? 'claim_unrelated' : undefined;
  }
  const held = contentStems(shown);
  const shared = [...claimed].filter((stem) => held.has(stem)).length;
  if (shared === 0 || shared / claimed.size < MIN_OVERLAP) return 'claim_unrelated';
  const isSame = isNegated(said, both) === isNegated(closestSentence(quote, claimed), both);
  return isSame ? undefined : 'claim_polarity';
}

/**
 * Every number of the claim occurs in the quote: as the same token, or, for a token with one number in it (`30-day`,
 * `3,500`), as that number.
 */
function numbersStand(claim: string, quote: string): boolean {
  const tokens = numericTokens(claim);
  if (tokens.length === 0) return true;
  const held = new Set(numericTokens(quote).map(plainNumber));
  const atoms = new Set([...quote.matchAll(NUMBER)].map(([atom]) => plainNumber(atom)));
  return tokens.every((token) => {
    const plain = plainNumber(token);
    if (held.has(plain)) return true;
    const parts = plain.match(NUMBER) ?? [];
    const [only] = parts;
    if (parts.length !== 1 || only === undefined || !atoms.has(only)) return false;
    // The unit belongs to the number: `30%` is not carried by `30 days`, nor `INC30` by `30`.
    const unit = plain.replace(only, '');
    return unit === '' || unit === '-' || /^-?\p{Ll}+$/u.test(unit) || quote.includes(unit);
  });
}

const NUMBER = /\d+(?:[.,]\d+)*/g;

/** `3,500` and `3500` are one number. */
function plainNumber(token: string): string {
  return token.replace(/(\d),(?=\d{3}(?!\d))/g, '$1').toLowerCase();
}

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const MONTH = String.raw`(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`;
const MONTH_FIRST = new RegExp(String.raw`\b${MONTH} (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`, 'gi');
const DAY_FIRST = new RegExp(String.raw`\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ${MONTH},? (\d{4})\b`, 'gi');

/** Dates as ISO 8601 has them, percentages with `%`, and amounts and percentages without zeros at their ends. */
function withPlainFigures(text: string): string {
  return text
    .replace(MONTH_FIRST, (_, month: string, day: string, year: string) => isoDate(year, month, day))
    .replace(DAY_FIRST, (_, day: string, month: string, year: string) => isoDate(year, month, day))
    .replace(/(?<=\d) ?(?:%|percent|per cent|pct)(?!\p{L})/giu, '%')
    .replace(/(\p{Sc} ?\d[\d,]{0,20})\.(\d{1,9})(?![\d.])/gu, (_, whole, part) => decimal(whole, part))
    .replace(/(\d[\d,]{0,20})\.(\d{1,9})(?= ?(%|\p{Sc}|[A-Z]{3}\b))/gu, (all, whole, part, unit) =>
      unit.length < 3 || CURRENCIES.has(unit) ? decimal(whole, part) : all,
    );
}

const isoDate = (year: string, month: string, day: string): string => {
  const number = MONTHS.indexOf(month.slice(0, 3).toLowerCase()) + 1;
  return `${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`;
};

/** Of a version the zeros count, so they may go only where there is a unit: `99.90%`, `$20.00`. */
function decimal(whole: string, part: string): string {
  const digits = part.replace(/0+$/, '');
  return digits === '' ? whole : `${whole}.${digits}`;
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** The sentence of the quote that shares most words with the claim: its polarity is the one that counts. */
function closestSentence(quote: string, claimed: ReadonlySet<string>): string {
  let best = '';
  let bestShared = -1;
  for (let at = 0; at < quote.length; ) {
    const { end } = sentenceAround(quote, { start: at, end: at + 1 });
    const sentence = quote.slice(at, end);
    const shared = [...contentStems(sentence)].filter((stem) => claimed.has(stem)).length;
    if (shared > bestShared) [best, bestShared] = [sentence, shared];
    else if (shared === bestShared && shared > 0) best += ` ${sentence}`;
    at = Math.max(end, at + 1);
  }
  return best;
}
