/**
 * Runs the compiled tests and fails when none ran: `node --test` itself ends with 0 when a pattern matches nothing.
 *
 * Usage: node dist/scripts/run-tests.js [--long]
 *
 * Without the flag, `dist/test/*.test.js`: what a change is tried with. With it, the suites that need more time or the
 * npm registry: `dist/test/*.long.test.js` and `dist/test/long/*.test.js`.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
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

/** Says how long it takes, and keeps two processors busy itself: it runs when the others have ended. */
const isAlone = (file: string) => file.endsWith('/suites-without-network.long.test.js');

let tests = 0;
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim();
// Empty databases, made once for all test files; see test/support/templates.ts.
const templates = mkdtempSync(join(tmpdir(), 'observatory-templates-'));
process.env.OBSERVATORY_TEST_TEMPLATES = templates;
try {
  for (const part of [files.filter((file) => !isAlone(file)), files.filter(isAlone)]) await runAll(part);
} finally {
  rmSync(templates, { recursive: true, force: true });
}
if (tests === 0) {
  process.stderr.write('No test ran\n');
  process.exitCode = 1;
}

async function runAll(part: readonly string[]): Promise<void> {
  if (part.length === 0) return;
  const stream = run({ files: [...part], concurrency: 2 });
  stream.on('test:pass', () => {
    tests += 1;
  });
  stream.on('test:fail', () => {
    process.exitCode = 1;
  });
  await pipeline(stream, new spec(), process.stdout, { end: false });
}
