/**
 * The one documented normalization of quotes: NFC; every run of Unicode white space is one space; curly quotes,
 * primes and dashes are their ASCII forms. Letters keep their case and their script: a Cyrillic `а` is not a Latin one.
 */

/** A normalized text, with the offset in the original (UTF-16 units) at which each of its units starts. */
export interface NormalizedText {
  readonly text: string;
  /** Offsets by unit of `text`, with the end of the original last. Undefined when the text was normal already. */
  readonly offsets: Uint32Array | undefined;
}

const FOLDED: ReadonlyMap<string, string> = new Map([
  ...[...'‘’‚‛′＇ʼ'].map((char) => [char, "'"] as const),
  ...[...'“”„‟″＂«»'].map((char) => [char, '"'] as const),
  ...[...'‐‑‒–—―−﹣－'].map((char) => [char, '-'] as const),
]);

/** Anything that {@link normalizeWithOffsets} would change, apart from canonical composition. */
const NEEDS_FOLDING = /[^\S ]| {2}|[‘’‚‛′＇ʼ“”„‟″＂«»‐‑‒–—―−﹣－]/u;

/**
 * What composes with each other: a base with its marks, and the parts of a Hangul syllable. (Intl.Segmenter would say
 * it better, and takes a minute for 100,000 graphemes on Node 20.)
 */
const COMPOSING =
  /[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]?|\P{M}\p{M}*|\p{M}+/gu;

export function normalizeWithOffsets(text: string): NormalizedText {
  if (!NEEDS_FOLDING.test(text) && text.normalize('NFC') === text) return { text, offsets: undefined };
  const isComposed = text.normalize('NFC') === text;
  const offsets: number[] = [];
  let out = '';
  let inSpace = false;
  for (const [at, unit] of units(text, isComposed)) {
    if (/^\s+$/u.test(unit)) {
      if (!inSpace) offsets.push(at);
      if (!inSpace) out += ' ';
      inSpace = true;
      continue;
    }
    inSpace = false;
    const folded = FOLDED.get(unit) ?? (isComposed ? unit : unit.normalize('NFC'));
    for (let i = 0; i < folded.length; i += 1) offsets.push(at);
    out += folded;
  }
  offsets.push(text.length);
  return { text: out, offsets: Uint32Array.from(offsets) };
}

/** Code points, or what composes with each other where the text is not composed yet. */
function* units(text: string, isComposed: boolean): Generator<readonly [number, string]> {
  if (isComposed) {
    let at = 0;
    for (const char of text) {
      yield [at, char];
      at += char.length;
    }
    return;
  }
  for (const match of text.matchAll(COMPOSING)) yield [match.index, match[0]];
}

/**
 * True when a text holds characters that do not show: zero-width, bidirectional and other format characters. The
 * joiner inside an emoji is one character people see.
 */
export function hasInvisible(text: string): boolean {
  return (
    /\p{Cf}/u.test(text) &&
    /\p{Cf}/u.test(
      text.replace(/(\p{Extended_Pictographic}\ufe0f?)\u200d(?=\p{Extended_Pictographic})/gu, '$1'),
    )
  );
}
