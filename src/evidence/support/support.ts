import { type Alignment, Source } from './source.ts';
import { CONTENT, NAME, NUMBER, Tokenizer, type Tokens, tokenSentences } from './tokens.ts';

export interface SupportInput {
  readonly prompt: string;
  readonly answer: string;
  /** What the answer should stand on. */
  readonly source: string;
}

export type SupportKind = 'unsupported_number' | 'unsupported_name';

/** Words of the answer that its best passage does not support, in UTF-16 code units. */
export interface SupportFinding {
  readonly kind: SupportKind;
  readonly start: number;
  readonly end: number;
  /** Place of the best passage in the source. */
  readonly startContext?: number;
  readonly endContext?: number;
}

export interface Support {
  /** How unlikely the answer is to stand on its sources, 0 to 1. */
  readonly risk: number;
  /** How many sentences there are, and how many of them have no finding and half of their words in one passage. */
  readonly checked: number;
  readonly found: number;
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
const WEIGHTS = {
  newPairs: 1.2,
  strangeWords: 1.8,
  strangeness: 1.4,
  newNames: 1,
  newNumbers: 1.6,
  opposites: 5,
  /** Longer answers have more strange words. */
  sentences: -0.5,
} as const;
type Feature = keyof typeof WEIGHTS;
const BIAS = -4.05;

/** "(Passage 2)", "passages 1 and 3", "[4]": said of the sources, not with them. */
const CITED =
  /\(?\b(?:passages?|documents?|sources?|excerpts?|snippets?|references?) ?\d{1,2}(?:(?:,| and|,? ?&|,? or) ?\d{1,2}){0,8}\)?|\[\d{1,2}(?:, ?\d{1,2}){0,8}\]/gi;

/** Holds an answer against its sources, sentence by sentence. `undefined` without sources or without a statement. */
export function computeSupport({ prompt, answer, source: whole }: SupportInput): Support | undefined {
  const given = takeSample(whole);
  // A retrieval that found nothing is evidence too: what is left to stand on is what the user said.
  const { text, sampled, placeOf } = given.text.trim() === '' ? takeSample(prompt) : given;
  const tokenizer = new Tokenizer();
  const sentences = tokenSentences(
    answer.slice(0, MAX_ANSWER_CHARS).replace(CITED, (cited) => ' '.repeat(cited.length)),
    tokenizer,
  )
    .slice(0, MAX_SENTENCES)
    .map(beginning);
  const ids = 1 + sentences.reduce((most, sentence) => Math.max(most, ...sentence.ids), -1);
  const source = new Source(tokenizer, ids, text, prompt.slice(-MAX_PROMPT_CHARS));
  if (source.size === 0 || sentences.length === 0) return undefined;

  const read = sentences.map((sentence) => source.align(sentence));
  const features = computeFeatures(sentences, read, source);
  let score = BIAS;
  for (const name of Object.keys(WEIGHTS) as Feature[]) score += WEIGHTS[name] * features[name];
  const bySentence = read.map((one, i) => listFindings(sentences[i] as Tokens, one, source, placeOf));
  const isFound = ({ words, supported }: Alignment, i: number) =>
    bySentence[i]?.length === 0 && supported >= words * SUPPORTED_SHARE;
  return {
    risk: 1 / (1 + Math.exp(-score)),
    checked: sentences.length,
    found: read.filter(isFound).length,
    findings: bySentence.flat().slice(0, MAX_FINDINGS),
    sampled,
  };
}

const beginning = ({ ids, starts, ends, flags }: Tokens): Tokens => ({
  ids: ids.slice(0, MAX_SENTENCE_TOKENS),
  starts: starts.slice(0, MAX_SENTENCE_TOKENS),
  ends: ends.slice(0, MAX_SENTENCE_TOKENS),
  flags: flags.slice(0, MAX_SENTENCE_TOKENS),
});

function computeFeatures(
  sentences: readonly Tokens[],
  read: readonly Alignment[],
  source: Source,
): Record<Feature, number> {
  const content = new Map<number, number>();
  for (const { ids, flags } of sentences)
    for (const [i, id] of ids.entries()) {
      const flag = flags[i] as number;
      if ((flag & CONTENT) !== 0) content.set(id, flag);
    }
  let [missing, numbers] = [0, 0];
  for (const [id, flag] of content) {
    if (!source.has(id)) missing++;
    if ((flag & NUMBER) !== 0 && !source.supports(id)) numbers++;
  }
  const all = Math.max(1, content.size);
  const names = sentences.reduce((sum, sentence) => sum + newNames(sentence, source).length, 0);
  return {
    newPairs: source.newPairs(sentences) ?? missing / all,
    strangeWords: Math.log1p(missing),
    strangeness: missing / all,
    newNames: Math.log1p(names),
    newNumbers: Math.log1p(numbers),
    opposites: read.reduce((sum, one) => sum + one.opposites, 0) / sentences.length,
    sentences: Math.log1p(sentences.length),
  };
}

/** Indices of tokens that have all these flags and that nothing supports. */
function unsupported({ ids, flags }: Tokens, needed: number, source: Source, from = 0): readonly number[] {
  const found: number[] = [];
  for (let i = from; i < ids.length; i++)
    if (((flags[i] as number) & needed) === needed && !source.supports(ids[i] as number)) found.push(i);
  return found;
}

/** The first word of a sentence begins with a capital letter anyway. */
const newNames = (sentence: Tokens, source: Source): readonly number[] =>
  unsupported(sentence, NAME | CONTENT, source, 1);

/** Below this share of words in one passage a sentence is not found there. */
const SUPPORTED_SHARE = 0.5;

function listFindings(
  sentence: Tokens,
  read: Alignment,
  source: Source,
  placeOf: (offset: number) => number,
): readonly SupportFinding[] {
  const [from, to] = read.passage ?? [];
  const context = from !== undefined &&
    to !== undefined && {
      startContext: placeOf(source.placeOf(from)[0]),
      endContext: placeOf(source.placeOf(to)[1] - 1) + 1,
    };
  const { starts, ends, flags } = sentence;
  const at = (kind: SupportKind, first: number, last: number): SupportFinding => ({
    kind,
    start: starts[first] as number,
    end: ends[last] as number,
    ...context,
  });
  return [
    ...unsupported(sentence, NUMBER, source).map((i) => at('unsupported_number', i, i)),
    ...newNames(sentence, source)
      .filter((i) => ((flags[i] as number) & NUMBER) === 0)
      .map((i) => at('unsupported_name', i, i)),
  ];
}

interface Sample {
  readonly text: string;
  readonly sampled: number;
  readonly placeOf: (offset: number) => number;
}

function takeSample(whole: string): Sample {
  if (whole.length <= MAX_SOURCE_CHARS) {
    return { text: whole, sampled: 1, placeOf: (offset) => offset };
  }
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
