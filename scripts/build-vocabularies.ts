/**
 * Extracts from `js-tiktoken`, which contains all of OpenAI's vocabularies in 22 MB, the two that `src/signals/bpe.ts`
 * reads, and writes them to `vocabularies/`. Run it after updating `js-tiktoken`:
 *
 *     npm run build && node dist/scripts/build-vocabularies.js
 *
 * Each file is compressed with Brotli and contains the pattern that splits a text, a line feed, the length of each
 * token in order of rank (one byte each), a zero byte, and the tokens without separators.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';

const FOLDER = new URL('../../vocabularies/', import.meta.url);

/** A vocabulary as `js-tiktoken` stores it. */
interface RankFile {
  readonly pat_str: string;
  /** Lines of `! <rank of the first> <token, base64> <token> ...`. */
  readonly bpe_ranks: string;
}

const require = createRequire(import.meta.url);

mkdirSync(FOLDER, { recursive: true });
for (const encoding of ['o200k_base', 'cl100k_base']) {
  const packed = pack(require(`js-tiktoken/ranks/${encoding}`) as RankFile);
  const file = fileURLToPath(new URL(`${encoding}.br`, FOLDER));
  writeFileSync(file, packed);
  process.stdout.write(`${file}: ${packed.length} bytes\n`);
}

function pack(file: RankFile): Buffer {
  const tokens: Buffer[] = [];
  for (const line of file.bpe_ranks.split('\n')) {
    const [, first, ...encoded] = line.split(' ');
    if (Number(first) !== tokens.length) throw new Error(`The ranks have a gap at ${tokens.length}`);
    for (const token of encoded) tokens.push(Buffer.from(token, 'base64'));
  }
  const raw = Buffer.concat([
    Buffer.from(`${file.pat_str}\n`),
    Buffer.from([...tokens.map((token) => token.length), 0]),
    ...tokens,
  ]);
  return brotliCompressSync(raw, {
    params: {
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: raw.length,
    },
  });
}
