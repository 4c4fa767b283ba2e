import { encodeAndNormalize, normalized, release, source } from './workspace.ts';

/**
 * Hashes that identify texts: SHA-256 in lower-case hex. Texts are hashed as UTF-8; a lone surrogate, which UTF-8
 * cannot hold, counts as U+FFFD, as everywhere in Node.
 */

/** Hash of the exact prompt. */
export function promptHash(prompt: string): string {
  const hash = source.encode(prompt).sha256();
  release();
  return hash;
}

/**
 * The prompt without what changes from run to run: UUIDs (versions 1 to 5) become `<uuid>`, ISO 8601 dates and times
 * `<timestamp>`, other whole numbers and decimals `<number>`; then runs of white space become one space, the ends are
 * trimmed and the rest is lower-cased. White space, digits, word boundaries and case are those of Unicode 14.
 */
export function normalizePrompt(prompt: string): string {
  encodeAndNormalize(prompt, true);
  const text = normalized.toString();
  release();
  return text;
}

/** Hash of the normalized prompt: the same for prompts that differ in ids, times and numbers only. */
export function normalizedPromptHash(prompt: string): string {
  encodeAndNormalize(prompt, true);
  const hash = normalized.sha256();
  release();
  return hash;
}

/** Hash of the answer, lower-cased, white space collapsed and trimmed. */
export function answerHash(answer: string): string {
  encodeAndNormalize(answer, false);
  const hash = normalized.sha256();
  release();
  return hash;
}

/** Size of a prompt in code points; a lone surrogate is one. */
export function promptSizeChars(prompt: string): number {
  const size = source.encode(prompt).codePoints();
  release();
  return size;
}
