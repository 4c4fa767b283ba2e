import { type Alignment, Source } from './source.ts';
import { type Token, Tokenizer, tokenSentences } from './tokens.ts';

/** Words of the answer that its best passage does not support. */
export interface SupportFinding {
  readonly kind: 'unsupported_number' | 'unsupported_name';
  readonly start: number;
  readonly end: number;
  /** Place of the best passage in the documents, if it is among the first million UTF-16 units. */
  readonly startContext?: number;
  readonly endContext?: number;
}

export interface Support {
  /** How unlikely the answer is to stand on its sources, 0 to 1. */
  readonly risk: number;
  /** How many sentences there are, and how many of them have no finding and half of their words in one passage. */
  readonly checked: number;
  readonly found: number;
  /** Their places count UTF-16 code units. */
  readonly findings: readonly SupportFinding[];
  /** Share of the sources that was read, 0 to 1. */
  readonly sampled: number;
}

/** Larger sources are sampled: blocks at equal distances. */
const MAX_SOURCE_CHARS = 24_576;
const BLOCK_CHARS = 1024;
const MAX_ANSWER_CHARS = 6144;
const MAX_PROMPT_CHARS = 4096;
const MAX_SENTENCES = 64;
const MAX_SENTENCE_TOKENS = 80;
const MAX_FINDINGS = 32;

/** Weights of the features. `docs/scores.md` has how well the risk tells true answers from others. */
const WEIGHTS = { newPairs: 2.2, strangeness: 3.1, apart: 0.5, newNames: 2.2, newNumbers: 4 };
const BIAS = -4;

/** "(Passage 2)", "passages 1 and 3", "[4]": said of the sources, not with them. */
const CITED =
  /\(?\b(?:passages?|documents?|sources?|excerpts?|snippets?|references?) ?\d{1,2}(?:(?:,| and|,? ?&|,? or) ?\d{1,2}){0,8}\)?|\[\d{1,2}(?:, ?\d{1,2}){0,8}\]/gi;

/** Holds an answer against its sources, sentence by sentence. `undefined` without sources or without a statement. */
export function computeSupport(prompt: string, answer: string, whole: string): Support | undefined {
  const given = takeSample(whole);
  // A retrieval that found nothing is evidence too: what is left to stand on is what the user said.
  const { text, sampled, placeOf } = given.text.trim() === '' ? takeSample(prompt) : given;
  const tokenizer = new Tokenizer();
  const sentences = tokenSentences(
    answer.slice(0, MAX_ANSWER_CHARS).replace(CITED, (cited) => ' '.repeat(cited.length)),
    tokenizer,
    MAX_SENTENCE_TOKENS,
  ).slice(0, MAX_SENTENCES);
  const limit = sentences.flat().reduce((most, { id }) => Math.max(most, id + 1), 0);
  const source = new Source(tokenizer, limit, text, prompt.slice(-MAX_PROMPT_CHARS));
  if (source.size === 0 || sentences.length === 0) return undefined;

  const read = sentences.map((sentence) => {
    const alignment = source.align(sentence);
    const findings = listFindings(sentence, alignment, source, placeOf);
    const isFound = findings.length === 0 && alignment.supported >= alignment.words * SUPPORTED_SHARE;
    return { findings, isFound, apart: alignment.words - alignment.supported };
  });
  const apart = read.reduce((sum, one) => sum + one.apart, 0);
  return {
    risk: computeRisk(sentences, source, apart),
    checked: sentences.length,
    found: read.filter(({ isFound }) => isFound).length,
    findings: read.flatMap(({ findings }) => findings).slice(0, MAX_FINDINGS),
    sampled,
  };
}

/** Words that the best passage of their sentence has not are `apart`: facts of several places may be joined. */
function computeRisk(sentences: readonly (readonly Token[])[], source: Source, apart: number): number {
  const content = new Map(sentences.flat().flatMap((one) => (one.isContent ? [[one.id, one] as const] : [])));
  const missing = [...content.values()].filter(({ id }) => !source.has(id));
  const strangeness = missing.length / Math.max(1, content.size);
  const numbers = missing.filter(({ id, isNumber }) => isNumber && !source.supports(id));
  const names = sentences.reduce((sum, sentence) => sum + newNames(sentence, source).length, 0);
  const score =
    BIAS +
    WEIGHTS.newPairs * (source.newPairs(sentences) ?? strangeness) +
    WEIGHTS.strangeness * strangeness +
    WEIGHTS.apart * Math.log1p(apart) +
    WEIGHTS.newNames * Math.log1p(names) +
    WEIGHTS.newNumbers * Math.log1p(numbers.length);
  return 1 / (1 + Math.exp(-score));
}

/** The first word of a sentence begins with a capital letter anyway. */
const newNames = (sentence: readonly Token[], source: Source): readonly Token[] =>
  sentence.filter(({ id, isName, isContent }, i) => i > 0 && isName && isContent && !source.supports(id));

/** Below this share of words in one passage a sentence is not found there. */
const SUPPORTED_SHARE = 0.5;

function listFindings(
  sentence: readonly Token[],
  { passage }: Alignment,
  source: Source,
  placeOf: (offset: number) => number,
): readonly SupportFinding[] {
  const context = passage !== undefined && {
    startContext: placeOf(passage[0]),
    endContext: placeOf(passage[1] - 1) + 1,
  };
  const numbers = sentence.filter(({ id, isNumber }) => isNumber && !source.supports(id));
  return [...numbers, ...newNames(sentence, source)].map(({ start, end, isNumber }) => ({
    kind: isNumber ? 'unsupported_number' : 'unsupported_name',
    start,
    end,
    ...context,
  }));
}

interface Sample {
  readonly text: string;
  readonly sampled: number;
  readonly placeOf: (offset: number) => number;
}

function takeSample(whole: string): Sample {
  if (whole.length <= MAX_SOURCE_CHARS) return { text: whole, sampled: 1, placeOf: (offset) => offset };
  const blocks = MAX_SOURCE_CHARS / BLOCK_CHARS;
  const distance = (whole.length - BLOCK_CHARS) / (blocks - 1);
  const starts = Array.from({ length: blocks }, (_, i) => Math.floor(i * distance));
  return {
    text: starts.map((start) => whole.slice(start, start + BLOCK_CHARS)).join('\n'),
    sampled: MAX_SOURCE_CHARS / whole.length,
    placeOf: (offset) => {
      const block = Math.min(blocks - 1, Math.floor(offset / (BLOCK_CHARS + 1)));
      return (starts[block] as number) + Math.min(BLOCK_CHARS, offset - block * (BLOCK_CHARS + 1));
    },
  };
}
