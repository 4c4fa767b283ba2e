/**
 * Cost of enriching a span, relative to the minimum: SHA-256 of the same three texts (prompt, answer of half the size,
 * context of the same size). Token counts are given, as from a provider.
 *
 *     npm run build && node dist/bench/enrichment.js [MEGABYTES PER LINE]
 *
 * CPU times of alternating groups of runs, so that a busy machine slows both equally; medians, and the quartiles of the ratio of
 * each group to the floor beside it. The goal is a ratio of at most 5 at every size, and times linear in the size of the
 * texts. The evidence scores, which compare answer and context word by word, have a limit of their own (2 ms for an answer
 * of 2 KB and a context of 8 KB; `bench/evidence.ts`) and bounded input: the last columns tell what they add.
 */
import { createHash } from 'node:crypto';
import type { FieldValues } from '../src/base/index.ts';
import { computeEvidence } from '../src/evidence/index.ts';
import { enrich } from '../src/processor/index.ts';
import {
  estimateTokens,
  identitySteps,
  resolveSignalConfig,
  sampledShare,
  type TextIdentities,
} from '../src/signals/index.ts';
import { distribution, median } from './spread.ts';
import { makeText, TEXT_KINDS } from './texts.ts';

interface Call {
  readonly prompt: string;
  readonly answer: string;
  readonly retrievedContext: string;
  readonly identities?: TextIdentities;
  readonly evidence?: FieldValues | 'failed';
}

const KB = 1024;
const SIZES = [4 * KB, 64 * KB, 1024 * KB];
/** Bytes hashed for one line of the table, all runs together; the argument is in megabytes. */
const BYTES_PER_LINE = Number(process.argv[2] ?? 64) * KB * KB;
/** Bytes of the prompts of one group. */
const GROUP_BYTES = 256 * KB;
/** The evidence takes up to a hundred times as long as the floor. */
const EVIDENCE_EVERY = 20;

const config = resolveSignalConfig({ enableEvidence: false });
const withEvidence = resolveSignalConfig();
const usage = { inputTokens: 1200, cacheReadTokens: 800, outputTokens: 300 };
const at = new Date('2026-02-10T12:00:00Z');

/** What is measured: everything the processor computes for a call when it has the texts. */
function enriched(call: Call, signals = config): unknown {
  return enrich({ ...call, usage, model: 'gpt-4o', provider: 'openai' }, { config: signals, at });
}

/** What it is measured by. */
function floor({ prompt, answer, retrievedContext }: Call): unknown {
  return [prompt, answer, retrievedContext].map((text) => createHash('sha256').update(text).digest('hex'));
}

/** CPU time of one run, of several that follow each other: a clock of microseconds is too coarse for one. */
function milliseconds(run: () => unknown, times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i += 1) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
}

// Until everything is compiled.
for (const kind of TEXT_KINDS) {
  const call = {
    prompt: makeText(kind, KB, 1),
    answer: makeText(kind, KB, 2),
    retrievedContext: makeText(kind, KB, 3),
  };
  for (let i = 0; i < 1_000; i += 1) enriched(call);
}

console.log(`Node ${process.version}, ${process.arch}\n`);
console.log('text          prompt    floor ms   enrichment ms   ratio (quartiles)     with evidence ms');
for (const kind of TEXT_KINDS) {
  for (const size of SIZES) {
    const call: Call = {
      prompt: makeText(kind, size, 1),
      answer: makeText(kind, size / 2, 2),
      retrievedContext: makeText(kind, size, 3),
    };
    const times = Math.max(1, Math.round(GROUP_BYTES / size));
    const groups = Math.ceil(BYTES_PER_LINE / (2.5 * size * times));
    const floors: number[] = [];
    const enrichments: number[] = [];
    const all: number[] = [];
    for (let i = 0; i < groups; i += 1) {
      floors.push(milliseconds(() => floor(call), times));
      enrichments.push(milliseconds(() => enriched(call), times));
      if (i % EVIDENCE_EVERY === 0) all.push(milliseconds(() => enriched(call, withEvidence), 1));
    }
    const ratios = enrichments.map((time, i) => time / (floors[i] ?? Number.NaN));
    const cells = [
      kind.padEnd(12),
      `${size / KB} KB`.padStart(8),
      median(floors).toFixed(4).padStart(10),
      median(enrichments).toFixed(4).padStart(14),
      distribution(ratios, 2).padStart(20),
      median(all).toFixed(4).padStart(16),
    ];
    console.log(cells.join('  '));
  }
}

/** The longest time that the event loop is held by a call whose texts are read in steps, its evidence included. */
function longestSlice(call: Call): number {
  const slices: number[] = [];
  const timed = <T>(work: () => T): T => {
    let result: T | undefined;
    slices.push(milliseconds(() => (result = work()), 1));
    return result as T;
  };
  const identify = (text: string, replaceVolatile: boolean): TextIdentities['prompt'] => {
    const steps = identitySteps(text, replaceVolatile);
    for (;;) {
      const step = timed(() => steps.next());
      if (step.done === true) return step.value;
    }
  };
  const identities = {
    prompt: identify(call.prompt, true),
    answer: sampledShare([call.answer]) < 1 ? identify(call.answer, false) : undefined,
  };
  const evidence = timed(() => computeEvidence(call, withEvidence));
  timed(() => enriched({ ...call, identities, evidence }, withEvidence));
  return Math.max(...slices);
}

console.log(
  '\nlongest slice of work, CPU ms (quartiles), where the pipeline is ours; prompt, answer and context of this size',
);
for (const kind of ['english', 'json', 'cyrillic'] as const) {
  for (const size of [1, 50]) {
    // Flat texts, as in `makeText`.
    const textOf = (seed: number) =>
      Buffer.from(makeText(kind, KB * KB, seed).repeat(size), 'utf8').toString('utf8');
    const call: Call = { prompt: textOf(1), answer: textOf(2), retrievedContext: textOf(3) };
    const longest = Array.from({ length: 7 }, () => longestSlice(call));
    console.log(`${kind.padEnd(12)}  ${`${size} MB`.padStart(8)}  ${distribution(longest).padStart(20)}`);
  }
}

console.log('\ntokenizer of OpenAI models, only where a provider gave no usage');
console.log(`load      ${milliseconds(() => estimateTokens('x', 'gpt-4o'), 1).toFixed(1)} ms, once`);
for (const size of SIZES) {
  const text = makeText('markdown', size, 1);
  const times = Array.from({ length: 20 }, () => milliseconds(() => estimateTokens(text, 'gpt-4o'), 1));
  console.log(`${`${size / KB} KB`.padEnd(8)}  ${median(times).toFixed(2)} ms`);
}
