/**
 * Replays every golden of a folder, some of them many times, and prints the outcome as JSON. Meant to be run without a
 * network.
 *
 *   node --import .../no-network.js golden-suite-process.js FOLDER TIMES NAMES...
 *
 * Goldens with a file name that starts with one of NAMES are replayed TIMES times, the others once.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { replayGolden, withoutVolatile } from '../../src/golden/index.ts';
import { canonicalHash } from '../../src/json/index.ts';
import type { Refusals } from './no-network.ts';

export interface SuiteReport {
  readonly replayed: number;
  readonly findings: readonly string[];
  /** Different results of one golden, volatile fields left out, by file; each should be 1. */
  readonly results: Readonly<Record<string, number>>;
  readonly runners: Readonly<Record<string, number>>;
  readonly refusals: Refusals | null;
}

const [folder = '', times = '1', ...names] = process.argv.slice(2);
const findings: string[] = [];
const results: Record<string, number> = {};
const runners: Record<string, number> = {};
let replayed = 0;

for (const file of (await readdir(folder, { recursive: true })).sort()) {
  const name = file.slice(file.lastIndexOf('/') + 1);
  if (!name.endsWith('.json') || name === 'tool_schema_definitions.json' || name === 'invoice_review.json')
    continue;
  const hashes = new Set<string>();
  const count = names.some((one) => name.startsWith(one)) ? Number(times) : 1;
  for (let index = 0; index < count; index += 1) {
    const report = await replayGolden(join(folder, file));
    for (const { message } of report.findings) findings.push(`${file}: ${message}`);
    hashes.add(canonicalHash(withoutVolatile(report.output ?? {})));
    if (index === 0) runners[report.golden.runner] = (runners[report.golden.runner] ?? 0) + 1;
  }
  replayed += 1;
  results[file] = hashes.size;
}
const refusals = (globalThis as { refusals?: Refusals }).refusals ?? null;
process.stdout.write(
  JSON.stringify({ replayed, findings, results, runners, refusals } satisfies SuiteReport),
);
