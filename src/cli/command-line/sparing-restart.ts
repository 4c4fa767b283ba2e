import { accessSync, constants } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

/** How many arenas of memory glibc has. Its own default is one per thread, and each keeps what it once needed. */
const ARENAS = 'MALLOC_ARENA_MAX';
/**
 * Flags of V8: room for new objects, of which it keeps three times as much (MB; its own default is 16, and 32 from Node 24
 * on), by how much a heap may grow before it is tidied (percent; its own default is up to 300), and one compiler for
 * WebAssembly: the optimizing one takes up to 500 MB for some functions of PGlite, whose scans it makes a third faster.
 */
const FLAGS = [
  '--max-semi-space-size=8',
  '--heap-growing-percent=20',
  '--no-wasm-tier-up',
  '--no-wasm-dynamic-tiering',
];

/** Absent before Node 22.15. */
type Execve = (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => never;

/**
 * Makes this process, which is to hold an embedded database, do with two thirds of the memory: starts its program anew in
 * the same process, since the settings for that are read at the start. Only once, on Linux, and not where a parent talks
 * over a channel that would be lost, or a debugger may. Elsewhere V8 takes the flags from here on.
 */
export function restartSparingly(): void {
  const { execve } = process as { execve?: Execve };
  if (process.env[ARENAS] !== undefined) return;
  const isDebugged = process.getBuiltinModule('node:inspector')?.url() !== undefined;
  if (execve !== undefined && process.platform === 'linux' && !process.connected && !isDebugged) {
    const args = [process.argv0, ...FLAGS, ...process.execArgv, ...process.argv.slice(1)];
    try {
      // What cannot be started would end this process.
      accessSync(process.execPath, constants.X_OK);
      execve.call(process, process.execPath, args, { ...process.env, [ARENAS]: '1' });
    } catch {
      // Node has been moved, or a permission model does not allow it.
    }
  }
  for (const flag of FLAGS) setFlagsFromString(flag);
}
