/** What all matches of a pattern have in common, as far as it can be read off the pattern. */
import { ESCAPE, endOfClass, QUANTIFIER } from './patterns.ts';

export interface Affixes {
  /** Whether every match begins where the text begins. */
  readonly isAnchored: boolean;
  /** What every text with a match begins and ends with; empty when that is not known. */
  readonly prefix: string;
  readonly suffix: string;
}

const NONE: Affixes = { isAnchored: false, prefix: '', suffix: '' };
/** Characters that match themselves outside of classes. */
const PLAIN = /[A-Za-z0-9_/:@ =#%&~,;<>"'`!-]/;
/** Characters that match themselves after a backslash. */
const ESCAPED = /[$^.*+?()[\]{}|/\\]/;

/** @param pattern an ECMAScript pattern, valid with the flag `u`, used without others */
export function affixesOf(pattern: string): Affixes {
  const isAnchored = pattern.startsWith('^');
  let prefix: string | undefined;
  /** The fixed text before the place reached. */
  let run = '';
  let suffix = '';
  let depth = 0;
  for (let at = isAnchored ? 1 : 0; at < pattern.length; ) {
    const char = pattern.charAt(at);
    // An alternative need not have what another one has.
    if (char === '|' && depth === 0) return NONE;
    if (char === '$' && at === pattern.length - 1 && depth === 0) suffix = run;
    let literal = '';
    if (char === '[') {
      at = endOfClass(pattern, at);
    } else if (char === '\\') {
      const next = pattern.charAt(at + 1);
      if (ESCAPED.test(next)) literal = next;
      ESCAPE.lastIndex = at;
      at = ESCAPE.test(pattern) ? ESCAPE.lastIndex : at + 2;
    } else {
      if (char === '(') depth += 1;
      else if (char === ')') depth -= 1;
      else if (PLAIN.test(char)) literal = char;
      at += 1;
    }
    QUANTIFIER.lastIndex = at;
    const isRepeated = QUANTIFIER.test(pattern);
    if (isRepeated) at = QUANTIFIER.lastIndex;
    if (literal !== '' && !isRepeated && depth === 0) {
      run += literal;
    } else {
      prefix ??= run;
      run = '';
    }
  }
  return { isAnchored, prefix: isAnchored ? (prefix ?? run) : '', suffix };
}
