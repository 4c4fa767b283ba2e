import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress, brotliDecompressSync } from 'node:zlib';
import { packageFile, type Steps, takeAll, takeInSlices } from '../base/index.ts';

/** Encodings of OpenAI's models. */
export type Encoding = 'o200k_base' | 'cl100k_base';

interface Vocabulary {
  /** Splits a text into pieces, which are encoded one by one. */
  readonly pattern: RegExp;
  /** Rank of each token by its bytes, as a string of one character per byte. A lower rank is merged first. */
  readonly ranks: ReadonlyMap<string, number>;
}

/**
 * Longer pieces are cut, since merging takes time quadratic in a piece. They are runs without a space or punctuation;
 * a cut adds at most a token.
 */
const MAX_PIECE_BYTES = 256;

const NOT_ASCII = /[^\0-\x7f]/;

const vocabularies = new Map<Encoding, Vocabulary>();

/** The number of tokens of a text; special tokens in it are text like any other. */
export function countTokens(text: string, encoding: Encoding): number {
  const { pattern, ranks } = toVocabulary(encoding);
  let tokens = 0;
  for (const [piece] of text.matchAll(pattern)) {
    const bytes = NOT_ASCII.test(piece) ? Buffer.from(piece, 'utf8').toString('latin1') : piece;
    if (ranks.has(bytes)) tokens += 1;
    else {
      for (let start = 0; start < bytes.length; start += MAX_PIECE_BYTES) {
        tokens += countMerged(bytes.slice(start, start + MAX_PIECE_BYTES), ranks);
      }
    }
  }
  return tokens;
}

function toVocabulary(encoding: Encoding): Vocabulary {
  let vocabulary = vocabularies.get(encoding);
  if (vocabulary === undefined) {
    // Synchronously: it is needed as a span ends.
    vocabulary = takeAll(
      parseInSteps(brotliDecompressSync(readFileSync(packageFile(`vocabularies/${encoding}.br`)))),
    );
    vocabularies.set(encoding, vocabulary);
  }
  return vocabulary;
}

/** Whether texts of an encoding are counted at once, without reading its vocabulary first. */
export function hasVocabulary(encoding: Encoding): boolean {
  return vocabularies.has(encoding);
}

/** What is being read in the background: several who ask for it meanwhile wait for one reading. */
const readings = new Map<Encoding, Promise<void>>();

/** Reads a vocabulary in the background, in slices of a few milliseconds. */
export async function loadVocabulary(encoding: Encoding): Promise<void> {
  if (vocabularies.has(encoding)) return;
  const reading = readings.get(encoding) ?? readVocabulary(encoding).finally(() => readings.delete(encoding));
  readings.set(encoding, reading);
  await reading;
}

async function readVocabulary(encoding: Encoding): Promise<void> {
  const packed = await readFile(packageFile(`vocabularies/${encoding}.br`));
  const file: Buffer = await promisify(brotliDecompress)(packed);
  vocabularies.set(encoding, await takeInSlices(parseInSteps(file)));
}

/** Tokens read in one step. */
const STEP = 8_192;

/** Reads a vocabulary in the form of `scripts/build-vocabularies.ts`. */
function* parseInSteps(file: Buffer): Steps<Vocabulary> {
  const lengths = file.indexOf('\n') + 1;
  let start = file.indexOf(0, lengths) + 1;
  const ranks = new Map<string, number>();
  for (let rank = 0; file[lengths + rank] !== 0; rank += 1) {
    const end = start + (file[lengths + rank] as number);
    ranks.set(file.toString('latin1', start, end), rank);
    start = end;
    if (rank % STEP === STEP - 1) yield;
  }
  return { pattern: new RegExp(file.toString('utf8', 0, lengths - 1), 'gu'), ranks };
}

/**
 * Byte-pair encoding: of all neighbors, merges those whose union has the lowest rank, until none has one.
 *
 * @param bytes the piece, one character per byte.
 * @returns how many parts are left.
 */
function countMerged(bytes: string, ranks: ReadonlyMap<string, number>): number {
  // Where the parts start, and behind the last one its end; the rank of each part's union with the next.
  const starts = Array.from({ length: bytes.length + 1 }, (_, i) => i);
  const unions: number[] = [];
  for (let i = 0; i + 1 < bytes.length; i += 1) unions.push(unionRank(bytes, starts, i, ranks));
  for (;;) {
    let lowest = Number.POSITIVE_INFINITY;
    let at = -1;
    for (let i = 0; i < unions.length; i += 1) {
      if ((unions[i] as number) < lowest) {
        lowest = unions[i] as number;
        at = i;
      }
    }
    if (at < 0) return starts.length - 1;
    starts.splice(at + 1, 1);
    unions.splice(at, 1);
    if (at > 0) unions[at - 1] = unionRank(bytes, starts, at - 1, ranks);
    if (at < unions.length) unions[at] = unionRank(bytes, starts, at, ranks);
  }
}

/** Rank of the union of a part and the next, infinite when it is no token. */
function unionRank(
  bytes: string,
  starts: readonly number[],
  part: number,
  ranks: ReadonlyMap<string, number>,
): number {
  return ranks.get(bytes.slice(starts[part], starts[part + 2])) ?? Number.POSITIVE_INFINITY;
}
