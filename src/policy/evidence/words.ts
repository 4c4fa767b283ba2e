/** Words, numbers and names of claims and quotes. Stems are English; ASCII letters are not assumed. */
import { FUNCTION_WORDS, isNegation, toVerbStem } from '../../evidence/index.ts';

/** Lower-cased words: letters and digits, with the apostrophes, hyphens and dots inside them. */
export function splitWords(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{N}\p{M}]+)*/gu) ?? [];
}

const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
/** A letter of a script that is written without spaces between words. */
export const UNSPACED_LETTER = new RegExp(`[${UNSPACED}]`, 'u');
const UNSPACED_RUN = new RegExp(`[${UNSPACED}\\p{M}ー]+`, 'gu');

/** The text with spaces between its scripts: around runs without spaces, but for the one character after a number. */
function withSpaces(text: string): string {
  return text.replace(UNSPACED_RUN, (run, at: number) =>
    /\p{N}/u.test(text.charAt(at - 1)) ? `${run.charAt(0)} ${run.slice(1)} ` : ` ${run} `,
  );
}

/**
 * Words that carry meaning, cut to a stem so that `masking` meets `mask`; pairs of neighbors where words are written
 * without spaces.
 */
export function contentStems(text: string): ReadonlySet<string> {
  const stems = new Set<string>();
  for (const [run] of text.matchAll(UNSPACED_RUN))
    for (let at = 0; at < Math.max(1, run.length - 1); at += 1) stems.add(run.slice(at, at + 2));
  for (const word of splitWords(text.replace(UNSPACED_RUN, ' '))) {
    const isWordy = /\p{L}/u.test(word) && word.length >= 2;
    if (isWordy && !FUNCTION_WORDS.en.has(word) && !isNegation(word)) stems.add(toVerbStem(word));
  }
  return stems;
}

/** Tokens with a digit, from white space to white space, without punctuation around them. */
export function numericTokens(text: string): readonly string[] {
  return withSpaces(text)
    .split(/\s+/)
    .map((token) => token.replace(/^[^\p{L}\p{N}$€£¥+#-]+|[^\p{L}\p{N}%]+$/gu, ''))
    .filter((token) => /\p{N}/u.test(token));
}

/** Addresses and links: tokens with `@` or `://`, and host names that start with `www.`. */
export function addressTokens(text: string): readonly string[] {
  return text
    .split(/[\s,;<>()"']+/)
    .map((token) => token.replace(/[.,:!?]+$/, ''))
    .filter((token) => /[^@\s]@[^@\s]|:\/\/|^www\./i.test(token));
}

/** Words that start with a capital, other than the first word of a sentence unless all of it is capitals. */
export function properNouns(text: string): readonly string[] {
  const names: string[] = [];
  const matcher = /[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu;
  for (const match of text.matchAll(matcher)) {
    const [word] = match;
    if (!/^\p{Lu}/u.test(word)) continue;
    const before = text.slice(Math.max(0, match.index - 12), match.index).trimEnd();
    const startsSentence = before === '' || /[.!?:\n•*#-]["'(]?$/u.test(before);
    const isAcronym = word.length > 1 && word === word.toUpperCase() && /\p{L}{2}/u.test(word);
    if (!startsSentence || isAcronym) names.push(word.replace(/['’]s$/, ''));
  }
  return names;
}

/** Words that say the opposite of each other: the pairs that turn a rule, a state or a figure around. */
const OPPOSITES: readonly (readonly [one: string, other: string])[] = [
  [
    'must shall require requires required requirement mandatory obligatory compulsory necessary needs',
    'optional optionally voluntary voluntarily discretionary unnecessary waived exempt',
  ],
  [
    'allow allows allowed permit permits permitted',
    'forbid forbids forbidden prohibit prohibits prohibited banned disallowed denied deny denies',
  ],
  ['enable enables enabled', 'disable disables disabled'],
  [
    'increase increases increased rise rises rose grew',
    'decrease decreases decreased fall falls fell shrank',
  ],
  ['always', 'sometimes rarely'],
  ['public', 'private confidential'],
  ['approve approves approved accept accepts accepted', 'reject rejects rejected decline declines declined'],
];

const SIDES = OPPOSITES.map(([one, other]) => [new Set(one.split(' ')), new Set(other.split(' '))] as const);

/** Whether the claim says the opposite of what the quote says, or calls optional what the quote does not. */
export function turnsAround(claim: string, quote: string): boolean {
  const said = splitWords(claim);
  const shown = new Set(splitWords(quote));
  return SIDES.some(([one, other]) => opposes(said, shown, one, other) || opposes(said, shown, other, one));
}

function opposes(
  said: readonly string[],
  shown: ReadonlySet<string>,
  own: ReadonlySet<string>,
  opposite: ReadonlySet<string>,
): boolean {
  const isShown = (words: ReadonlySet<string>) => [...words].some((word) => shown.has(word));
  return said.some((word) => own.has(word)) && !isShown(own) && isShown(opposite);
}
