/**
 * Loaded with `--import` before a program that must not use the network: every connection to another machine, every
 * name lookup and every child process is refused and counted on `globalThis`, as {@link Refusals}.
 */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { refuseSockets } from './refused-sockets.ts';

export interface Refusals {
  network: number;
  processes: number;
}

const refusals: Refusals = { network: 0, processes: 0 };
(globalThis as { refusals?: Refusals }).refusals = refusals;

refuseSockets(() => {
  refusals.network += 1;
});

for (const name of ['spawn', 'fork', 'exec', 'execFile'] as const) {
  (childProcess as Record<string, unknown>)[name] = () => {
    refusals.processes += 1;
    throw new Error(`no processes: ${name} was refused`);
  };
}
syncBuiltinESMExports();
