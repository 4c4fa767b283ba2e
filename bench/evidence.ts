/**
 * What the evidence scores are worth, on labelled rows: findings of the trace by kind, and the ranking of answers by
 * their sources beside the seed's risk formula, containment and the length of the answer.
 *
 * Usage: node dist/bench/evidence.js
 *
 * Reads `claims/` and `hallucination/` of `../shared/data`, or of `OBSERVATORY_DATA`. Prints figures, no verdict.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { scoreEvidence } from '../src/evidence/index.ts';
import { computeSignals, resolveSignalConfig } from '../src/signals/index.ts';

const DATA = process.env.OBSERVATORY_DATA ?? join(import.meta.dirname, '../../../shared/data');

interface ClaimRow {
  readonly prompt: string;
  readonly answer: string;
  readonly steps: readonly { tool: string; arguments: unknown; result: unknown; is_error: boolean }[];
  readonly label: string;
  readonly kind: string;
  readonly made: string;
  /** Index of the call that the answer contradicts. */
  readonly evidence_step?: number | null;
}

interface SourceRow {
  readonly prompt: string | null;
  readonly context: string | null;
  readonly answer: string;
  readonly label: 0 | 1;
}

const rowsOf = <Row>(text: string): Row[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
const share = (part: number, all: number) => (all === 0 ? '-' : (part / all).toFixed(3));

/** Runs written for this project: many tools, seven languages. */
const OWN_ROWS = join(import.meta.dirname, '../../bench/claim-rows.jsonl');

function claims(title: string, file: string): void {
  const rows = rowsOf<ClaimRow>(readFileSync(file, 'utf8'));
  const judged = rows.map((row) => {
    const steps = row.steps.map(({ is_error: isError, ...step }) => ({ ...step, isError }));
    const all = scoreEvidence({ prompt: row.prompt, answer: row.answer, steps })?.findings ?? [];
    const findings = all.filter(({ kind }) => !kind.startsWith('unsupported_'));
    return {
      row,
      isWrong: row.label === 'contradicted',
      isFound: findings.length > 0,
      isNamed: findings.some(({ step }) => step === row.evidence_step),
    };
  });
  const line = (name: string, pick: (row: ClaimRow) => boolean) => {
    const some = judged.filter(({ row }) => pick(row));
    const found = some.filter(({ isFound }) => isFound);
    const right = found.filter(({ isWrong }) => isWrong).length;
    const wrong = some.filter(({ isWrong }) => isWrong).length;
    const marked = found.length - right;
    const cells = [some.length, wrong, share(right, found.length), share(right, wrong)];
    console.log(
      name.padEnd(32),
      ...[...cells, `${marked}/${some.length - wrong}`].map((cell) => String(cell).padStart(9)),
    );
  };
  console.log(
    title.padEnd(32),
    ...['rows', 'wrong', 'precision', 'recall', 'marked'].map((cell) => cell.padStart(9)),
  );
  line('all', () => true);
  for (const made of [...new Set(rows.map((row) => row.made))].sort())
    for (const isEmpty of [false, true])
      line(
        `${made}, ${isEmpty ? 'without' : 'with'} calls`,
        (row) => row.made === made && (row.steps.length === 0) === isEmpty,
      );
  for (const kind of [...new Set(rows.map((row) => row.kind))].sort()) line(kind, (row) => row.kind === kind);
  const pointed = judged.filter(({ row, isFound }) => isFound && typeof row.evidence_step === 'number');
  if (pointed.length > 0)
    console.log(
      `the labeled call is named in ${pointed.filter((one) => one.isNamed).length} of ${pointed.length}`,
    );
}

/** Chance that a wrong answer has the higher score; equal scores count half. */
function auroc(scores: readonly number[], labels: readonly number[]): number {
  const order = scores.map((_, i) => i).sort((a, b) => (scores[a] as number) - (scores[b] as number));
  let [ranks, positives] = [0, 0];
  for (let i = 0; i < order.length; ) {
    let j = i;
    while (j < order.length && scores[order[j] as number] === scores[order[i] as number]) j++;
    for (let k = i; k < j; k++)
      if (labels[order[k] as number] === 1) {
        ranks += (i + j + 1) / 2;
        positives++;
      }
    i = j;
  }
  return (ranks - (positives * (positives + 1)) / 2) / (positives * (order.length - positives));
}

function recallAtTenPercent(scores: readonly number[], labels: readonly number[]): number {
  const negatives = scores.filter((_, i) => labels[i] === 0).sort((a, b) => b - a);
  const bound = negatives[Math.floor(negatives.length / 10)] as number;
  const positives = scores.filter((_, i) => labels[i] === 1);
  return positives.filter((score) => score > bound).length / positives.length;
}

/** Beginnings of the fifths of the risk. */
const FIFTHS = [0, 0.2, 0.4, 0.6, 0.8];
const config = resolveSignalConfig();
const wordsOf = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);
const SCORES: Readonly<Record<string, (row: SourceRow) => number>> = {
  evidence: ({ prompt, context, answer }) =>
    scoreEvidence({ prompt: prompt ?? '', answer, retrievedContext: context ?? '' })?.risk ?? 0,
  seed: ({ prompt, context, answer }) =>
    computeSignals({ prompt: prompt ?? '', answer, retrievedContext: context ?? '' }, config)
      .hallucination_risk_score ?? 0,
  containment: ({ context, answer }) => {
    const words = [...wordsOf(answer)];
    const known = wordsOf(context ?? '');
    return words.filter((word) => !known.has(word)).length / Math.max(1, words.length);
  },
  length: ({ answer }) => answer.length,
};

function sources(): void {
  const folder = join(DATA, 'hallucination');
  const sets = readdirSync(folder).filter((name) => name.endsWith('.jsonl.gz'));
  const names = Object.keys(SCORES);
  console.log(
    `\n${'AUROC / recall at 10 % false'.padEnd(32)}`,
    ...names.map((name) => name.padStart(15)),
    'ms a row'.padStart(9),
  );
  const sums = names.map(() => [0, 0] as [number, number]);
  for (const name of sets) {
    const rows = rowsOf<SourceRow>(gunzipSync(readFileSync(join(folder, name))).toString());
    const labels = rows.map((row) => row.label);
    const start = performance.now();
    for (const row of rows) SCORES.evidence?.(row);
    const ms = (performance.now() - start) / rows.length;
    const cells = names.map((score, i) => {
      const values = rows.map(SCORES[score] as (row: SourceRow) => number);
      const pair: [number, number] = [auroc(values, labels), recallAtTenPercent(values, labels)];
      (sums[i] as [number, number])[0] += pair[0] / sets.length;
      (sums[i] as [number, number])[1] += pair[1] / sets.length;
      return pair;
    });
    print(name.replace('.jsonl.gz', ''), cells, ms.toFixed(2));
  }
  print('mean', sums, '');
}

/** Precision and recall of the levels, each set balanced, and the share of wrong answers in each fifth of the risk. */
function levels(): void {
  const folder = join(DATA, 'hallucination');
  const sets = readdirSync(folder).filter((name) => name.endsWith('.jsonl.gz'));
  const columns = ['high P', 'high R', 'medium P', 'medium R', ...FIFTHS.map((fifth) => `from ${fifth}`)];
  console.log(`\n${'Levels, sets balanced'.padEnd(32)}`, ...columns.map((cell) => cell.padStart(10)));
  const sums: number[] = columns.map(() => 0);
  for (const name of sets) {
    const rows = rowsOf<SourceRow>(gunzipSync(readFileSync(join(folder, name))).toString());
    const wrong = rows.filter((row) => row.label === 1).length;
    const judged = rows.map((row) => ({
      risk: SCORES.evidence?.(row) ?? 0,
      isWrong: row.label === 1,
      weight: 0.5 / (row.label === 1 ? wrong : rows.length - wrong),
    }));
    const weigh = (pick: (one: (typeof judged)[number]) => boolean) =>
      judged.reduce((sum, one) => (pick(one) ? sum + one.weight : sum), 0);
    const between = (from: number, to: number) =>
      weigh(({ risk, isWrong }) => isWrong && risk >= from && risk < to) /
      weigh(({ risk }) => risk >= from && risk < to);
    const cells = [0.7, 0.35].flatMap((bound) => [
      between(bound, 2),
      weigh(({ risk, isWrong }) => isWrong && risk >= bound) * 2,
    ]);
    cells.push(...FIFTHS.map((from) => between(from, from + 0.2)));
    for (const [i, cell] of cells.entries())
      (sums[i] as number) += (Number.isNaN(cell) ? 0 : cell) / sets.length;
    console.log(
      name.replace('.jsonl.gz', '').padEnd(32),
      ...cells.map((cell) => cell.toFixed(2).padStart(10)),
    );
  }
  console.log('mean'.padEnd(32), ...sums.map((cell) => cell.toFixed(2).padStart(10)));
}

function print(name: string, cells: readonly (readonly [number, number])[], last: string): void {
  const texts = cells.map(([area, recall]) => `${area.toFixed(3)} / ${recall.toFixed(2)}`.padStart(15));
  console.log(name.padEnd(32), ...texts, last.padStart(9));
}

/** Texts of one kind: sentences that repeat, prose with figures that differ, and what costs the most. */
const TEXTS: Readonly<Record<string, (next: (below: number) => number) => string>> = {
  'one sentence, repeated': () =>
    'The bridge of 412 meters opened on 4 May 1998, and order W2466703 has been updated for $12.50. ',
  'words in any order': (next) =>
    `The ${Array.from({ length: 12 + next(10) }, () => WORDS[next(WORDS.length)]).join(' ')}. `,
  'records as JSON': (next) =>
    `{"id":"W${next(10_000_000)}","price":${next(90_000) / 100},"available":${next(2) > 0},"status":"pending"},`,
  'figures, all wrong': (next) =>
    `Order W${1_000_000 + next(8_999_999)} has been updated for $${next(900)}.${10 + next(90)} to card ${1000 + next(8999)}. `,
  'without spaces': (next) => `订单已经取消了，退款12${next(90)}元。`,
};
const WORDS = Array.from(
  { length: 400 },
  (_, i) => `w${(i * 7919).toString(36).replace(/\d/g, 'e')}n${i.toString(36).replace(/\d/g, 'a')}`,
);

/** Time of an answer of 2 KB (UTF-8) with a context of 8 KB, without and with a tool result of 8 KB. */
function time(): void {
  console.log(
    `\n${'2 KB answer, ms of the processor'.padEnd(32)}`,
    '8 KB context'.padStart(28),
    '8 KB context, 8 KB result'.padStart(28),
  );
  for (const [name, sentence] of Object.entries(TEXTS)) {
    let seed = 7;
    const next = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const fill = (bytes: number) => {
      let text = '';
      while (Buffer.byteLength(text) < bytes) text += sentence(next);
      return Buffer.from(text)
        .subarray(0, bytes)
        .toString()
        .replace(/\uFFFD+$/, '');
    };
    const [answer, retrievedContext, result, prompt] = [fill(2048), fill(8192), fill(8192), fill(500)];
    const steps = [{ tool: 'update_order', arguments: { id: 'W2466703' }, result }];
    const cells = [
      { prompt, answer, retrievedContext },
      { prompt, answer, retrievedContext, steps },
    ].map((input) => {
      const { least, median, p90 } = timesOf(() => scoreEvidence(input));
      return `${least.toFixed(2)}, median ${median.toFixed(2)}, p90 ${p90.toFixed(2)}`.padStart(28);
    });
    console.log(name.padEnd(32), ...cells);
  }
}

/** Time of the processor in batches, since its clock is coarse; other load on the machine counts as far as it shares caches. */
function timesOf(run: () => void): { least: number; median: number; p90: number } {
  const times = Array.from({ length: 50 }, () => {
    const start = process.cpuUsage();
    for (let i = 0; i < 10; i++) run();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 10_000;
  })
    .slice(10)
    .sort((a, b) => a - b);
  const at = (part: number) => times[Math.floor(times.length * part)] as number;
  return { least: at(0), median: at(0.5), p90: at(0.9) };
}

claims('Claims, own rows', OWN_ROWS);
if (existsSync(DATA)) {
  console.log('');
  claims('Claims, shared rows', join(DATA, 'claims/claims.jsonl'));
  sources();
  levels();
  time();
} else console.log(`No data at ${DATA}: set OBSERVATORY_DATA`);
