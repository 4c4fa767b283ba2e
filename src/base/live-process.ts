import { readFile } from 'node:fs/promises';

/** Start time of a process in kernel ticks, to detect a reused pid; `undefined` where unknown. */
export async function startOfProcess(pid: number): Promise<string | undefined> {
  // Field 22 of /proc/<pid>/stat; the fields before it may hold spaces only inside the last parenthesis.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** Whether a process of this machine has a pid; it may be another than the one that had it. */
export function isPidInUse(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process is alive on this machine and is the one with that start time. */
export async function isProcessAlive(pid: number, started: string | undefined): Promise<boolean> {
  return isPidInUse(pid) && (started === undefined || started === (await startOfProcess(pid)));
}
