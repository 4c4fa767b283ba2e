import { ChildProcess } from 'node:child_process';
import { PassThrough, Readable, Writable } from 'node:stream';
import type { PlayedServer } from './played-server.ts';
import type { SpawnedCommand } from './seams.ts';
import { Lines, rpcLine } from './traffic.ts';

/** Stands in for the process of an MCP server over stdio: looks started, reads its stdin, writes its stdout, ends. */
export function playedProcess({ command, args }: SpawnedCommand, server: PlayedServer): ChildProcess {
  const child = Reflect.construct(ChildProcess, []) as ChildProcess;
  let isOver = false;
  const stdout = new Readable({ read: () => {} });
  const stderr = new PassThrough();
  // What came in one chunk goes out in one, for clients that take up all of it before they go on.
  let unsent = '';
  const flush = (): void => {
    if (!isOver && unsent !== '') stdout.push(unsent);
    unsent = '';
  };
  const end = (code: number | null, signal: NodeJS.Signals | null): void => {
    if (isOver) return;
    flush();
    isOver = true;
    Object.assign(child, { exitCode: code, signalCode: signal });
    stdout.push(null);
    stderr.end();
    setImmediate(() => {
      child.emit('exit', code, signal);
      child.emit('close', code, signal);
    });
  };
  const lines = new Lines();
  const carrier = {
    send: (message: object) => {
      if (unsent === '') setImmediate(flush);
      unsent += `${JSON.stringify(message)}\n`;
    },
    die: () => end(1, null),
  };
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of lines.read(chunk)) {
        const message = rpcLine(line);
        if (message !== undefined) void server.receive(message, carrier);
      }
      done();
    },
    final(done) {
      done();
      end(0, null);
    },
  });
  const kill = (signal: NodeJS.Signals | number = 'SIGTERM'): boolean => {
    if (isOver) return false;
    end(null, typeof signal === 'number' ? 'SIGTERM' : signal);
    return true;
  };
  Object.assign(child, {
    stdin,
    stdout,
    stderr,
    stdio: [stdin, stdout, stderr],
    // No process has it.
    pid: 2 ** 31 - 1,
    spawnfile: command,
    spawnargs: [command, ...args],
    kill,
    ref: () => {},
    unref: () => {},
  });
  setImmediate(() => child.emit('spawn'));
  return child;
}
