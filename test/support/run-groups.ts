import { type ChildProcess, spawn } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GroupMessage } from './group-reporter.ts';
import { TestReport } from './test-report.ts';

const PROGRAM = fileURLToPath(new URL('./group-process.js', import.meta.url));
const REPORTER = new URL('./group-reporter.js', import.meta.url).href;
/** How long a process may live after its last test; `group-process.ts` reports what is open before that. */
const EXIT_TIMEOUT_MS = 20_000;
const MAX_OUTPUT_CHARS = 20_000;
/** How long the output of a failed test may be behind the message that it failed. */
const OUTPUT_DELAY_MS = 100;

export interface GroupOptions {
  /** How many processes run at a time. */
  readonly processes: number;
  /** How long a file may take; its process is killed then, and the files after it run in another one. */
  readonly fileTimeoutMs: number;
  readonly env: NodeJS.ProcessEnv;
}

/** Whether a suite is one of those that `suites-without-network.long.test.ts` runs in full. */
export function runsWithoutNetwork(name: string): boolean {
  return /^(?:orchestrator|policy)-.*\.test\.js$/.test(name) && !name.endsWith('.long.test.js');
}

/** Runs each group of test files in a process of its own; the outcome is in the report. */
export async function runGroups(
  groups: readonly (readonly string[])[],
  options: GroupOptions,
  report: TestReport,
): Promise<void> {
  const waiting = [...groups];
  const lane = async () => {
    for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
      for (let rest = files; rest.length > 0; ) rest = await runProcess(rest, options, report);
    }
  };
  await Promise.all(Array.from({ length: options.processes }, lane));
}

/**
 * Runs each file that failed once more, with nothing beside it: tests of memory, of the event loop and of many processes
 * fail where two others share the processors. The report shows what passes only then as unsteady.
 */
export async function runFailedAlone(
  files: readonly string[],
  options: GroupOptions,
  report: TestReport,
  out: ConstructorParameters<typeof TestReport>[0],
): Promise<void> {
  for (const name of report.failedFiles) {
    const file = files.find((one) => basename(one) === name);
    if (file === undefined) continue;
    out.write(`Once more, alone: ${name}\n`);
    const again = new TestReport(out);
    await runGroups([[file]], options, again);
    if (again.passed) report.passedAlone(name);
  }
}

/** Returns the files that did not run, because one before them ended the process. */
function runProcess(
  files: readonly string[],
  { env, fileTimeoutMs }: GroupOptions,
  report: TestReport,
): Promise<readonly string[]> {
  const { NODE_TEST_CONTEXT: _, ...inherited } = env;
  const child = spawn(process.execPath, [`--test-reporter=${REPORTER}`, PROGRAM, ...files], {
    env: inherited,
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const killGroup = () => kill(child);
  process.once('exit', killGroup);

  const names = files.map((file) => basename(file));
  let running = names[0];
  let lastStarted: string | undefined;
  let ended = 0;
  let isPassed = true;
  let output = '';
  let open = '';
  let killedFor: string | undefined;
  let deadline = limit(fileTimeoutMs, `did not end within ${fileTimeoutMs / 1000} s`);

  function limit(timeoutMs: number, reason: string): NodeJS.Timeout {
    return setTimeout(() => {
      killedFor = reason;
      kill(child);
    }, timeoutMs);
  }
  // What a test printed before it failed comes through a pipe, which may be later than the message that it failed.
  const late: GroupMessage[] = [];
  const tellNow = () => {
    for (const message of late.splice(0)) if (message.kind === 'ended') report.ended(message, output);
  };
  const tellLast = () => {
    tellNow();
    output = '';
  };
  // The next file is announced at once, the end of the one before it when its events are through.
  let isOfEarlier = false;
  const forgetEarlier = () => {
    if (!isOfEarlier || names.indexOf(running ?? '') > ended) return;
    isOfEarlier = false;
    if (late.length === 0) output = '';
    else setImmediate(tellLast);
  };
  const tellSoon = (message: GroupMessage) => {
    late.push(message);
    // After the delay once more what has come is read, before it is told: a busy machine runs the timer first.
    setTimeout(() => setImmediate(tellNow), OUTPUT_DELAY_MS);
  };
  const onOutput = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-MAX_OUTPUT_CHARS);
  };
  child.stdout?.on('data', onOutput);
  child.stderr?.on('data', onOutput);
  child.on('message', (message: GroupMessage) => {
    if (message.kind === 'note') report.note(message.text);
    if (message.kind === 'open') open = message.text;
    if (message.kind === 'started') {
      lastStarted = message.path.join(' > ');
      // Its events announce a file once more, perhaps after the next one.
      const [file = ''] = message.path;
      if (message.path.length > 1 || names.indexOf(file) <= names.indexOf(running ?? '')) return;
      running = file;
      isOfEarlier = true;
      forgetEarlier();
    }
    if (message.kind !== 'ended') return;
    if (message.outcome === 'failed') {
      isPassed = false;
      tellSoon(message);
    } else report.ended(message, output);
    if (message.path.length > 1 || message.path[0] !== names[ended]) return;
    ended += 1;
    forgetEarlier();
    clearTimeout(deadline);
    deadline =
      ended < names.length
        ? limit(fileTimeoutMs, `did not end within ${fileTimeoutMs / 1000} s`)
        : limit(EXIT_TIMEOUT_MS, 'kept its process alive');
  });

  return new Promise((resolve, reject) => {
    child.on('error', reject);
    // What a test left running keeps the pipes open; nothing of it may outlive the tests.
    child.on('exit', () => {
      if (ended === names.length) deadline.refresh();
    });
    child.on('close', (code, signal) => {
      clearTimeout(deadline);
      tellNow();
      process.off('exit', killGroup);
      kill(child);
      if (ended < names.length) {
        const how = killedFor ?? `ended its process with ${signal ?? `code ${code}`}`;
        report.failed(running ?? '', `${how}; the last test started was: ${lastStarted ?? 'none'}`, output);
        resolve(files.slice(Math.max(names.indexOf(running ?? ''), ended) + 1));
        return;
      }
      const group = names.join(', ');
      if (killedFor !== undefined)
        report.failed(group, `${killedFor}; open: ${open || 'a child process'}`, output);
      else if (code !== 0 && isPassed) report.failed(group, `ended with ${signal ?? `code ${code}`}`, output);
      resolve([]);
    });
  });
}

/** Ends a process and what it started. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
