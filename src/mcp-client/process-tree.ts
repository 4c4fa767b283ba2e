/**
 * The process tree of a stdio server: how to find it, end it, and tie it to the life of this process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isDoneWithin, sliced } from '../base/index.ts';

/**
 * The environment variable that marks every process of a spawned server. A process that leaves its group (a daemon, a
 * browser that the server started detached) keeps its environment, so it can still be found.
 */
export const MARKER_VARIABLE = 'MCP_OBSERVATORY_SERVER';

const POLL_MS = 25;
/** Bound on waiting for the kernel to remove a process after SIGKILL. */
const REAP_MS = 1_000;

/**
 * Ends a server and everything it started: end of stdin, then SIGTERM to the group, then SIGKILL to all that is left.
 *
 * @param exit Resolves when the main process has exited.
 */
export async function endTree(
  child: ChildProcess,
  exit: Promise<void>,
  marker: string,
  closeTimeoutMs: number,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === 'win32') return endTreeOnWindows(child, pid, exit);
  const exited = child.exitCode !== null || child.signalCode !== null;
  // Read while the parents live: afterwards a child that left the group is a child of init.
  const since = exited ? undefined : readStat(pid)?.startTime;
  const known = exited ? [] : await findMembers(pid, marker, since);
  const deadline = performance.now() + closeTimeoutMs;
  child.stdin?.end();
  if (!exited) await isDoneWithin(closeTimeoutMs / 3, exit);
  if (signalGroup(pid, 'SIGTERM')) {
    for (let pause = POLL_MS; performance.now() < deadline && (await groupLives(pid, known)); pause *= 1.5) {
      await delay(Math.min(pause, 4 * POLL_MS));
    }
    signalGroup(pid, 'SIGKILL');
  }
  const found = [...known.filter(isAlive), ...(await findMembers(pid, marker, since))];
  const left = [...new Map(found.map((each) => [each.pid, each])).values()];
  signalProcesses(left, 'SIGKILL');
  await isDoneWithin(REAP_MS, exit);
  const reapDeadline = performance.now() + REAP_MS;
  while (performance.now() < reapDeadline && left.some(isAlive)) await delay(POLL_MS);
}

async function endTreeOnWindows(child: ChildProcess, pid: number, exit: Promise<void>): Promise<void> {
  child.stdin?.end();
  const taskkill = spawn('taskkill', ['/pid', String(pid), '/T', '/F'], {
    stdio: 'ignore',
    windowsHide: true,
  });
  taskkill.on('error', () => child.kill('SIGKILL'));
  await isDoneWithin(REAP_MS, exit);
}

async function groupLives(pid: number, known: readonly ProcessIdentity[]): Promise<boolean> {
  if (!signalGroup(pid, 0)) return false;
  // A zombie answers signal 0 too, but is not worth waiting for.
  if (process.platform !== 'linux') return true;
  if (known.some((each) => isAlive(each) && readStat(each.pid)?.group === pid)) return true;
  return (await findMembers(pid)).length > 0;
}

/** A program that can be ended with all that it has started. */
export interface ProcessTree<C extends ChildProcess> {
  readonly child: C;
  /** @param exit resolves when the program itself has ended. */
  readonly end: (exit: Promise<unknown>, closeTimeoutMs: number) => Promise<void>;
}

/**
 * Starts a program whose processes end with this one.
 * @param start spawns it in a group of its own where `detached` says so, with these variables in its environment.
 */
export function startTree<C extends ChildProcess>(
  start: (own: { readonly detached: boolean; readonly env: Readonly<Record<string, string>> }) => C,
): ProcessTree<C> {
  const marker = randomUUID();
  const child = start({ detached: process.platform !== 'win32', env: { [MARKER_VARIABLE]: marker } });
  const untie = child.pid === undefined ? undefined : tieToParent(child.pid, marker);
  const end = async (exit: Promise<unknown>, closeTimeoutMs: number): Promise<void> => {
    await endTree(
      child,
      exit.then(() => {}),
      marker,
      closeTimeoutMs,
    );
    await untie?.();
  };
  return { child, end };
}

/**
 * Waits for a line on stdin, which an orderly close writes. End of file without a line means that the host died, even
 * by `SIGKILL`: then the server's group is ended, and every process outside it that carries the marker.
 */
const GUARD_SCRIPT = `
read -r _ && exit 0
kill -TERM "-$1" 2>/dev/null
sleep 1
kill -KILL "-$1" 2>/dev/null
for file in $(grep -lsF "$2" /proc/[0-9]*/environ 2>/dev/null); do
  pid=\${file#/proc/}
  kill -KILL "\${pid%/environ}" 2>/dev/null
done
`;

/** How long a released guard may take to exit before it is killed. */
const RELEASE_TIMEOUT_MS = 500;

const liveGroups = new Set<number>();

/**
 * Ties a server's process group to the life of this process. Node cannot ask the kernel to end a child with its
 * parent, so there are two substitutes: an exit listener kills the group on `process.exit()` and uncaught errors, and
 * against sudden death a small `/bin/sh` watches a pipe from this process (see {@link GUARD_SCRIPT}). Without
 * `/bin/sh`, and on Windows, only the listener protects.
 *
 * @returns A function that ends the protection and resolves once the guard is gone.
 */
export function tieToParent(pid: number, marker: string): () => Promise<void> {
  if (liveGroups.size === 0) process.on('exit', killLiveGroups);
  liveGroups.add(pid);
  const guard = process.platform === 'win32' ? undefined : startGuard(pid, marker);
  return async () => {
    liveGroups.delete(pid);
    if (liveGroups.size === 0) process.off('exit', killLiveGroups);
    if (guard !== undefined) await release(guard);
  };
}

function startGuard(pid: number, marker: string): ChildProcess {
  const guard = spawn(
    '/bin/sh',
    ['-c', GUARD_SCRIPT, 'mcp-observatory-guard', String(pid), `${MARKER_VARIABLE}=${marker}`],
    {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
      // Its own group: Ctrl-C in a terminal must reach the host, not the guard.
      detached: true,
    },
  );
  guard.on('error', () => undefined); // no /bin/sh: the exit listener remains
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  (guard.stdin as unknown as { unref?: () => void }).unref?.();
  return guard;
}

async function release(guard: ChildProcess): Promise<void> {
  if (guard.pid === undefined || guard.exitCode !== null || guard.signalCode !== null) return;
  const timeout = setTimeout(() => guard.kill('SIGKILL'), RELEASE_TIMEOUT_MS);
  guard.ref();
  guard.stdin?.end('closed\n');
  await once(guard, 'close').catch(() => undefined);
  clearTimeout(timeout);
}

function killLiveGroups(): void {
  for (const pid of liveGroups) signalGroup(pid, 'SIGKILL');
}

/** One process; the start time tells it apart from a later one with the same id. */
interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

/** Sends a signal to a whole process group; false when no process is in it any more. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    // EPERM: something is there that we may not signal, for instance a set-uid program.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function signalProcesses(processes: readonly ProcessIdentity[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // Already gone, which is what we want.
    }
  }
}

/**
 * The live processes that belong to a spawned server: its descendants, its process group and, when `marker` is given,
 * every process that carries it. Reads /proc, so the result is empty on other systems, where only the group is known.
 * Zombies do not count: they hold nothing and wait for their parent.
 * @param since when the server started, if known: an older process carries no marker of it, so its environment is not
 *   read.
 */
async function findMembers(
  root: number,
  marker?: string,
  since?: string,
): Promise<readonly ProcessIdentity[]> {
  const pids = await numericEntries('/proc');
  const table = new Map<number, ProcessStat>();
  const pause = sliced();
  for (const pid of pids) {
    await pause();
    const stat = readStat(pid);
    if (stat !== undefined) table.set(pid, stat);
  }
  const mayCarry = ({ startTime }: ProcessStat) => since === undefined || Number(startTime) >= Number(since);
  const needle = marker === undefined ? undefined : `${MARKER_VARIABLE}=${marker}`;
  const members: ProcessIdentity[] = [];
  for (const [pid, stat] of table) {
    if (stat.state === 'Z' || stat.state === 'X') continue;
    await pause();
    if (
      stat.group === root ||
      descendsFrom(pid, root, table) ||
      (needle !== undefined && mayCarry(stat) && findEnvironment(pid)?.includes(needle))
    ) {
      members.push({ pid, startTime: stat.startTime });
    }
  }
  return members;
}

function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  const stat = readStat(pid);
  return stat !== undefined && stat.startTime === startTime && stat.state !== 'Z';
}

interface ProcessStat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly startTime: string;
}

function descendsFrom(pid: number, root: number, table: ReadonlyMap<number, ProcessStat>): boolean {
  let current = pid;
  // The bound guards against a table that changed while it was read.
  for (let depth = 0; depth < 64 && current > 1; depth++) {
    if (current === root) return true;
    current = table.get(current)?.parent ?? 0;
  }
  return false;
}

/** Fields of /proc/PID/stat, see proc(5); the name in parentheses may itself hold spaces and parentheses. */
function readStat(pid: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return {
      state: fields[0] ?? '',
      parent: Number(fields[1]),
      group: Number(fields[2]),
      startTime: fields[19] ?? '',
    };
  } catch {
    return undefined; // ended between the listing and the reading
  }
}

function findEnvironment(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return undefined; // another user's process
  }
}

async function numericEntries(folder: string): Promise<number[]> {
  try {
    return (await readdir(folder)).map(Number).filter(Number.isInteger);
  } catch {
    return []; // no /proc here
  }
}
