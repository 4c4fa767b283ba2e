import { readdir, readFile } from 'node:fs/promises';

/**
 * The environment variable that marks every process of a spawned server. A process that leaves its group (a browser
 * started "detached" by a server, a daemon) keeps its environment, so it is still found when the server goes.
 */
export const MARKER_VARIABLE = 'MCP_OBSERVATORY_SERVER';

/** One process that existed at a moment; the start time tells it from a later one with the same id. */
interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

/** Sends a signal to a whole process group; false when no process is in it any more. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    // EPERM: something is there that we may not signal, for instance a set-uid program.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function signalProcesses(processes: readonly ProcessIdentity[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone in the meantime, which is what was wanted.
    }
  }
}

/**
 * The live processes that belong to a spawned server: its descendants, its process group, and whatever carries its
 * marker (where one is given: that costs a second file per process of the system). Reads /proc, so the answer is empty on other systems, where the group alone is known. Zombies do not count:
 * they hold nothing and wait for their parent.
 */
export async function findMembers(root: number, marker?: string): Promise<readonly ProcessIdentity[]> {
  const pids = await numericEntries('/proc');
  const table = new Map<number, ProcessStat>();
  for (const pid of pids) {
    const stat = await readStat(pid);
    if (stat !== undefined) table.set(pid, stat);
  }
  const needle = marker === undefined ? undefined : `${MARKER_VARIABLE}=${marker}`;
  const members: ProcessIdentity[] = [];
  for (const [pid, stat] of table) {
    if (stat.state === 'Z' || stat.state === 'X') continue;
    if (
      stat.group === root ||
      descendsFrom(pid, root, table) ||
      (needle !== undefined && (await environmentOf(pid))?.includes(needle))
    ) {
      members.push({ pid, startTime: stat.startTime });
    }
  }
  return members;
}

/** Those of `processes` that still run. */
export async function stillAlive(processes: readonly ProcessIdentity[]): Promise<readonly ProcessIdentity[]> {
  const alive: ProcessIdentity[] = [];
  for (const identity of processes) {
    const stat = await readStat(identity.pid);
    if (stat !== undefined && stat.startTime === identity.startTime && stat.state !== 'Z')
      alive.push(identity);
  }
  return alive;
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
async function readStat(pid: number): Promise<ProcessStat | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1');
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

async function environmentOf(pid: number): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/environ`, 'latin1');
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
