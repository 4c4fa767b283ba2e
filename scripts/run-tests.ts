/**
 * Runs the compiled tests and fails when none ran: `node --test` itself ends with 0 when a pattern matches nothing.
 *
 * Usage: node dist/scripts/run-tests.js [--long]
 *
 * Without the flag, `dist/test/*.test.js`: what a change is tried with. With it, the suites that need more time or the
 * npm registry: `dist/test/*.long.test.js` and `dist/test/long/*.test.js`.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const TESTS = join(import.meta.dirname, '../test');
const long = process.argv.includes('--long');

const files = [TESTS, ...(long ? [join(TESTS, 'long')] : [])].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.test.js'))
    .filter((name) => folder !== TESTS || name.endsWith('.long.test.js') === long)
    .sort()
    .map((name) => join(folder, name)),
);

let tests = 0;
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim();
const stream = run({ files, concurrency: 2 });
stream.on('test:pass', () => {
  tests += 1;
});
stream.on('test:fail', () => {
  process.exitCode = 1;
});
stream.on('end', () => {
  if (tests === 0) {
    process.stderr.write('No test ran\n');
    process.exitCode = 1;
  }
});
stream.compose(new spec()).pipe(process.stdout);
