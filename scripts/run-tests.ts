/**
 * Runs the compiled tests, two processes at a time, and fails when none ran.
 *
 * Usage: node dist/scripts/run-tests.js [--long] [--reverse] [NAME...]
 *
 * Without `--long`, `dist/test/*.test.js`: what a change is tried with. With it, the suites that need more time, other
 * languages or the npm registry: `dist/test/*.long.test.js` and `dist/test/long/*.test.js`. A name picks the files
 * that contain it. `--reverse` turns the order of the files around, which shows a test that depends on another one.
 *
 * Files share processes, because a process of its own costs each the time to load everything. A file that needs its
 * own says so in a comment, `// Runs alone: <why>`. All files share one PostgreSQL, with a database for each use.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { noPostgres, startOwnPostgres } from '../test/support/postgres-server.ts';
import { runGroups } from '../test/support/run-groups.ts';
import { TestReport } from '../test/support/test-report.ts';

const TESTS = join(import.meta.dirname, '../test');
/** Files in a process: enough that loading the package is cheap, few enough that the last groups end together. */
const GROUP_SIZE = 12;

const { values: options, positionals: names } = parseArgs({
  options: { long: { type: 'boolean', default: false }, reverse: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files = [TESTS, ...(options.long ? [join(TESTS, 'long')] : [])].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.test.js'))
    .filter((name) => folder !== TESTS || name.endsWith('.long.test.js') === options.long)
    .filter((name) => names.length === 0 || names.some((part) => name.includes(part)))
    .sort()
    .map((name) => join(folder, name)),
);
if (options.reverse) files.reverse();

const runsAlone = (file: string) => /^\/\/ Runs alone: \S/m.test(readFileSync(file, 'utf8'));
/** Keeps two processors busy itself: it runs when the others have ended. */
const isLast = (file: string) => basename(file) === 'suites-without-network.long.test.js';

const alone = files.filter((file) => options.long || runsAlone(file));
const shared = files.filter((file) => !alone.includes(file));
const groups = [
  ...alone.filter((file) => !isLast(file)).map((file) => [file]),
  ...Array.from({ length: Math.ceil(shared.length / GROUP_SIZE) }, (_, i) =>
    shared.slice(i * GROUP_SIZE, (i + 1) * GROUP_SIZE),
  ),
];
const last = alone.filter(isLast);

const report = new TestReport(process.stdout);
// Empty databases, made once for all test files; see test/support/templates.ts.
const templates = mkdtempSync(join(tmpdir(), 'observatory-templates-'));
const limits = { processes: 2, fileTimeoutMs: options.long ? 1_200_000 : 120_000 };
await using server = noPostgres() ? undefined : await startOwnPostgres();
const env = {
  ...process.env,
  OBSERVATORY_TEST_TEMPLATES: templates,
  ...(server && { OBSERVATORY_TEST_POSTGRES: server.url }),
};
try {
  await runGroups(groups, { ...limits, env }, report);
  if (last.length > 0) await runGroups([last], { ...limits, env }, report);
} finally {
  rmSync(templates, { recursive: true, force: true });
}
process.exitCode = report.finish() ? 0 : 1;
