import { countTokens, type Encoding, hasVocabulary, loadVocabulary } from './bpe.ts';
import { SPACE, toClass } from './unicode.ts';

/** Models by name prefix, in order of precedence. Names are lower-cased and unprefixed. */
const ENCODINGS: readonly (readonly [prefix: RegExp, encoding: Encoding])[] = [
  [/^(gpt-4o|gpt-4\.\d|gpt-[5-9]|gpt-oss|chatgpt|o[1-9](-|$)|codex-mini|computer-use)/, 'o200k_base'],
  [/^(gpt-4|gpt-3\.5|gpt-35|text-embedding-(3|ada-002))/, 'cl100k_base'],
];

/** Up to so many bytes of UTF-8 a text is tokenized whole, which takes up to about 15 ms, in Chinese. */
const TOKENIZED_BYTES = 32_768;
/** Of longer texts so many characters are, in samples. */
const TOKENIZED_SAMPLE = 8_192;
/** The heuristic counts so many characters of a text. */
const COUNTED_CHARACTERS = 262_144;

/** Number of evenly spread samples. */
const SAMPLES = 16;

/** Characters per token of the heuristic. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Estimates the tokens of a text when the provider reported none.
 *
 * For OpenAI's models it is the count of their tokenizer, with special tokens counted as ordinary text. Beyond 32,768
 * bytes of UTF-8 the count of 16 samples of 512 UTF-16 units is scaled up. The tokenizer is loaded on first use, which takes about 0.1 s and
 * 30 MB.
 *
 * For every other model, and without one, it is a quarter of the code points, rounded up, white space collapsed and
 * trimmed: 0 for an empty text, at least 1 for any other. Beyond 262,144 UTF-16 units samples are scaled up here too.
 */
export function estimateTokens(text: string, model?: string): number {
  const encoding = model === undefined ? undefined : findEncoding(model);
  if (encoding === undefined) return heuristicTokens(text);
  try {
    const isShort = text.length <= TOKENIZED_BYTES && Buffer.byteLength(text) <= TOKENIZED_BYTES;
    if (isShort) return countTokens(text, encoding);
    return countSamples(text, TOKENIZED_SAMPLE, (part) => countTokens(part, encoding));
  } catch {
    // A bundled application may lack the vocabulary.
    return heuristicTokens(text);
  }
}

/** Whether {@link estimateTokens} counts the texts of a model at once, without reading a vocabulary first. */
export function canCountTokens(model: string): boolean {
  const encoding = findEncoding(model);
  return encoding === undefined || hasVocabulary(encoding);
}

/** Reads the vocabulary of a model in the background, if it has one. */
export async function prepareToCountTokens(model: string): Promise<void> {
  const encoding = findEncoding(model);
  if (encoding !== undefined) await loadVocabulary(encoding);
}

/** About what `count` gives for a long text, from samples of so many UTF-16 units in all. */
function countSamples(text: string, units: number, count: (part: string) => number): number {
  const size = units / SAMPLES;
  const stride = (text.length - size) / (SAMPLES - 1);
  let counted = 0;
  for (let i = 0; i < SAMPLES; i += 1) {
    const start = Math.floor(i * stride);
    counted += count(text.slice(start, start + size));
  }
  return Math.round((counted * text.length) / units);
}

/** The encoding of a model, ignoring prefixes for gateways, deployments and fine-tunes. */
function findEncoding(model: string): Encoding | undefined {
  const name = model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(ft:|(.*\.)?openai\.)/, '');
  return ENCODINGS.find(([prefix]) => prefix.test(name))?.[1];
}

/** `ceil(code points / 4)` of the text with white space collapsed and trimmed. */
function heuristicTokens(text: string): number {
  if (text === '') return 0;
  const characters =
    text.length <= COUNTED_CHARACTERS
      ? collapsedCodePoints(text)
      : countSamples(text, COUNTED_CHARACTERS, collapsedCodePoints);
  return Math.max(1, Math.ceil(characters / CHARACTERS_PER_TOKEN));
}

function collapsedCodePoints(text: string): number {
  let characters = 0;
  let gap = false;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if ((toClass(code) & SPACE) !== 0) {
      gap = characters > 0;
      continue;
    }
    if (gap) characters += 1;
    gap = false;
    characters += 1;
    // The second half of a surrogate pair is not a code point.
    if (code >= 0xd800 && code < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i += 1;
  }
  return characters;
}
