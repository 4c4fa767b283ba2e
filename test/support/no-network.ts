/**
 * Loaded with `--import` before a program that must do without the network: every connection to another machine, every
 * look-up of a name and every child process is refused and counted, on `globalThis`, as {@link Refusals}.
 */
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

export interface Refusals {
  network: number;
  processes: number;
}

const refusals: Refusals = { network: 0, processes: 0 };
(globalThis as { refusals?: Refusals }).refusals = refusals;

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/;

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
  const [first] = args.flat() as [unknown];
  const target = (typeof first === 'object' && first !== null ? first : {}) as {
    host?: string;
    path?: string;
  };
  const host = target.host ?? (typeof args.flat()[1] === 'string' ? String(args.flat()[1]) : 'localhost');
  if (target.path === undefined && !LOOPBACK.test(host)) {
    refusals.network += 1;
    throw new Error(`no network: a connection to ${host} was refused`);
  }
  return (connect as (...all: unknown[]) => net.Socket).apply(this, args);
} as typeof connect;

dgram.Socket.prototype.send = () => {
  refusals.network += 1;
  throw new Error('no network: a datagram was refused');
};

for (const name of ['spawn', 'fork', 'exec', 'execFile'] as const) {
  (childProcess as Record<string, unknown>)[name] = () => {
    refusals.processes += 1;
    throw new Error(`no processes: ${name} was refused`);
  };
}
syncBuiltinESMExports();
