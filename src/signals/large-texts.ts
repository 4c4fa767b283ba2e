/**
 * Long texts are hashed piece by piece, so that neither memory nor a turn of the event loop grows with them. Those of more
 * than a megabyte are scored on a sample of half a megabyte.
 */
import { createHash } from 'node:crypto';
import { type Steps, takeAll } from '../base/index.ts';
import { encodeAndNormalize, normalized, source } from './workspace.ts';

/** Longer texts are hashed in pieces wherever they can be cut, in UTF-16 code units. */
export const LARGE_CHARS = 1_048_576;
/** Longer texts are worth a step of their own, where a call is enriched in steps; a piece of this size takes about a millisecond. */
export const STEP_CHARS = 262_144;
/** How far after a piece a place is looked for at which the normal form can be cut. */
const SEARCH_CHARS = 65_536;

/** What is known of a text. */
export interface TextIdentity {
  /** SHA-256 of the text. */
  readonly hash: string;
  /** SHA-256 of its normal form. */
  readonly normalizedHash: string;
  readonly codePoints: number;
}

/**
 * Identifies a long text in steps of about a millisecond, five where its letters are not ASCII, and up to 16 in one step
 * where a text of up to a megabyte cannot be cut; other computations of this folder may run between two steps.
 * @param replaceVolatile see `normalize`.
 */
export function* identitySteps(text: string, replaceVolatile: boolean): Steps<TextIdentity> {
  const whole = createHash('sha256');
  const normal = createHash('sha256');
  let codePoints = 0;
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start);
    encodeAndNormalize(text.slice(start, end), replaceVolatile);
    whole.update(source.bytes.subarray(0, source.length));
    normal.update(normalized.bytes.subarray(0, normalized.length));
    codePoints += source.codePoints();
    start = end;
    yield undefined;
  }
  return { hash: whole.digest('hex'), normalizedHash: normal.digest('hex'), codePoints };
}

/** As {@link identitySteps}, at once. */
export function textIdentity(text: string, replaceVolatile: boolean): TextIdentity {
  return takeAll(identitySteps(text, replaceVolatile));
}

/** Bytes of a text that is hashed whole while a caller waits. */
const MAX_AT_ONCE = 8_388_608;

/** What is known of a text where the caller waits, and the share of the text that was read for it. */
export interface BoundedIdentity {
  readonly identity: TextIdentity;
  readonly share: number;
}

/**
 * As {@link textIdentity}, in less than about 25 ms: a text that takes longer is known by its length and a sample; of one
 * of up to eight megabytes that is so for its normal form alone. Whether it takes longer depends on the text
 * alone, so that equal texts keep equal hashes.
 */
export function boundedIdentity(text: string, replaceVolatile: boolean): BoundedIdentity {
  const bytes = toBytes(text);
  const isShort = bytes <= MAX_AT_ONCE;
  const mayBeAscii = isShort && bytes === text.length;
  const whole = mayBeAscii ? identityOfAscii(text, replaceVolatile) : undefined;
  if (whole !== undefined) return { identity: whole, share: 1 };
  const sample = takeSample(text);
  const { hash, normalizedHash, codePoints } = textIdentity(`${text.length}\n${sample}`, replaceVolatile);
  const rest = `${text.length}\n`.length;
  return {
    identity: {
      hash: isShort ? createHash('sha256').update(text, 'utf8').digest('hex') : hash,
      normalizedHash,
      codePoints: Math.round((text.length * (codePoints - rest)) / sample.length),
    },
    share: sample.length / text.length,
  };
}

/** Undefined for other texts, whose normal form takes ten times as long. */
function identityOfAscii(text: string, replaceVolatile: boolean): TextIdentity | undefined {
  const steps = identitySteps(text, replaceVolatile);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (!source.ascii) return undefined;
  }
}

/**
 * Where the piece that begins at `start` ends. Where a text cannot be cut, as one of digits, a large one is cut anywhere;
 * that depends on the text alone, so that equal texts keep equal hashes.
 */
function endOfPiece(text: string, start: number): number {
  const from = start + STEP_CHARS;
  if (from >= text.length) return text.length;
  const cut = cutAfter(text, from);
  if (cut !== undefined) return cut;
  if (text.length <= LARGE_CHARS) return text.length;
  return isLowSurrogate(text.charCodeAt(from)) ? from + 1 : from;
}

/**
 * The first place from `from` on, in 64 KiB, at which a text can be cut without a change to the normal forms of its parts:
 * between two letters that no UUID and no timestamp has, or after punctuation.
 */
function cutAfter(text: string, from: number): number | undefined {
  const last = Math.min(text.length, from + SEARCH_CHARS);
  for (let at = from; at < last; at += 1) {
    const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
    if (isPlainLetter(before) ? isPlainLetter(after) : ENDS.has(before) && after > 0x20 && after < 0x7f)
      return at;
  }
  return undefined;
}

/** Punctuation that no pattern has and that is nothing between letters; what follows it is no white space. */
const ENDS: ReadonlySet<number> = new Set(Array.from('"{}[]()<>;,|=', (mark) => mark.charCodeAt(0)));

/** ASCII without hexadecimal digits, T and Z; Cyrillic, Chinese, kana and Hangul. */
function isPlainLetter(unit: number): boolean {
  if (unit < 0x80) {
    const lower = unit | 0x20;
    return lower >= 0x67 && lower <= 0x79 && lower !== 0x74;
  }
  return (
    (unit >= 0x410 && unit <= 0x44f) ||
    (unit >= 0x3041 && unit <= 0x3096) ||
    (unit >= 0x30a1 && unit <= 0x30fa) ||
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3)
  );
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** Blocks of a sample, at equal distances. */
const BLOCKS = 64;
/**
 * Texts of more work are sampled, and the work of a sample: a letter of ASCII is one, and each byte that a letter takes
 * beyond the first is two more, because its normal form takes that much longer.
 */
const LARGE_WORK = 1_048_576;
const SAMPLE_WORK = 524_288;
const WORK_OF_BYTE = 2;
/** The work of a UTF-16 code unit at most: three bytes. */
const MOST_WORK_OF_CHAR = 1 + 2 * WORK_OF_BYTE;
/** How much of each block tells how many bytes the characters of a text take. */
const PROBE_CHARS = 256;

/** The text itself, or of one of more than a megabyte the parts by which it is scored. */
export function takeSample(text: string): string {
  const share = computeShare(text);
  return share === 1 ? text : toBlocks(text, Math.floor((text.length * share) / BLOCKS));
}

/** The share of the texts that is scored, 0 to 1; of the one that is read least. */
export function sampledShare(texts: readonly (string | undefined)[]): number {
  return Math.min(...texts.map((text) => (text === undefined ? 1 : computeShare(text))));
}

function computeShare(text: string): number {
  if (text.length * MOST_WORK_OF_CHAR <= LARGE_WORK) return 1;
  const work = text.length + (toBytes(text) - text.length) * WORK_OF_BYTE;
  return work <= LARGE_WORK ? 1 : SAMPLE_WORK / work;
}

/** How many bytes a long text takes in UTF-8; of one that is large anyway about how many. */
function toBytes(text: string): number {
  if (text.length <= LARGE_CHARS) return Buffer.byteLength(text);
  const probe = toBlocks(text, PROBE_CHARS);
  return (text.length * Buffer.byteLength(probe)) / probe.length;
}

function toBlocks(text: string, chars: number): string {
  const distance = (text.length - chars) / (BLOCKS - 1);
  const blocks = Array.from({ length: BLOCKS }, (_, i) => {
    const start = Math.floor(i * distance);
    return text.slice(start, start + chars);
  });
  return blocks.join('\n');
}

/** Whether reading these texts at once would hold the event loop for many milliseconds. */
export const areLong = (texts: readonly (string | undefined)[]): boolean =>
  texts.some((text) => text !== undefined && text.length > STEP_CHARS);
