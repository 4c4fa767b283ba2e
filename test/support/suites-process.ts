/**
 * Runs compiled test files that share two processes, and prints the outcome as JSON.
 *
 *   node suites-process.js FILES...
 */
import { runGroups } from './run-groups.ts';
import { TestReport } from './test-report.ts';

export interface SuitesReport {
  readonly passed: number;
  /** Tests that failed, each with its error. */
  readonly failed: readonly string[];
  /** Tests that were skipped, each with the reason it gave. */
  readonly skipped: readonly string[];
}

const files = process.argv.slice(2);
const report = new TestReport({ write: () => {} });
const groups = [0, 1].map((rest) => files.filter((_, index) => index % 2 === rest));
await runGroups(groups, { processes: 2, fileTimeoutMs: 240_000, env: process.env }, report);
const { passes: passed, failures: failed, skipped } = report;
process.stdout.write(JSON.stringify({ passed, failed, skipped } satisfies SuitesReport));
