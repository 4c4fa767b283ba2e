/**
 * What a reader does not see of Markdown and HTML in a text: the marks of emphasis and code, the address behind a link,
 * tags that only format, and entities. Marks that change what is said, such as those of struck out text, stay.
 */

/** A stretch of a text that a reader sees as another text. */
export interface Fold {
  readonly length: number;
  readonly text: string;
}

const CANDIDATE = /[*_`\]<&]|[-\u2010]\r?\n/;

/** Where a text reads otherwise than it is written, by offset. In time that grows with the length of the text. */
export function readMarkup(text: string): ReadonlyMap<number, Fold> {
  const folds = new Map<number, Fold>();
  if (!CANDIDATE.test(text)) return folds;
  foldMarks(text, folds);
  foldLinks(text, folds);
  for (const { index, 0: tag, 1: name = '' } of text.matchAll(TAG)) {
    const lower = name.toLowerCase();
    if (INLINE_TAGS.has(lower)) folds.set(index, { length: tag.length, text: '' });
    else if (BLOCK_TAGS.has(lower)) folds.set(index, { length: tag.length, text: ' ' });
  }
  for (const { index, 0: entity, 1: name = '' } of text.matchAll(ENTITY)) {
    const char = charOfEntity(name);
    if (char !== undefined) folds.set(index, { length: entity.length, text: char });
  }
  for (const { index, 0: hyphen } of text.matchAll(LINE_HYPHEN))
    folds.set(index, { length: hyphen.length, text: '' });
  return folds;
}

/** A word divided at the end of its line. */
const LINE_HYPHEN = /(?<=\p{Ll})[-\u2010]\r?\n[ \t]{0,16}(?=\p{Ll})/gu;

/** Elements of HTML's phrasing content that change nothing of what is said; `del`, `s` and `q` do. */
const INLINE_TAGS: ReadonlySet<string> = new Set(
  'a abbr b bdi code em font i kbd mark samp small span strong u var wbr'.split(' '),
);
const BLOCK_TAGS: ReadonlySet<string> = new Set(
  'article blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tbody td th thead tr ul'.split(
    ' ',
  ),
);
const TAG = /<\/?([a-zA-Z][a-zA-Z0-9]{0,15})(?:\s[^<>]{0,500})?\/?>/g;

/** The entities of XML, and those of HTML that stand for white space and punctuation. */
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['hellip', '...'],
  ['ndash', '-'],
  ['mdash', '-'],
  ['lsquo', "'"],
  ['rsquo', "'"],
  ['ldquo', '"'],
  ['rdquo', '"'],
]);
const ENTITY = /&(#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-z]{2,6});/g;

function charOfEntity(name: string): string | undefined {
  if (!name.startsWith('#')) return ENTITIES.get(name);
  const isHex = /^#x/i.test(name);
  const code = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10);
  const isCharacter = code >= 0x20 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}

/** A run of one mark: of emphasis (`*`, `_`), or of code. Three are the most that Markdown combines. */
const MARKS = /([*_`])\1{0,7}/g;

/** Pairs of marks within a line, by the rules of CommonMark for runs that open and close. */
function foldMarks(text: string, folds: Map<number, Fold>): void {
  const open = new Map<string, number>();
  let lineEnd = -1;
  for (const { index, 0: run, 1: mark = '' } of text.matchAll(MARKS)) {
    if (index > lineEnd) {
      open.clear();
      const next = text.indexOf('\n', index);
      lineEnd = next < 0 ? text.length : next;
    }
    const before = text.charAt(index - 1);
    const after = text.charAt(index + run.length);
    const opener = open.get(run);
    if (opener !== undefined && (mark === '`' || canClose(before, after))) {
      for (const at of [opener, index]) folds.set(at, { length: run.length, text: '' });
      open.delete(run);
    } else if (run.length <= 3 && (mark === '`' || canOpen(before, after))) open.set(run, index);
  }
}

const canOpen = (before: string, after: string): boolean => /[^\s*_]/.test(after) && !WORDY.test(before);
const canClose = (before: string, after: string): boolean => /[^\s*_]/.test(before) && !WORDY.test(after);
/** A letter or digit, other than of scripts that put no spaces around words. */
const WORDY = /(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}]/u;

/** `[words](address)` and `![words](address)` read as the words. */
function foldLinks(text: string, folds: Map<number, Fold>): void {
  for (const { index, 0: rest } of text.matchAll(LINK_END)) {
    const from = text.lastIndexOf('[', index);
    if (from < Math.max(0, index - MAX_LINK_WORDS) || text.slice(from, index).includes('\n')) continue;
    const isImage = text.charAt(from - 1) === '!';
    folds.set(isImage ? from - 1 : from, { length: isImage ? 2 : 1, text: '' });
    folds.set(index, { length: rest.length, text: '' });
  }
}

const MAX_LINK_WORDS = 300;
const LINK_END = /\]\([^()\s<>[\]]{1,2000}\)/g;
