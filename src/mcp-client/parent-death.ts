import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { MARKER_VARIABLE, signalGroup } from './process-tree.ts';

/**
 * Waits for a line on stdin, which an orderly close writes. End of file without one means that the host died in any
 * way, `SIGKILL` included: then the server's group, and what left the group but carries the marker, is ended.
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

/** How long a guard that was told to go may take before it is ended by force. */
const RELEASE_TIMEOUT_MS = 500;

const liveGroups = new Set<number>();

/**
 * Ties a server's process group to the life of this process. Node cannot ask the kernel to end a child with its
 * parent, so two things stand in: on `process.exit()` and uncaught errors the group is killed from an exit listener;
 * against sudden death a small `/bin/sh` watches a pipe from this process (see {@link GUARD_SCRIPT}). Where there is
 * no `/bin/sh`, and on Windows, only the first holds.
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
      // Its own group: Ctrl-C in a terminal must reach the host and not the guard.
      detached: true,
    },
  );
  guard.on('error', () => undefined); // no /bin/sh: the exit listener is what is left
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
