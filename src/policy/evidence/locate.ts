/**
 * Finds a quote in the leaves of a source, on the host's side: what is shown to a user is the host's own copy of the
 * text at the place it found, never the model's.
 */
import type { ReasonCode } from '../reasons/index.ts';
import type { Leaf, LeafPath, SourceLeaves } from './leaves.ts';
import { hasInvisible, type NormalizedText, normalizeWithOffsets } from './normalize.ts';
import { isWholeUnit, leadIn, type Span, sentenceAround } from './sentences.ts';
import { holdsQualifier, wordsOf } from './words.ts';

/** The position of a quote in its source. */
export interface LocatedQuote {
  /** Keys and indices of the leaf. */
  readonly path: LeafPath;
  /** Offsets in the leaf, in UTF-16 units; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
  /** `exact`: the quote is the source's text. `normalised`: it is after the documented normalization. */
  readonly match: 'exact' | 'normalised';
  /** The source's own text from `start` to `end`. */
  readonly quote: string;
}

export type Location = { readonly quote: LocatedQuote } | { readonly reasonCode: ReasonCode };

/** A quote needs this much, unless it is a whole line, sentence or item. */
const MIN_CHARS = 20;
const MIN_WORDS = 4;
/** Places of one quote that are looked at, over all leaves. */
const MAX_PLACES = 256;

const TRUNCATION_MARK = /^\W*(?:truncated|omitted|redacted|snip|cut)\W*$/i;

/** A source prepared for many quotes. */
export class QuoteFinder {
  readonly #source: SourceLeaves;
  readonly #normalized = new Map<Leaf, NormalizedText>();

  constructor(source: SourceLeaves) {
    this.#source = source;
  }

  locate(evidence: string): Location {
    const trimmed = evidence.trim();
    if (hasInvisible(trimmed)) return { reasonCode: 'evidence_invisible_character' };
    if (wordsOf(trimmed).join('').length < 2) return { reasonCode: 'evidence_too_short' };
    if (TRUNCATION_MARK.test(trimmed)) return { reasonCode: 'evidence_truncation_marker' };
    const needle = normalizeWithOffsets(trimmed).text;
    // The reason of the place that came furthest, when no place will do.
    let best: ReasonCode | undefined;
    let places = 0;
    for (const leaf of this.#source.evidence) {
      for (const place of this.#placesIn(leaf, trimmed, needle)) {
        places += 1;
        const reason = problemOf(leaf.text, place);
        if (reason === undefined) {
          const { start, end, match } = place;
          return { quote: { path: leaf.path, start, end, match, quote: leaf.text.slice(start, end) } };
        }
        if (best === undefined || RANK.indexOf(reason) > RANK.indexOf(best)) best = reason;
        if (places >= MAX_PLACES) return { reasonCode: best };
      }
    }
    return { reasonCode: best ?? this.#whyAbsent(trimmed, needle) };
  }

  *#placesIn(leaf: Leaf, exact: string, needle: string): Generator<Span & { match: 'exact' | 'normalised' }> {
    const found = new Set<number>();
    for (let at = leaf.text.indexOf(exact); at >= 0; at = leaf.text.indexOf(exact, at + 1)) {
      found.add(at);
      yield { start: at, end: at + exact.length, match: 'exact' };
    }
    const { text, offsets } = this.#normalize(leaf);
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
      const start = offsets?.[at] ?? at;
      const end = offsets === undefined ? at + needle.length : endOf(offsets, leaf.text, at, needle.length);
      if (!found.has(start)) yield { start, end, match: 'normalised' };
    }
  }

  #normalize(leaf: Leaf): NormalizedText {
    let normalized = this.#normalized.get(leaf);
    if (normalized === undefined) {
      normalized = normalizeWithOffsets(leaf.text);
      this.#normalized.set(leaf, normalized);
    }
    return normalized;
  }

  #whyAbsent(exact: string, needle: string): ReasonCode {
    if (this.#source.echoes.some((leaf) => leaf.text.includes(exact))) return 'evidence_echo';
    const lower = needle.toLowerCase();
    const differsInCase = this.#source.evidence.some((leaf) =>
      this.#normalize(leaf).text.toLowerCase().includes(lower),
    );
    return differsInCase ? 'evidence_case_mismatch' : 'evidence_not_found';
  }
}

/** Reasons from the least to the most telling. */
const RANK: readonly ReasonCode[] = ['evidence_cut_word', 'evidence_too_short', 'evidence_negated_context'];

/** The end in the original of a match in the normalized text, without white space that was folded away. */
function endOf(offsets: Uint32Array, text: string, at: number, length: number): number {
  const end = offsets[at + length] ?? text.length;
  return offsets[at + length - 1] === undefined ? end : trimEnd(text, offsets[at + length - 1] ?? 0, end);
}

function trimEnd(text: string, from: number, end: number): number {
  let at = end;
  while (at > from + 1 && /\s/.test(text.charAt(at - 1))) at -= 1;
  return at;
}

function problemOf(text: string, span: Span): ReasonCode | undefined {
  if (cutsWord(text, span.start) || cutsWord(text, span.end) || cutsSign(text, span.start))
    return 'evidence_cut_word';
  const quote = text.slice(span.start, span.end);
  const isLong = quote.length >= MIN_CHARS || isManyWords(quote);
  if (!isLong && !isWholeUnit(text, span)) return 'evidence_too_short';
  const sentence = sentenceAround(text, span);
  // `No. 512`: the digit a quote starts with tells a number from a negation before it.
  const digit = /^\d/.test(quote) ? quote.charAt(0) : '';
  const before = text.slice(sentence.start, span.start) + digit;
  const outside = `${before} \u2026 ${text.slice(span.end, sentence.end)}`;
  if (holdsQualifier(outside) || holdsQualifier(leadIn(text, span))) return 'evidence_negated_context';
  return undefined;
}

/** Four words between white space, at least two of them with letters or digits. */
function isManyWords(quote: string): boolean {
  return quote.trim().split(/\s+/).length >= MIN_WORDS && wordsOf(quote).length >= 2;
}

const WORD = /[\p{L}\p{N}\p{M}_]/u;
const DIGIT = /\p{N}/u;

/** True when `at` lies inside a word, number, date, address or contraction. */
function cutsWord(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const [before, after] = [charBefore(text, at), charAfter(text, at)];
  if (WORD.test(before) && WORD.test(after)) return true;
  // `3|,500`, `10|:30`, `don|'t`, `a|@b`: the joint belongs to both sides.
  if (WORD.test(before)) return joins(before, after, charAfter(text, at + after.length));
  return WORD.test(after) && joins(charBefore(text, at - before.length), before, after);
}

function joins(left: string, joint: string, right: string): boolean {
  if (left === '' || right === '' || !WORD.test(left) || !WORD.test(right)) return false;
  if (joint === ',' || joint === ':') return DIGIT.test(left) && DIGIT.test(right);
  if (joint === '.') return DIGIT.test(left) === DIGIT.test(right);
  return "'’@-/".includes(joint);
}

/** True when a minus or plus sign right before the number at `at` is left out. */
function cutsSign(text: string, at: number): boolean {
  const sign = text.charAt(at - 1);
  if (at === 0 || !'-−'.includes(sign) || !DIGIT.test(text.charAt(at))) return false;
  return at === 1 || /[\s(=:]/.test(text.charAt(at - 2));
}

function charBefore(text: string, at: number): string {
  if (at <= 0) return '';
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : text.charAt(at - 1);
}

function charAfter(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}
