/**
 * Finds a quote in the leaves of a source, on the host's side: what is shown to a user is the host's own copy of the
 * text at the place it found, never the model's.
 */
import type { ReasonCode } from '../reasons/index.ts';
import type { Leaf, LeafPath, SourceLeaves, ValueLeaf } from './leaves.ts';
import { turnsQuote } from './negations.ts';
import { hasInvisible, type NormalizedText, normalizeWithOffsets } from './normalize.ts';
import { isWholeUnit, leadIn, type Span, sentenceAround } from './sentences.ts';
import { cutsSign, cutsWord } from './word-edges.ts';
import { splitWords, UNSPACED_LETTER } from './words.ts';

export interface LocatedQuote {
  readonly path: LeafPath;
  /** Offsets in the leaf, in UTF-16 units; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
  /** `exact`: the quote is the source's text. `normalised`: it is after the documented normalization. */
  readonly match: 'exact' | 'normalised';
  /** The source's own text from `start` to `end`. */
  readonly quote: string;
}

/** A quote in its source, with what it says: of a value its key too. Or why it cannot be used. */
export type Location =
  | { readonly quote: LocatedQuote; readonly says: string }
  | { readonly reasonCode: ReasonCode };

/** A quote needs this much, unless it is a whole line, sentence or item. */
const MIN_CHARS = 20;
const MIN_WORDS = 4;
/** The same in a script without spaces: a character says as much as two or three letters. */
const MIN_UNSPACED = 8;
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
    if (splitWords(trimmed).join('').length < 2) return { reasonCode: 'evidence_too_short' };
    if (TRUNCATION_MARK.test(trimmed)) return { reasonCode: 'evidence_truncation_marker' };
    const needle = normalizeWithOffsets(trimmed).text.trim();
    // The reason of the place that came furthest, when no place will do.
    let best: ReasonCode | undefined;
    let places = 0;
    for (const leaf of this.#texts()) {
      for (const place of this.#placesIn(leaf, trimmed, needle)) {
        places += 1;
        const reason = findProblem(leaf, place);
        if (reason === undefined) {
          const { start, end, match } = place;
          const quote = leaf.text.slice(start, end);
          return { quote: { path: leaf.path, start, end, match, quote }, says: quote };
        }
        if (best === undefined || RANK.indexOf(reason) > RANK.indexOf(best)) best = reason;
        if (places >= MAX_PLACES) return { reasonCode: best };
      }
    }
    return this.#findValue(trimmed) ?? { reasonCode: best ?? this.#whyAbsent(trimmed, needle) };
  }

  *#texts(): Generator<Leaf> {
    yield* this.#source.evidence;
    yield* this.#source.written;
  }

  /** A number or truth value as it is written, or any whole leaf as `key: value`. */
  #findValue(evidence: string): Location | undefined {
    const line = evidence.replace(/,$/, '');
    const isLabeled = (leaf: ValueLeaf) => leaf.text.length < line.length && listLabels(leaf).includes(line);
    const found = this.#source.values.filter(
      (leaf) => (!leaf.isString && leaf.text === line) || isLabeled(leaf),
    );
    const [leaf] = found;
    if (leaf === undefined) return undefined;
    const { path, text } = leaf;
    const match = text === line ? 'exact' : 'normalised';
    // Which of several equal values is meant, and so under which key, is not known.
    const says = found.length > 1 && match === 'exact' ? text : `${leaf.key}: ${text}`;
    return { quote: { path, start: 0, end: text.length, match, quote: text }, says };
  }

  *#placesIn(leaf: Leaf, exact: string, needle: string): Generator<Span & { match: 'exact' | 'normalised' }> {
    const found = new Set<number>();
    for (let at = leaf.text.indexOf(exact); at >= 0; at = leaf.text.indexOf(exact, at + 1)) {
      found.add(at);
      yield { start: at, end: at + exact.length, match: 'exact' };
    }
    const { text, places } = this.#normalize(leaf);
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
      const start = places?.starts[at] ?? at;
      const end = places?.ends[at + needle.length - 1] ?? at + needle.length;
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
    const differsInCase = [...this.#texts()].some((leaf) =>
      this.#normalize(leaf).text.toLowerCase().includes(lower),
    );
    return differsInCase ? 'evidence_case_mismatch' : 'evidence_not_found';
  }
}

/** Reasons from the least to the most telling. */
const RANK: readonly ReasonCode[] = ['evidence_cut_word', 'evidence_too_short', 'evidence_negated_context'];

/** A leaf with its key, as models and JSON write it. */
function listLabels({ key, text, isString }: ValueLeaf): readonly string[] {
  return [`${key}: ${text}`, `"${key}": ${isString ? JSON.stringify(text) : text}`, `${key}=${text}`];
}

function findProblem({ text, lead = '' }: Leaf, span: Span): ReasonCode | undefined {
  if (cutsWord(text, span.start) || cutsWord(text, span.end) || cutsSign(text, span.start))
    return 'evidence_cut_word';
  const quote = text.slice(span.start, span.end);
  const isLong = quote.length >= MIN_CHARS || isManyWords(quote) || countUnspaced(quote) >= MIN_UNSPACED;
  if (!isLong && !isWholeUnit(text, span)) return 'evidence_too_short';
  const sentence = sentenceAround(text, span);
  // `No. 512`: the digit a quote starts with tells a number from a negation before it.
  const digit = /^\d/.test(quote) ? quote.charAt(0) : '';
  const before = text.slice(sentence.start, span.start) + digit;
  const context = text.slice(Math.max(0, span.start - CONTEXT_REACH), span.end + CONTEXT_REACH);
  const outside = { before, after: text.slice(span.end, sentence.end) };
  const isTurned =
    turnsQuote(outside, context) ||
    turnsQuote({ before: `${lead} ${leadIn(text, span)}`, after: '' }, `${lead} ${context}`);
  return isTurned ? 'evidence_negated_context' : undefined;
}

/** How much text around a quote tells its language. */
const CONTEXT_REACH = 300;

function countUnspaced(quote: string): number {
  return [...quote].filter((char) => UNSPACED_LETTER.test(char)).length;
}

/** Four words between white space, at least two of them with letters or digits. */
function isManyWords(quote: string): boolean {
  return quote.trim().split(/\s+/).length >= MIN_WORDS && splitWords(quote).length >= 2;
}
