/**
 * The one documented normalization of quotes: NFC; every run of Unicode white space is one space; quotation marks,
 * primes, dashes, ellipses, comparison signs, arrows, ligatures and full-width forms are their ASCII forms; marks of Markdown
 * and HTML that only format are left out. Letters keep their case and their script: a Cyrillic `а` is not a Latin one.
 */
import { readMarkup } from './markup.ts';

/** A normalized text, with the place in the original (UTF-16 units) of each of its units. */
export interface NormalizedText {
  readonly text: string;
  /** Undefined when the text was normal already. */
  readonly places: { readonly starts: Uint32Array; readonly ends: Uint32Array } | undefined;
}

const FULL_WIDTH = Array.from({ length: 0xff5e - 0xff00 }, (_, index) => 0xff01 + index);

const FOLDED: ReadonlyMap<string, string> = new Map([
  ...FULL_WIDTH.map((code) => [String.fromCharCode(code), String.fromCharCode(code - 0xfee0)] as const),
  ...[...'‘’‚‛′＇ʼ'].map((char) => [char, "'"] as const),
  ...[...'“”„‟″＂«»'].map((char) => [char, '"'] as const),
  ...[...'‐‑‒–—―−﹣－'].map((char) => [char, '-'] as const),
  ...[...'≥⩾≧'].map((char) => [char, '>='] as const),
  ...[...'≤⩽≦'].map((char) => [char, '<='] as const),
  ['≠', '!='],
  ...['→->', '←<-', '↔<->', '⇒=>'].map((pair) => [pair.slice(0, 1), pair.slice(1)] as const),
  ['…', '...'],
  ...[...'ﬀﬁﬂﬃﬄﬅﬆ'].map((char) => [char, char.normalize('NFKC')] as const),
  // They break lines, join or turn text without being seen: soft hyphen, zero-width space, word joiner, marks.
  ...[...'\u00ad\u200b\u2060\ufeff\u200e\u200f'].map((char) => [char, ''] as const),
]);

/** Anything that {@link normalizeWithOffsets} would change, apart from canonical composition and markup. */
const NEEDS_FOLDING =
  /[^\S ]| {2}|[‘’‚‛′ʼ“”„‟″«»‐‑‒–—―−﹣≥⩾≧≤⩽≦≠→←↔⇒…ﬀ-ﬆ\uff01-\uff5e\u00ad\u200b\u2060\ufeff\u200e\u200f]/u;

/**
 * What composes with each other: a base with its marks, and the parts of a Hangul syllable. (Intl.Segmenter would say
 * it better, and takes a minute for 100,000 graphemes on Node 20.)
 */
const COMPOSING =
  /[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?|[\uac00-\ud7a3][\u11a8-\u11c2]?|\P{M}\p{M}*|\p{M}+/gu;

export function normalizeWithOffsets(text: string): NormalizedText {
  const isComposed = text.normalize('NFC') === text;
  const markup = readMarkup(text);
  if (isComposed && markup.size === 0 && !NEEDS_FOLDING.test(text)) return { text, places: undefined };
  const starts: number[] = [];
  const ends: number[] = [];
  let out = '';
  // A text that grows is not looked into: that would copy it each time.
  let endsInSpace = false;
  const add = (unit: string, start: number, end: number) => {
    // White space after white space belongs to it.
    const added = unit === ' ' && endsInSpace ? '' : unit;
    for (let i = 0; i < added.length; i += 1) {
      starts.push(start);
      ends.push(end);
    }
    out += added;
    if (unit !== '') endsInSpace = unit === ' ';
  };
  let foldedTo = 0;
  for (const [at, unit] of units(text, isComposed)) {
    if (at < foldedTo) continue;
    const fold = markup.get(at);
    foldedTo = at + (fold?.length ?? unit.length);
    add(fold?.text ?? foldedUnit(unit, isComposed), at, foldedTo);
  }
  return { text: out, places: { starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) } };
}

function foldedUnit(unit: string, isComposed: boolean): string {
  if (/^\s+$/u.test(unit)) return FOLDED.get(unit) ?? ' ';
  return FOLDED.get(unit) ?? (isComposed ? unit : unit.normalize('NFC'));
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

/** A joiner in an emoji, or between letters of a script that is written with joiners (UAX #31, 2.3). */
const SEEN_JOINER =
  /(?<=\p{Extended_Pictographic}\ufe0f?)\u200d(?=\p{Extended_Pictographic})|(?<=[\p{scx=Arab}\p{scx=Syrc}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}])[\u200c\u200d](?=\p{L})/gu;

/**
 * True when a text holds characters that do not show: zero-width, bidirectional and other format characters. Joiners
 * are part of what people see in emoji, and in Persian and the scripts of India.
 */
export function hasInvisible(text: string): boolean {
  return /\p{Cf}/u.test(text) && /\p{Cf}/u.test(text.replace(SEEN_JOINER, ''));
}
