import type { ComponentChildren } from 'preact';
import { printable } from '../../base/index.ts';

/** Alphabets with letters that look like Latin ones (Unicode confusables.txt). */
const ALIKE = ['Cyrillic', 'Greek', 'Armenian', 'Cherokee'] as const;
const LETTERS = ALIKE.map((name) => ({ name, letter: new RegExp(`\\p{Script=${name}}`, 'gu') }));
const LATIN = /\p{Script=Latin}/gu;
/** Words, and characters that are escaped since they reorder text or cannot be seen. */
const TOKEN = /[\p{L}\p{M}]{1,200}|\\u[0-9a-f]{4}/gu;
/** An alphabet that a text has less of is not the one it is written in. */
const MINORITY = 0.1;
const MAX_MARKS = 100;

/**
 * A text that a person decides on, with what may deceive marked: letters of another alphabet that look like Latin ones, in a
 * word or a text that is Latin otherwise, and characters that reorder text or cannot be seen, which are escaped.
 */
export function Watched({ text: given }: { text: string }) {
  const text = printable(given);
  const count = (pattern: RegExp, words: string) => words.match(pattern)?.length ?? 0;
  const latin = count(LATIN, text);
  const minor = LETTERS.filter(({ letter }) => {
    const own = count(letter, text);
    return own > 0 && own < MINORITY * (own + latin);
  }).map(({ name }) => name);
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [word] = match;
    const why = findOddity(word, count(LATIN, word) > 0, minor);
    if (why === undefined) continue;
    if (parts.length >= 2 * MAX_MARKS) break;
    parts.push(
      text.slice(at, match.index),
      <mark class="odd" title={why} key={match.index}>
        {word}
        <span class="vh"> ({why})</span>
      </mark>,
    );
    at = match.index + word.length;
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  );
}

function findOddity(word: string, hasLatin: boolean, minor: readonly string[]): string | undefined {
  if (word.startsWith('\\u')) return 'a character that cannot be seen or turns the text';
  for (const { name, letter } of LETTERS) {
    if (word.match(letter) !== null && (hasLatin || minor.includes(name))) return `${name} letters`;
  }
  return undefined;
}
