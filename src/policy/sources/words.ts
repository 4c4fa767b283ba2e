/**
 * What a text is compared by: its words in a normal form, and its numbers, days and times as values. A word is what
 * stands between spaces, quotes and brackets, so that `john@company.co` is no part of `john@company.co.uk`.
 */
import { keyedValuesIn } from './value-keys.ts';

/** Stands before, between and after the words of a text. */
const BREAK = '\u0001';
/** Values never equal a word. */
const VALUE = '\u0002';

const PIECE = /(?:[^\s"`()<>[\]{},;!|、。「」『』【】]|(?<=\d),(?=\d))+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;
const BEFORE_WORD: ReadonlySet<string> = new Set("*_~#@$€£¥+=:.'’?…&-");
const AFTER_WORD: ReadonlySet<string> = new Set(".:?*_~'’…=&-");
const POSSESSIVE = /['’]s$/u;
/** `mailto:`, `id=`; not the scheme of a URL. */
const LABEL = /^(\p{L}{2,20})[:=](?!\/\/)(.+)$/u;
/** A host or an address, and the sentence that begins after it without a space: `www.example.com.They`. */
const GLUED = /^((?:https?:\/\/|www\.|[\w.+-]{1,64}@)[a-z\d.-]{1,253})\.(\p{Lu}\p{Ll}{2,20})$/u;
const GROUPED = /^\D{0,3}(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d{1,2})\D{0,3}$/;

let segmenter: Intl.Segmenter | undefined;

export function readWords(text: string): string[] {
  const words: string[] = [];
  for (const [piece] of text.normalize('NFKC').matchAll(PIECE)) {
    const isList = piece.includes(',') && !GROUPED.test(piece);
    for (const part of isList ? piece.split(',') : (GLUED.exec(piece)?.slice(1) ?? [piece]))
      addWord(part, words);
  }
  return words;
}

function addWord(piece: string, words: string[]): void {
  if (UNSPACED.test(piece)) {
    for (const word of segmentWords(piece)) words.push(word.toLowerCase());
    return;
  }
  const word = trim(piece, BEFORE_WORD, AFTER_WORD).replace(POSSESSIVE, '');
  const labeled = LABEL.exec(word);
  if (labeled !== null) {
    words.push((labeled[1] as string).toLowerCase());
    addWord(labeled[2] as string, words);
  } else if (word !== '') words.push(toNormalWord(word));
}

/** The segmenter takes the square of the length of its text: it is given so many characters of it. */
const SEGMENTED_CHARS = 512;

function* segmentWords(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter('zh', { granularity: 'word' });
  for (let at = 0; at < text.length; ) {
    const isLast = at + SEGMENTED_CHARS >= text.length;
    const found = [...segmenter.segment(text.slice(at, at + SEGMENTED_CHARS))];
    // The last word may go on: it is read with what follows.
    const next = isLast || found.length === 1 ? undefined : found.pop();
    for (const { segment, isWordLike } of found) if (isWordLike === true) yield segment;
    at += next?.index ?? SEGMENTED_CHARS;
  }
}

/** The text without these signs at its ends. A regular expression would take the square of the length of a run of them. */
function trim(text: string, before: ReadonlySet<string>, after: ReadonlySet<string>): string {
  let [start, end] = [0, text.length];
  while (start < end && before.has(text[start] as string)) start += 1;
  while (end > start && after.has(text[end - 1] as string)) end -= 1;
  return text.slice(start, end);
}

const NONE: ReadonlySet<string> = new Set();
const SLASH: ReadonlySet<string> = new Set('/');

/** Capitals count in identifiers and in paths of URLs, not in names and addresses. */
function toNormalWord(word: string): string {
  const url = /^([A-Za-z][\w+.-]{1,20}:\/\/[^/?#]*)(.*)$/.exec(word);
  if (url !== null) return trim((url[1] as string).toLowerCase() + (url[2] as string), NONE, SLASH);
  const isMixed = /\d/.test(word) && !word.includes('@') && /[a-z]/.test(word) && /[A-Z]/.test(word);
  return isMixed ? word : word.toLowerCase();
}

/** Names a thing by itself: an address, a link, an identifier, a number. */
export const namesThing = (word: string): boolean => /[\d@]|\p{L}[./:]\p{L}/u.test(word);

export const joinWords = (words: readonly string[]): string => BREAK + words.join(BREAK) + BREAK;

export const isOneWord = (joined: string): boolean =>
  joined !== '' && joined.indexOf(BREAK, 1) === joined.length - 1;

/** Readers of values take so many of a text: it is read in pieces. */
const PIECE_CHARS = 1_000;
/** Values in what has no space for so long are not read. */
export const MAX_PIECE_CHARS = 8_192;

/** The pieces of a text, cut between words, or where there is no space for more than {@link MAX_PIECE_CHARS}. */
export function* cutPieces(text: string): Generator<string> {
  const space = /\s/g;
  for (let at = 0, found = -1; at < text.length; ) {
    space.lastIndex = at + PIECE_CHARS;
    if (found < at + PIECE_CHARS) found = space.exec(text)?.index ?? text.length;
    const end = Math.min(found, at + MAX_PIECE_CHARS + 1);
    yield text.slice(at, end);
    at = end;
  }
}

const MAY_HOLD_VALUE = /[\d一-龥]|\p{L}{3}/u;

/** What the values of a piece are found by. */
export function readValueKeys(text: string): string[] {
  if (text.length > MAX_PIECE_CHARS || !MAY_HOLD_VALUE.test(text)) return [];
  return keyedValuesIn(text).flatMap(({ keys }) => keys.map(toKey));
}

export const toKey = (key: string): string => VALUE + key;

/** What a text stands for when it is decoded: percent escapes, base64. Itself first. */
export function readForms(text: string): string[] {
  const forms = [text];
  if (/%[0-9A-Fa-f]{2}/.test(text)) {
    try {
      forms.push(decodeURIComponent(text.replaceAll('+', ' ')));
    } catch {
      // A stray percent sign.
    }
  }
  const decoded = decodeBase64(text);
  if (decoded !== undefined) forms.push(decoded);
  return forms;
}

const BASE64 = /^[A-Za-z0-9+/_-]{8,8192}={0,2}$/;

function decodeBase64(text: string): string | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const isExact =
    bytes.toString('base64').replace(/=+$/, '') ===
    text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  if (!isExact) return undefined;
  const decoded = bytes.toString('utf8');
  return /[\p{Cc}\ufffd]/u.test(decoded) ? undefined : decoded;
}
