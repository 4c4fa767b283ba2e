/**
 * Loaded with NODE_OPTIONS=--import=... before a program and every Node process it starts, including those with their
 * own environment, such as MCP servers. Sockets to anything but loopback are refused, each with a line in the file that
 * REFUSED_SOCKETS names.
 */
import { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { refuseSockets } from './refused-sockets.ts';

const HANDED_ON = ['NODE_OPTIONS', 'REFUSED_SOCKETS'];
const { REFUSED_SOCKETS: file } = process.env;
if (file === undefined) throw new Error('REFUSED_SOCKETS must name a file');

refuseSockets((what) => appendFileSync(file, `${what} from ${process.argv.join(' ')}\n`));

/** Every child is started through this method, with its environment as `NAME=value`. */
const starter = ChildProcess.prototype as unknown as {
  spawn(this: ChildProcess, options: { envPairs?: string[] }): number;
};
const { spawn } = starter;
starter.spawn = function (options) {
  const given = options.envPairs ?? [];
  const missing = HANDED_ON.filter((name) => !given.some((pair) => pair.startsWith(`${name}=`)));
  return spawn.call(this, {
    ...options,
    envPairs: [...given, ...missing.map((name) => `${name}=${process.env[name]}`)],
  });
};
