/**
 * Runs compiled test files, two at a time, and prints what came of them as JSON.
 *
 *   node suites-process.js FILES...
 */
import { run } from 'node:test';
import { inspect } from 'node:util';

export interface SuitesReport {
  readonly passed: number;
  /** Tests that failed, each with its error. */
  readonly failed: readonly string[];
  /** Tests that were skipped, each with the reason it gave. */
  readonly skipped: readonly string[];
}

const failed: string[] = [];
const skipped: string[] = [];
let passed = 0;
const stream = run({ files: process.argv.slice(2), concurrency: 2 });
stream.on('test:pass', ({ name, skip }) => {
  if (skip === undefined) passed += 1;
  else skipped.push(`${name}: ${String(skip)}`);
});
stream.on('test:fail', ({ name, details }) => {
  failed.push(`${name}: ${inspect(details.error, { depth: 6 })}`);
});
stream.on('end', () => {
  process.stdout.write(JSON.stringify({ passed, failed, skipped } satisfies SuitesReport));
});
stream.resume();
