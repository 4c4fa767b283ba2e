/**
 * Runs the compiled tests, three processes at a time (two with `--long`), and fails when none ran.
 *
 * Usage: node dist/scripts/run-tests.js [--long] [--reverse] [--list] [--shard=1/2] [NAME...]
 *
 * Without `--long`, `dist/test/*.test.js`: what a change is tried with. With it, the suites that need more time, other
 * languages or the npm registry: `dist/test/*.long.test.js` and `dist/test/long/*.test.js`, and again, in full, those of
 * the others that come in two sizes (test/support/size.ts), unless one of the former runs them. A name picks the files
 * that contain it. `--reverse` turns the order of the files around, which shows a test that depends on another one.
 * `--shard` runs one part of the files: `.ci/run` takes the halves of the long run in turn, one for each commit.
 *
 * Files share a few processes, because one of its own costs each the time to load everything. A file that needs its
 * own says so in a comment, `// Runs alone: <why>`. One that leaves a hook of `require()` says `// Runs with the others
 * that hook <what>`, and shares a process with those; one that says `that need <what>` finds it made by the first. All files share one PostgreSQL, with a database for each use.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { nameOfDatabase, noPostgres, startOwnPostgres } from '../test/support/postgres-server.ts';
import { runFailedAlone, runGroups, runsWithoutNetwork } from '../test/support/run-groups.ts';
import { SERVER_INPUTS } from '../test/support/server-file.ts';
import { TestReport } from '../test/support/test-report.ts';

const TESTS = join(import.meta.dirname, '../test');
/** How many processes run at a time: with three, one uses the time in which two wait for a server, a disk or a timer. */
const PROCESSES = 3;

const { values: options, positionals: names } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    reverse: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    shard: { type: 'string', default: '1/1' },
  },
  allowPositionals: true,
});
if (options.list) {
  listFiles();
  process.exit();
}
const [shard = 1, shards = 1] = options.shard.split('/').map(Number);
// The longest first, so that no process waits at the end for one file of another.
const files = [...(options.long ? [join(TESTS, 'long')] : []), TESTS]
  .flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.test.js'))
      .filter((name) => folder !== TESTS || isInRun(name))
      .filter((name) => names.length === 0 || names.some((part) => name.includes(part)))
      .sort()
      .map((name) => join(folder, name)),
  )
  .filter((_, i) => i % shards === shard - 1);
if (options.reverse) files.reverse();

/** Prints each test file after the runs it is in: `npm test`, `test:long`, or both in two sizes. */
function listFiles(): void {
  const named = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.test.js'));
  const runOf = (name: string) =>
    name.endsWith('.long.test.js') ? 'long ' : isTwoSized(name) ? 'both ' : 'quick';
  const lines = [
    ...named(TESTS).map((name) => `${runOf(name)} ${name}`),
    ...named(join(TESTS, 'long')).map((name) => `long  long/${name}`),
  ];
  const wanted = lines.filter((line) => names.length === 0 || names.some((part) => line.includes(part)));
  process.stdout.write(`${wanted.sort().join('\n')}\n`);
}

function isTwoSized(name: string): boolean {
  return readFileSync(join(TESTS, name), 'utf8').includes("'./support/size.js'");
}

function isInRun(name: string): boolean {
  if (name.endsWith('.long.test.js')) return options.long;
  return !options.long || (isTwoSized(name) && (names.length > 0 || !runsWithoutNetwork(name)));
}

const says = (what: RegExp) => (file: string) => what.test(readFileSync(file, 'utf8'));
const runsAlone = says(/^\/\/ Runs alone: \S/m);
/** What the file hooks or needs, if it shares a process with those that do the same. */
const commonOf = (file: string) =>
  /^\/\/ Runs with the others that (?:hook|need) [^:]+/m.exec(readFileSync(file, 'utf8'))?.[0];
/** Keeps two processors busy itself: it runs when the others have ended. */
const isLast = (file: string) => basename(file) === 'suites-without-network.long.test.js';

/** What only the long run has takes long enough for a process of its own. */
const isLong = (file: string) => dirname(file) !== TESTS || file.endsWith('.long.test.js');
const alone = files.filter((file) => isLong(file) || runsAlone(file));
const together = new Map<string | undefined, string[]>();
for (const file of files.filter((one) => !alone.includes(one))) {
  together.set(commonOf(file), [...(together.get(commonOf(file)) ?? []), file]);
}
const shared = together.get(undefined) ?? [];
together.delete(undefined);
// Files of one subject, which take about as long, are spread. The groups that cannot be cut come first, and of the others
// there are twice as many as processes: so all processes end together.
const SHARES = 2 * PROCESSES;
const groups = [
  ...[...together.values()].sort((a, b) => b.length - a.length),
  ...alone.filter((file) => !isLast(file)).map((file) => [file]),
  ...Array.from({ length: SHARES }, (_, share) => shared.filter((_, i) => i % SHARES === share)),
].filter((group) => group.length > 0);
const last = alone.filter(isLast);

async function bundleServers(dir: string): Promise<string> {
  await using bundle = await rolldown({ input: SERVER_INPUTS, platform: 'node' });
  await bundle.write({ dir, format: 'esm' });
  return dir;
}

const report = new TestReport(process.stdout);
// Empty databases, made once for all test files; see test/support/templates.ts.
const templates = mkdtempSync(join(tmpdir(), 'observatory-templates-'));
process.env.OBSERVATORY_TEST_TEMPLATES = templates;
const limits = { processes: options.long ? 2 : PROCESSES, fileTimeoutMs: options.long ? 1_200_000 : 120_000 };
await using server = noPostgres() ? undefined : await startOwnPostgres();
const env = {
  ...process.env,
  // No test finds a page that somebody runs on this machine.
  XDG_STATE_HOME: join(templates, 'state'),
  // What npm has fetched before it does not ask for again.
  npm_config_prefer_offline: 'true',
  OBSERVATORY_TEST_BUNDLES: await bundleServers(join(templates, 'servers')),
  ...(options.long && { OBSERVATORY_TEST_SIZE: process.env.OBSERVATORY_TEST_SIZE ?? 'full' }),
  ...(server && {
    OBSERVATORY_TEST_POSTGRES: server.url,
    OBSERVATORY_TEST_MIGRATED: nameOfDatabase(await server.createMigrated()),
  }),
};
try {
  await runGroups(groups, { ...limits, env }, report);
  if (last.length > 0) await runGroups([last], { ...limits, env }, report);
  if (options.long) await runFailedAlone(files, { ...limits, env }, report, process.stdout);
} finally {
  rmSync(templates, { recursive: true, force: true });
}
process.exitCode = report.finish() ? 0 : 1;
