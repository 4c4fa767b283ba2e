import {
  ADMISSIONS,
  ADVICE,
  GENERAL,
  HEDGES,
  IMPERATIVES,
  NO_ADMISSION,
  type Passage,
  readPassage,
} from '../phrases/index.ts';
import { sentenceEnds } from '../support/index.ts';

/**
 * What a sentence of an answer is. Only `claim` says what was done or found here; `request` asks the user for something;
 * `label` stands over others.
 */
export type SentenceKind = 'claim' | 'question' | 'request' | 'plan' | 'label' | 'code' | 'quote';

/** A sentence of the answer, with its place in UTF-16 code units and its words. */
export interface Sentence extends Passage {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly kind: SentenceKind;
  /** A member of a list, or a row of a table. */
  readonly isItem: boolean;
}

const MAX_ANSWER_CHARS = 16_384;
/** Longer sentences are read up to here, so that work on a sentence is bounded. */
const MAX_SENTENCE_CHARS = 600;
const MAX_STATEMENTS = 240;

const FENCE = /^ {0,3}(?:```|~~~)/;
const HEADING = /^ {0,3}#{1,6}\s/;
/** A line that is bold as a whole, or a few words with a colon at its end. */
const LABEL = /^\W{0,6}(?:\*\*[^*\n]{1,120}\*\*\W{0,3}|[^\n.!?。]{1,80}[:：])\s*$/u;
/** Words that make a sentence of a line: "Both orders have been cancelled:". */
const HAS_VERB =
  /(?<!\p{L})(?:is|are|was|were|has|have|had|been|ist|sind|wurden?|hat|está|están|fue|est|sont|ont|foi|são|i|here)(?!\p{L})|['’](?:s|ve|re)\s|しました|了/iu;
const ITEM = /^\s{0,12}(?:[-*•+|✅✓☑❌⚠]|\d{1,2}[.)]\s)/u;
const QUOTE = /^ {0,3}> /;
const RULE = /^[\s|:*_=-]*$/;
/** A question mark, or the particle that Japanese has for it. */
const ASKS = /[?？]["'”’)\]*,\s]{0,4}$|(?:です|ます|ません|ましょう|でしょう)か[。.]?$/;

/** The sentences of an answer, sorted by what they are. */
export function listStatements(answer: string): readonly Sentence[] {
  const text = answer.slice(0, MAX_ANSWER_CHARS);
  const statements: Sentence[] = [];
  let isCode = false;
  for (let start = 0; start < text.length && statements.length < MAX_STATEMENTS; ) {
    const breakAt = text.indexOf('\n', start);
    const end = breakAt < 0 ? text.length : breakAt;
    const line = text.slice(start, end);
    if (FENCE.test(line)) isCode = !isCode;
    else if (isCode && statements.at(-1)?.kind === 'code') {
      // One for a whole block.
    } else if (line.trim() !== '' && !RULE.test(line)) {
      const isLabel = HEADING.test(line) || (LABEL.test(line) && !HAS_VERB.test(line));
      const fixed = isCode ? 'code' : isLabel ? 'label' : QUOTE.test(line) ? 'quote' : undefined;
      addLine(statements, text, start, end, fixed);
    }
    start = end + 1;
  }
  return statements;
}

function addLine(
  statements: Sentence[],
  text: string,
  start: number,
  end: number,
  fixed: SentenceKind | undefined,
): void {
  const line = text.slice(start, end);
  const isItem = ITEM.test(line);
  let from = start;
  const ends = fixed === undefined ? sentenceEnds(line) : [line.length];
  for (const relative of ends) {
    const to = start + relative;
    const raw = text.slice(from, to);
    if (/^\s*\d{1,2}[.)]$/.test(raw)) continue;
    const trimmed = raw.trim();
    if (trimmed !== '' && /[\p{L}\p{N}]/u.test(trimmed) && statements.length < MAX_STATEMENTS) {
      const at = from + raw.indexOf(trimmed[0] as string);
      const read = trimmed.slice(0, MAX_SENTENCE_CHARS).replace(/[*`]|(?<!\w)_|_(?!\w)/g, ' ');
      const passage = readPassage(read);
      statements.push({
        ...passage,
        start: at,
        end: at + trimmed.length,
        text: read,
        kind: fixed ?? toKind(passage, trimmed),
        isItem,
      });
    }
    from = to;
  }
}

function toKind(passage: Passage, text: string): SentenceKind {
  if (ASKS.test(text.slice(-12))) return 'question';
  if (isRequest(passage)) return 'request';
  return PLAN.test(passage.lower) ? 'plan' : 'claim';
}
/** "I'll cancel it", "Let me check": the first words make a plan of the whole. */
const PLAN = /^[^\p{L}\p{N}]*(?:(?:i|we)['’]ll|let|let['’]s|i[^\p{L}\p{N}]+will)(?!['’]?[\p{L}\p{N}])/u;

/** The first word that is no number and no greeting. */
const firstWord = ({ words }: Passage): number =>
  words.findIndex(({ text }) => !/^(?:\d+|and|then|also|first|finally|next|but|or)$/.test(text));

/** Asks for something. */
function isRequest(passage: Passage): boolean {
  const at = firstWord(passage);
  const [word = '', next = ''] = passage.words.slice(Math.max(0, at), at + 2).map(({ text }) => text);
  return at >= 0 && ASKING.test(word) && !/^(?:note|be|find|see)$/.test(next);
}
const ASKING =
  /^(?:please|confirm|reply|respond|provide|choose|tell|type|select|specify|verify|let|ask|check)$/;

/** Advice, an offer, an estimate or a general truth: facts in it are not held against the results. */
export const isAdvice = (statement: Sentence): boolean => GENERAL.has(statement) || isOffer(statement);
/** Of the words themselves, wherever they stand; "Contact 88 was updated" begins with its subject. */
export const isOffer = (statement: Sentence): boolean =>
  ADVICE.has(statement) ||
  (!SUBJECT.test(statement.lower) && IMPERATIVES.beginsAt(statement, firstWord(statement)));
const SUBJECT = /^\W{0,8}[a-z]{2,12} (?:\S{0,12}\d\S{0,12} )?(?:is|are|was|were|has|had)\b/;

/** Whether a word makes what follows a plan: not the month in "3 May", not "I can see that it was approved". */
export function isHedge(passage: Passage, i: number): boolean {
  if (!HEDGES.beginsAt(passage, i)) return false;
  const { words } = passage;
  const [before, word, next] = [words[i - 1]?.text ?? '', words[i]?.text ?? '', words[i + 1]?.text ?? ''];
  if (word === 'may') return !/^\d/.test(before) && !/^\d/.test(next);
  return !(word === 'can' && /^(?:i|we)$/.test(before) && /^(?:see|confirm|assure)$/.test(next));
}

const CONDITIONS: ReadonlySet<string> = new Set('if unless when whether until would'.split(' '));
/** The statement speaks of a case, not of what happened. */
export const isConditional = ({ words }: Passage): boolean => words.some(({ text }) => CONDITIONS.has(text));
/** A word of the statement makes a plan or a condition of it. */
export const isPlan = (statement: Sentence): boolean =>
  statement.kind === 'plan' ||
  statement.words.some((_, i) => isHedge(statement, i)) ||
  (statement.isUnspaced && HEDGES.find({ ...statement, words: [] }) !== undefined);

/** Whether a statement says that something failed, was refused, was not found or was left out. */
export function admitsFailure(statement: Passage): boolean {
  for (let from = 0; ; ) {
    const hit = ADMISSIONS.find(statement, from);
    if (hit === undefined) return false;
    const excuse = NO_ADMISSION.find(statement, 0);
    // "without any errors" holds "errors".
    if (excuse === undefined || hit.end <= excuse.start || hit.start >= excuse.end) return true;
    from = excuse.end;
  }
}
