/** Whether a quote can carry its claim. This proves nothing about truth; it stops claims that say more than the quote. */
import type { ReasonCode } from '../reasons/index.ts';
import { hasInvisible, normalizeWithOffsets } from './normalize.ts';
import { sentenceAround } from './sentences.ts';
import {
  addressTokens,
  contentStems,
  isNegated,
  numericTokens,
  properNouns,
  turnsAround,
  wordsOf,
} from './words.ts';

/** Share of a claim's content words that must occur in the quote. */
const MIN_OVERLAP = 0.5;

/** Why the quote does not carry the claim, or undefined. */
export function claimProblem(claim: string, quote: string): ReasonCode | undefined {
  if (hasInvisible(claim)) return 'claim_invisible_character';
  const said = normalizeWithOffsets(claim.trim()).text;
  const shown = normalizeWithOffsets(quote).text;
  if (said === shown) return undefined;
  if (!numbersStand(said, shown)) return 'claim_number_unsupported';
  const lower = shown.toLowerCase();
  if (addressTokens(said).some((token) => !lower.includes(token.toLowerCase())))
    return 'claim_name_unsupported';
  const words = new Set(wordsOf(shown));
  if (properNouns(said).some((name) => !wordsOf(name).every((word) => words.has(word))))
    return 'claim_name_unsupported';
  const claimed = contentStems(said);
  if (turnsAround(said, shown)) return 'claim_polarity';
  // A mark such as "x" says nothing that a quote could fail to carry; "It is so" says something about no quote.
  if (claimed.size === 0) {
    if (isNegated(said) && !isNegated(shown)) return 'claim_polarity';
    return wordsOf(said).some((word) => word.length >= 2) ? 'claim_unrelated' : undefined;
  }
  const held = contentStems(shown);
  const shared = [...claimed].filter((stem) => held.has(stem)).length;
  if (shared === 0 || shared / claimed.size < MIN_OVERLAP) return 'claim_unrelated';
  return isNegated(said) === isNegated(closestSentence(quote, claimed)) ? undefined : 'claim_polarity';
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
