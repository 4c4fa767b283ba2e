/**
 * Cost of enriching a span, relative to the minimum: SHA-256 of the same three texts (prompt, answer of half the size,
 * context of the same size). Token counts are given, as from a provider.
 *
 *     npm run build && node dist/bench/enrichment.js
 *
 * Times are medians of alternating runs, so that a busy machine slows both equally. The goal is a ratio of at most 5 at
 * every size, and times linear in the size of the texts.
 */
import { createHash } from 'node:crypto';
import { enrich } from '../src/processor/index.ts';
import { estimateTokens, resolveSignalConfig } from '../src/signals/index.ts';
import { makeText, TEXT_KINDS } from './texts.ts';

interface Call {
  readonly prompt: string;
  readonly answer: string;
  readonly retrievedContext: string;
}

const KB = 1024;
const SIZES = [4 * KB, 64 * KB, 1024 * KB];
/** Bytes hashed for one line of the table, all runs together. */
const BYTES_PER_LINE = 64 * KB * KB;
const MAX_RUNS = 2000;

const config = resolveSignalConfig();
const usage = { inputTokens: 1200, cacheReadTokens: 800, outputTokens: 300 };
const at = new Date('2026-02-10T12:00:00Z');

/** What is measured: everything the processor computes for a call when it has the texts. */
function enriched(call: Call): unknown {
  return enrich({ ...call, usage, model: 'gpt-4o', provider: 'openai' }, { config, at });
}

/** What it is measured by. */
function floor({ prompt, answer, retrievedContext }: Call): unknown {
  return [prompt, answer, retrievedContext].map((text) => createHash('sha256').update(text).digest('hex'));
}

function milliseconds(run: () => unknown): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
}

console.log(`Node ${process.version}, ${process.arch}\n`);
console.log('text          prompt    floor ms   enrichment ms   ratio');
for (const kind of TEXT_KINDS) {
  for (const size of SIZES) {
    const call: Call = {
      prompt: makeText(kind, size, 1),
      answer: makeText(kind, size / 2, 2),
      retrievedContext: makeText(kind, size, 3),
    };
    const runs = Math.min(MAX_RUNS, Math.ceil(BYTES_PER_LINE / (2.5 * size)));
    const floors: number[] = [];
    const enrichments: number[] = [];
    for (let i = 0; i < runs; i += 1) {
      floors.push(milliseconds(() => floor(call)));
      enrichments.push(milliseconds(() => enriched(call)));
    }
    const [least, actual] = [median(floors), median(enrichments)];
    const cells = [
      kind.padEnd(12),
      `${size / KB} KB`.padStart(8),
      least.toFixed(4).padStart(10),
      actual.toFixed(4).padStart(14),
      (actual / least).toFixed(2).padStart(8),
    ];
    console.log(cells.join('  '));
  }
}

console.log('\ntokenizer of OpenAI models, only where a provider gave no usage');
console.log(`load      ${milliseconds(() => estimateTokens('x', 'gpt-4o')).toFixed(1)} ms, once`);
for (const size of SIZES) {
  const text = makeText('markdown', size, 1);
  const times = Array.from({ length: 20 }, () => milliseconds(() => estimateTokens(text, 'gpt-4o')));
  console.log(`${`${size / KB} KB`.padEnd(8)}  ${median(times).toFixed(2)} ms`);
}
