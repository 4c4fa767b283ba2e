/** `mcp-observatory setup`: writes what a program or a coding agent needs, runs the program, waits for a span. */
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { redactText } from '../../json/index.ts';
import { diagnose } from '../../setup/index.ts';
import {
  type Command,
  type CommandIo,
  EndingSignal,
  EXIT_FAILED,
  EXIT_OK,
  type FileEdit,
  isSame,
  keepBackup,
  numberFlag,
  print,
  readBackup,
  readFlags,
  readIfThere,
  restoreFile,
  usageError,
  writeWithBackup,
} from '../command-line/index.ts';
import { printableLine } from '../terminal/index.ts';
import { findProject, type Project, planChanges, type SetupPlan, toShownPath } from './changes.ts';
import { CLIENT_NAMES, clientChange, findClientSettings, RECEIVER } from './clients.ts';
import { awaitFirstSpan, type FirstSpan, greetOverHttp, isOnStdio } from './first-span.ts';
import { findMissing, installPackages, isWorkspaceRoot, LOCK_FILES } from './packages.ts';

const WAIT_SECONDS = 60;

const HELP = `Usage: mcp-observatory setup [CLIENT...] [options]
       mcp-observatory setup [CLIENT...] --undo

Finds what is in the folder, shows as a diff what has to change so that it is traced, writes that with a backup beside
each file, installs the packages that are missing, runs the program once and waits for a span of it.

The scripts of package.json that start a program get '--import mcp-observatory/register', Next.js gets withObservatory
and instrumentation.ts, and the MCP servers of the folder that clients start with Node get the same flags. Nothing
outside the folder is written, but for the settings of a CLIENT that is named: ${CLIENT_NAMES.join(', ')}.

Options:
  --folder DIR     folder of the application (default: the current one)
  --run COMMAND    what starts the program (default: the start script of package.json). An MCP server is greeted,
                   on stdio or at /mcp; any other server needs a request while setup waits
  --wait SECONDS   how long to wait for a span (default ${WAIT_SECONDS})
  --no-run         only write
  --no-install     where packages are missing, only print which: nothing is written before they are there
  --dry-run        only show what would be written
  --undo           restore each file byte by byte, unless it was changed since. Packages stay in node_modules
  --json           print one JSON document
  --help           print this

Exit code 1 when no span arrived, or a file was changed since.`;

const OPTIONS = {
  folder: { type: 'string' },
  run: { type: 'string' },
  wait: { type: 'string' },
  'no-run': { type: 'boolean' },
  'no-install': { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  undo: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

const BACKUP = '.before-mcp-observatory-setup';
const KEPT = `What the files were is beside them in *${BACKUP}, keys included: do not commit or publish these. --undo takes them away.`;

type Values = ReturnType<typeof readFlags<typeof OPTIONS>>['values'];

/** What was done, in the words of the JSON output. */
class Report {
  found: readonly string[] = [];
  readonly changes: { file: string; diff: readonly string[] }[] = [];
  readonly restored: string[] = [];
  install: string | null = null;
  span: FirstSpan['span'] = null;
  readonly problems: string[] = [];
  readonly notes: string[] = [];
}

export const setupCommand: Command = {
  help: HELP,
  async run(args, io) {
    const { values, positionals } = readFlags(args, OPTIONS, true);
    const folder = findFolder(values.folder ?? process.cwd());
    const places = { folder, home: io.env.HOME ?? homedir() };
    const report = new Report();
    const say = (line: string) => {
      if (values.json !== true) io.stdout.writeLine(line);
    };
    if (values.undo === true) undoAll(places, positionals, report, say);
    else if (positionals.length > 0) setUpClients(places, positionals, values, report, say);
    else await setUpFolder(folder, values, io, report, say);
    for (const note of report.notes) say(printableLine(note));
    for (const problem of report.problems) say(problem);
    if (values.json === true) print(io, report);
    return report.problems.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

function findFolder(path: string): string {
  if (!existsSync(path)) throw usageError(`There is no folder '${path}'`);
  return realpathSync(path);
}

type Say = (line: string) => void;

interface Places {
  readonly folder: string;
  readonly home: string;
}

function setUpClients(
  { folder, home }: Places,
  names: readonly string[],
  values: Values,
  report: Report,
  say: Say,
): void {
  for (const name of names) {
    const change = clientChange(name, folder, home);
    if (change === undefined) say(`${name} is set up already`);
    else showChange(change, change.path, report, say);
    if (change !== undefined && values['dry-run'] !== true) writeWithBackup(change, BACKUP, change.before);
  }
  report.notes.push(
    `Nothing was run: ${names.join(', ')} ${names.length === 1 ? 'needs its' : 'need their'} own account. Start 'mcp-observatory up', then the agent: what it does is on the page.`,
  );
}

async function setUpFolder(
  folder: string,
  values: Values,
  io: CommandIo,
  report: Report,
  say: Say,
): Promise<void> {
  const waitMs = 1000 * (numberFlag('--wait', values.wait, { from: 1, to: 3600 }) ?? WAIT_SECONDS);
  const project = findProject(folder);
  if (project === undefined) throw usageError(`There is no package.json in '${folder}'`);
  report.found = project.kinds;
  say(`Found: ${project.kinds.join(', ')}`);
  for (const name of project.clients)
    report.notes.push(`${name} is used here. Its own settings: mcp-observatory setup ${name}`);
  const originals = new Map(
    ['package.json', ...LOCK_FILES].map((name) => [name, readIfThere(join(folder, name))]),
  );
  const first = planChanges(project, values.run);
  const outside = first.changes.find(({ path }) => !path.startsWith(`${folder}${sep}`));
  if (outside !== undefined)
    throw usageError(`'${outside.path}' is outside the folder, so nothing is written`);
  if (first.changes.length === 0 && first.command === null && first.first === null && isWorkspaceRoot(folder))
    throw usageError(
      `'${folder}' is the root of a workspace, and starts nothing that is known here. Run setup in the folder of the program`,
    );
  for (const change of first.changes) showChange(change, toShownPath(folder, change.path), report, say);
  report.notes.push(...first.notes);
  const missing = await findMissing(folder);
  report.install = missing?.command.join(' ') ?? null;
  if (report.install !== null) say(`Packages: ${report.install}`);
  if (values['dry-run'] === true) return;
  if (missing?.isWithin === true && values['no-install'] !== true) {
    io.stderr.writeLine('Installing them ...');
    report.problems.push(...[await installPackages(missing, folder, io)].filter((why) => why !== undefined));
  } else if (missing !== undefined) {
    const why = missing.isWithin ? '' : 'The lock file is in a folder above. ';
    report.problems.push(`${why}Install what is missing, then run setup again: ${report.install}`);
  }
  // What its user installs changes package.json, and an undo restores no file that was changed since.
  if (report.problems.length > 0) {
    report.problems.push('Nothing is written');
    return;
  }
  const plan = planChanges(project, values.run);
  writeChanges(folder, plan.changes, originals);
  if (plan.changes.length > 0) report.notes.push(KEPT);
  if (values['no-run'] !== true) await runOnce(project, plan, io, waitMs, report, say);
}

function showChange({ before, text }: FileEdit, file: string, report: Report, say: Say): void {
  // Lines beside a change may hold keys, and what is printed here ends in logs.
  const diff = diffLines(before?.toString('utf8') ?? '', text).map((line) => redactText(line));
  report.changes.push({ file, diff });
  say(`${file}${before === undefined ? ' (new)' : ''}:`);
  for (const line of diff) say(`  ${line}`);
}

/** Lock files are kept too, since an installation has changed them. */
function writeChanges(
  folder: string,
  changes: readonly FileEdit[],
  originals: ReadonlyMap<string, Buffer | undefined>,
): void {
  for (const change of changes) {
    const name = toShownPath(folder, change.path);
    const original = originals.has(name) ? originals.get(name) : change.before;
    writeWithBackup(change, BACKUP, original, 0o644);
  }
  const written = new Set(changes.map(({ path }) => toShownPath(folder, path)));
  for (const [name, original] of originals) {
    const path = join(folder, name);
    const now = readIfThere(path);
    if (!written.has(name) && now !== undefined && !isSame(now, original))
      keepBackup(path, BACKUP, original, original, now);
  }
}

async function runOnce(
  { folder, kinds }: Project,
  { command, entry, first }: SetupPlan,
  io: CommandIo,
  waitMs: number,
  report: Report,
  say: Say,
): Promise<void> {
  if (command === null || first !== null) {
    report.problems.push(`Not run: ${first ?? "it is not known how. Say so: --run 'node app.js'"}`);
    return;
  }
  say(`Running: ${printableLine(command)}`);
  io.stderr.writeLine(`Waiting up to ${waitMs / 1000} s for a span. A server needs a request meanwhile.`);
  const isMcp = kinds.some((kind) => kind.includes('MCP'));
  // What the command builds first is not there yet.
  const isStdioServer = entry !== null && (existsSync(entry) ? isOnStdio(entry) : isMcp);
  const onAddress = (url: URL) => {
    io.stderr.writeLine(`It names ${url.origin}: send it a request that calls a model or a tool.`);
    if (isMcp || isStdioServer) void greetOverHttp(url);
  };
  using ending = new EndingSignal();
  const stopped = new AbortController();
  void ending.wait().then(() => stopped.abort());
  const run = { command, folder, env: io.env, isStdioServer, waitMs, signal: stopped.signal, onAddress };
  const result = await awaitFirstSpan(run);
  report.span = result.span;
  if (result.span !== null) {
    say(`A span arrived: ${result.span.name} (${result.span.scope})`);
    say(
      result.isShown
        ? `What listens at ${RECEIVER} has it too: 'mcp-observatory up' shows it`
        : 'Where nothing else takes spans, this does, and shows them: npx mcp-observatory up',
    );
  } else report.problems.push(...(await explainAbsence(folder, entry, result, waitMs)));
}

async function explainAbsence(
  folder: string,
  entry: string | null,
  { others, exit, output }: FirstSpan,
  waitMs: number,
): Promise<readonly string[]> {
  const { modules, problems } = await diagnose({ folder, env: process.env });
  const traced = modules.filter(({ state }) => state === 'can be hooked').map(({ name }) => name);
  const end =
    exit === null
      ? `The program still ran after ${waitMs / 1000} s. If it is a server, send it a request meanwhile`
      : `The program ended (${typeof exit === 'number' ? `exit code ${exit}` : exit})`;
  const called =
    traced.length === 0
      ? 'Nothing that is traced is installed in this folder'
      : `It made no call with ${traced.join(', ')}, or sends its spans elsewhere`;
  const why = [
    // A program that failed says why itself.
    ...(exit === null || exit === 0 ? [called] : []),
    ...(entry === null || existsSync(entry) ? [] : [`${entry} is not there: build it first`]),
    ...(others > 0 ? [`${others} spans of other instrumentations came`] : []),
    ...problems.map(({ message }) => message),
  ];
  const printed = output.trim() === '' ? [] : ['It printed:', ...output.trimEnd().split('\n').slice(-20)];
  return [`No span arrived. ${[end, ...why].join('. ')}.`, ...printed.map((line) => printableLine(line))];
}

/** Folders in which a set-up may have written. */
const WRITTEN_IN = ['.', 'src', '.vscode', '.cursor', '.gemini'];

function undoAll({ folder, home }: Places, clients: readonly string[], report: Report, say: Say): void {
  const paths = WRITTEN_IN.flatMap((name) => listEdited(join(folder, name)));
  for (const path of new Set([...paths, ...clients.map((name) => findClientSettings(name, folder, home))])) {
    const backup = readBackup(path, BACKUP);
    if (backup === undefined) continue;
    const file = toShownPath(folder, path);
    const now = readIfThere(path);
    // It was never written: something ended the set-up before.
    if (isSame(now, backup.before)) {
      rmSync(`${path}${BACKUP}`);
      continue;
    }
    if (!isSame(now, backup.after)) {
      report.problems.push(
        `${file} was changed since, so it is not restored. ${file}${BACKUP} holds what it was`,
      );
      continue;
    }
    restoreFile(path, BACKUP, backup.before);
    report.restored.push(file);
    say(`${file} is ${backup.before === undefined ? 'removed' : 'as it was before'}`);
  }
  if (report.restored.length + report.problems.length === 0) say('There is nothing to undo');
}

/** The files of a folder that have a backup. Links, to the folder too, lead to what no set-up has written. */
function listEdited(folder: string): readonly string[] {
  if (!existsSync(folder) || realpathSync(folder) !== folder) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name.endsWith(BACKUP) && name !== BACKUP)
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name.slice(0, -BACKUP.length)));
}

/** Lines around a difference. */
const CONTEXT = 2;

/** The lines in which two texts differ, as `diff -u` shows them, from the first to the last. */
function diffLines(before: string, after: string): readonly string[] {
  const [one, other] = [toLines(before), toLines(after)];
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++;
  const end = one.length - tail;
  return [
    ...one.slice(Math.max(0, head - CONTEXT), head).map((line) => ` ${line}`),
    ...one.slice(head, end).map((line) => `-${line}`),
    ...other.slice(head, other.length - tail).map((line) => `+${line}`),
    ...one.slice(end, end + CONTEXT).map((line) => ` ${line}`),
  ];
}

function toLines(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
