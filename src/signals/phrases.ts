import type { Utf8Text } from './utf8-text.ts';

/** Phrases that the verifier and the tool-claim check look for in an answer, as bits. */
export const HEDGING = 1;
export const ABSOLUTE = 2;
export const SUCCESS = 4;
/** Not a phrase: the token may end a two-word phrase, see {@link endsPair}. */
export const PAIR_END = 8;

interface Phrase {
  /** The first word of a two-word phrase, else empty. */
  readonly head: Uint8Array;
  /** The word to find. */
  readonly tail: Uint8Array;
  readonly bit: number;
}

/** Phrases are looked for anywhere in the text, within other words too; their letters always lie within one token. */
export const PHRASE_TEXTS: readonly (readonly [text: string, bit: number])[] = [
  ['maybe', HEDGING],
  ['not sure', HEDGING],
  ['i think', HEDGING],
  ['definitely', ABSOLUTE],
  ['guaranteed', ABSOLUTE],
  ['completed', SUCCESS],
  ['success', SUCCESS],
  ['done', SUCCESS],
  ['sent', SUCCESS],
];

const PHRASES: readonly Phrase[] = PHRASE_TEXTS.map(([text, bit]) => {
  const [tail = '', head = ''] = text.split(' ').reverse();
  const encoder = new TextEncoder();
  return { head: encoder.encode(head), tail: encoder.encode(tail), bit };
});

const SHORTEST_TAIL = 4;
const SPACE_BYTE = 0x20;

/**
 * The first four letters of each tail, little-endian, at the place that {@link findPlace} gives them: nearly all tokens have
 * none of them and are skipped. The kernel has a copy.
 */
export const CANDIDATES: Int32Array<ArrayBuffer> = new Int32Array(256);
for (const { tail } of PHRASES) {
  const letters = new DataView(tail.buffer, tail.byteOffset).getInt32(0, true);
  CANDIDATES[findPlace(letters)] = letters;
}

/** The multiplier, a prime of xxHash, gives the letters of all phrases different places. */
function findPlace(letters: number): number {
  return Math.imul(letters, 0x85ebca77) >>> 24;
}

/** The phrases of one word in a token of a text in normal form, and {@link PAIR_END}. */
export function phrasesIn({ bytes, view }: Utf8Text, start: number, size: number): number {
  const last = start + size - SHORTEST_TAIL;
  let found = 0;
  for (let i = start; i <= last; i += 1) {
    const letters = view.getInt32(i, true);
    if (CANDIDATES[findPlace(letters)] !== letters) continue;
    for (const { head, tail, bit } of PHRASES) {
      if (i + tail.length > start + size || !standsAt(bytes, i, tail)) continue;
      if (head.length === 0) found |= bit;
      else if (i === start) found |= PAIR_END;
    }
  }
  return found;
}

/** Texts of which {@link toPhrases} takes less time than the tokens do. */
export const SHORT_TEXT_BYTES = 256;

/** All phrases of a short text in normal form. */
export function toPhrases(text: Utf8Text): number {
  const { bytes, length } = text;
  let found = 0;
  let letters = 0;
  for (let end = 0; end < length; end += 1) {
    letters = (letters >>> 8) | ((bytes[end] as number) << 24);
    if (CANDIDATES[findPlace(letters)] === letters) found |= phrasesAt(bytes, end + 1 - SHORTEST_TAIL);
  }
  return found;
}

/** The phrases whose last word is at `start`. */
function phrasesAt(bytes: Uint8Array, start: number): number {
  let found = 0;
  for (const { head, tail, bit } of PHRASES) {
    if (standsAt(bytes, start, tail) && (head.length === 0 || followsWord(bytes, start, head))) found |= bit;
  }
  return found;
}

/** The phrases of two words whose second one begins the token at `start`. */
export function endsPair({ bytes }: Utf8Text, start: number): number {
  let found = 0;
  for (const { head, tail, bit } of PHRASES) {
    if (head.length > 0 && followsWord(bytes, start, head) && standsAt(bytes, start, tail)) found |= bit;
  }
  return found;
}

function followsWord(bytes: Uint8Array, start: number, word: Uint8Array): boolean {
  const from = start - 1 - word.length;
  return from >= 0 && bytes[start - 1] === SPACE_BYTE && standsAt(bytes, from, word);
}

function standsAt(bytes: Uint8Array, index: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i += 1) {
    if (bytes[index + i] !== word[i]) return false;
  }
  return true;
}
