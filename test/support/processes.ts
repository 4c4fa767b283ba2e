import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Ids of the live processes with the variable in their environment, without zombies. Linux only. */
export function processesWith(variable: string): number[] {
  return processIds().filter((pid) => {
    try {
      return (
        stateOf(pid) !== 'Z' && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(variable)
      );
    } catch {
      return false; // ended meanwhile
    }
  });
}

/** Ids of this process's children that live. */
export function children(): number[] {
  return processIds().filter((pid) => {
    try {
      return stateOf(pid) !== 'Z' && Number(statOf(pid)[1]) === process.pid;
    } catch {
      return false;
    }
  });
}

/** Ids of the live processes of a group. Linux only. */
export function processesOf(group: number): number[] {
  return processIds().filter((pid) => {
    try {
      return stateOf(pid) !== 'Z' && Number(statOf(pid)[2]) === group;
    } catch {
      return false;
    }
  });
}

const TICK_MS = 10;

/** CPU time, in milliseconds, of this process's children that have ended, and of theirs. Linux only. */
export function cpuOfEndedMs(): number {
  const [user, system] = statOf(process.pid).slice(13, 15).map(Number) as [number, number];
  return (user + system) * TICK_MS;
}

/** Sockets and pipes this process holds open. */
export function openSockets(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return /^socket:/.test(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      return false;
    }
  }).length;
}

/** Timers that keep this process alive. */
export function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
}

function processIds(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function stateOf(pid: number): string {
  return statOf(pid)[0] ?? '';
}

/** The fields of /proc/PID/stat from the state on. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
