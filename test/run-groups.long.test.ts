import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runFailedAlone, runGroups } from './support/run-groups.ts';
import { TestReport } from './support/test-report.ts';

/** Runs fixtures in one process and returns what is reported. */
async function run(names: string[], fileTimeoutMs = 20_000) {
  let printed = '';
  const report = new TestReport({
    write: (text) => {
      printed += text;
    },
  });
  const files = names.map((name) => fileURLToPath(new URL(`./fixtures/runner/${name}.js`, import.meta.url)));
  await runGroups([files], { processes: 2, fileTimeoutMs, env: process.env }, report);
  const isPassed = report.finish();
  return { isPassed, printed, failures: report.failures, passes: report.passes, skipped: report.skipped };
}

test('files that share a process are counted together, and hooks hold for their own file', async () => {
  const { isPassed, passes, skipped, printed } = await run(['hooks', 'passes']);
  assert.equal(isPassed, true, printed);
  assert.equal(passes, 2);
  assert.deepEqual(skipped, ['passes.js > is skipped: for a reason']);
  assert.match(printed, /^✔ hooks\.js \(1 tests, /m);
  assert.match(printed, /^3 tests in 2 files: 2 passed, 0 failures, 1 skipped; /m);
});

test('a failure names its file, its test and the line of the source, and shows what was printed', async () => {
  const { isPassed, failures, printed } = await run(['fails', 'passes']);
  assert.equal(isPassed, false);
  assert.equal(failures.length, 1, 'once, not again for what is around it');
  assert.match(failures[0] ?? '', /^fails\.js > inside > fails: AssertionError/);
  assert.match(failures[0] ?? '', /test\/fixtures\/runner\/fails\.ts:7:\d+/);
  assert.match(printed, /printed before it failed/);
  assert.match(printed, /^✔ passes\.js/m);
});

test('a file that fails passes if it passes alone, and its failure is still printed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-unsteady-'));
  const fileOf = (name: string) => fileURLToPath(new URL(`./fixtures/runner/${name}.js`, import.meta.url));
  const files = [fileOf('unsteady'), fileOf('fails')];
  const options = {
    processes: 2,
    fileTimeoutMs: 20_000,
    env: { ...process.env, FIRST_RUN: join(folder, 'first') },
  };
  let printed = '';
  const out = { write: (text: string) => (printed += text) };
  const report = new TestReport(out);
  await runGroups([files], options, report);
  assert.deepEqual(report.failedFiles, ['unsteady.js', 'fails.js']);
  await runFailedAlone(files, options, report, out);
  assert.equal(report.finish(), false, 'one of them fails alone too');
  assert.deepEqual(report.failedFiles, ['fails.js']);
  assert.match(printed, /^Unsteady: passed alone, failed beside others: unsteady\.js > fails at first/m);
  assert.match(printed, /1 failures, 1 unsteady, 0 skipped/);
  rmSync(folder, { recursive: true });
});

test('a file that throws while it loads fails, and so does one without tests', async () => {
  const { failures, passes } = await run(['throws', 'empty', 'passes']);
  // What printed something is told a moment later, so the order may be another.
  const [empty, throws] = failures.toSorted();
  assert.equal(failures.length, 2);
  assert.match(throws ?? '', /^throws\.js: Error: thrown while it loads/);
  assert.equal(empty, 'empty.js: has no tests');
  assert.equal(passes, 1);
});

test('a file that hangs is killed and named, and the files after it run', async () => {
  const { failures, passes } = await run(['hangs', 'passes'], 2_000);
  assert.deepEqual(failures, [
    'hangs.js: did not end within 2 s; the last test started was: hangs.js > spins',
  ]);
  assert.equal(passes, 1);
});

test('a file that ends its process is named, and the files before and after it count', async () => {
  const { failures, passes } = await run(['hooks', 'exits', 'passes']);
  assert.deepEqual(failures, [
    'exits.js: ended its process with code 0; the last test started was: exits.js > exits',
  ]);
  assert.equal(passes, 2);
});

test('a file that changes the process for the next one fails', async () => {
  const { failures } = await run(['changes-environment', 'passes']);
  assert.equal(failures.length, 1);
  assert.match(
    failures[0] ?? '',
    /^changes-environment\.js > leaves the process as it was: Error: Restore .* variable OBSERVATORY_LEFT_BEHIND/,
  );
});

test('a run without a test fails', () => {
  assert.equal(new TestReport({ write: () => {} }).finish(), false);
});
