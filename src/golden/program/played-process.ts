import { ChildProcess } from 'node:child_process';
import { PassThrough, Readable, Writable } from 'node:stream';
import { PlayedServer } from './played-server.ts';
import type { SpawnedCommand } from './seams.ts';
import { isOpening, Lines, rpcLine } from './traffic.ts';

/** How long a process that may be a server is not started, while nothing is written to it. */
const FIRST_LINE_MS = 200;

/** A process that its first line tells apart. */
interface Undecided {
  /** It opens a conversation with an MCP server. */
  server(): PlayedServer | undefined;
  /** It is another one, or the server is not known. */
  start(): ChildProcess;
}

/** Stands in for the process of an MCP server over stdio: looks started, reads its stdin, writes its stdout, ends. */
export function playedProcess(
  { command, args }: SpawnedCommand,
  chosen: PlayedServer | Undecided,
): ChildProcess {
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
    clearTimeout(undecided);
    Object.assign(child, { exitCode: code, signalCode: signal });
    stdout.push(null);
    stderr.end();
    setImmediate(() => {
      child.emit('exit', code, signal);
      child.emit('close', code, signal);
    });
  };
  let server = chosen instanceof PlayedServer ? chosen : undefined;
  let started: ChildProcess | undefined;
  const held: Buffer[] = [];
  const start = (): void => {
    if (chosen instanceof PlayedServer || server !== undefined || started !== undefined || isOver) return;
    started = chosen.start();
    started.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
    started.stderr?.on('data', (chunk: Buffer) => stderr.write(chunk));
    started.on('error', (error) => child.emit('error', error)).on('close', end);
    for (const chunk of held.splice(0)) started.stdin?.write(chunk);
  };
  const undecided = server === undefined ? setTimeout(start, FIRST_LINE_MS) : undefined;
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
      if (started !== undefined) return void started.stdin?.write(chunk, done);
      if (server === undefined) held.push(chunk);
      for (const line of lines.read(chunk)) {
        const message = rpcLine(line);
        if (message !== undefined && isOpening(message) && !(chosen instanceof PlayedServer))
          server ??= chosen.server();
        if (server === undefined) start();
        else if (message !== undefined) void server.receive(message, carrier);
      }
      if (server !== undefined) clearTimeout(undecided);
      done();
    },
    final(done) {
      done();
      start();
      if (started === undefined) end(0, null);
      else started.stdin?.end();
    },
  });
  const kill = (signal: NodeJS.Signals | number = 'SIGTERM'): boolean => {
    if (isOver) return false;
    if (started !== undefined) return started.kill(signal);
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
