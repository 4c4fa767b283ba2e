import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { diag } from '@opentelemetry/api';
import { isDoneWithin, ObservatoryError } from '../base/index.ts';
import { writeIntegers } from '../json/index.ts';
import { AnswerBacklog } from './answer-backlog.ts';
import type { StdioServerConfig } from './config.ts';
import { messagesIn } from './envelope.ts';
import { serverEnvironment } from './environment.ts';
import { NeverRan } from './http-refusal.ts';
import { LineBuffer, TailBuffer } from './line-buffer.ts';
import type { MessageLimits } from './message-meter.ts';
import { endTree, MARKER_VARIABLE, tieToParent } from './process-tree.ts';
import type { JsonRpcMessage, Transport } from './session.ts';
import type { ConnectionOptions } from './types.ts';

const STDERR_TAIL_BYTES = 16 * 1024;
/** Characters kept of what a program writes to stdout that is no message. */
const STDOUT_HEAD_CHARS = 1_024;
/** Requests that wait for a server that does not read its stdin. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** Time to read what a server wrote before it ended. */
const DRAIN_MS = 200;
/** Time for the exit event to follow the end of a pipe; a server that lives on without its stdout is ended after it. */
const EXIT_LAG_MS = 1_000;

/**
 * Starts a server and exchanges newline-delimited JSON-RPC with it. Unlike the transports of the SDKs it owns the whole
 * process tree: the server runs in its own process group, and no process of the tree survives `close()`, a crash, or the
 * death of this process, wrappers (`npx`, `uvx`, `sh -c`) and their children included. The pipes are destroyed, so a
 * survivor could not keep the host alive either.
 *
 * Fits the `Transport` interface of both SDKs.
 */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];

  readonly #config: StdioServerConfig;
  readonly #closeTimeoutMs: number;
  readonly #lines: LineBuffer;
  readonly #stderrTail: TailBuffer = new TailBuffer(STDERR_TAIL_BYTES);
  readonly #backlog: AnswerBacklog = new AnswerBacklog((error) => this.#fail(error.message));
  readonly #marker: string = randomUUID();
  #child: ChildProcess | undefined;
  #exit: Promise<void> = Promise.resolve();
  #unguard: (() => Promise<void>) | undefined;
  #ending: Promise<void> | undefined;
  #ended = false;
  #causeOfEnd: string | undefined;
  #stdout = '';
  readonly #unsent: Set<() => void> = new Set();

  constructor(
    config: StdioServerConfig,
    options: MessageLimits & Pick<ConnectionOptions, 'closeTimeoutMs'> = {},
  ) {
    this.#config = config;
    this.#closeTimeoutMs = options.closeTimeoutMs ?? 1_500;
    this.#lines = new LineBuffer(options);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The last 16 KiB the server wrote to stderr. (Client v2 knows a stdio transport by its `pid` and `stderr`.) */
  get stderr(): string {
    return this.#stderrTail.toString();
  }

  /** The first of what it wrote to stdout that is no message of MCP. */
  get stdout(): string {
    return this.#stdout;
  }

  /** Why the server is gone without `close()`: its exit code or signal, or what it did wrong. */
  get causeOfEnd(): string | undefined {
    return this.#causeOfEnd;
  }

  async start(): Promise<void> {
    if (this.#child !== undefined) throw new Error('This transport has been started already.');
    const { command, args, cwd, env, name } = this.#config;
    if (cwd !== undefined && !(await isFolder(cwd))) {
      throw new ObservatoryError(
        'SERVER_UNAVAILABLE',
        `Server "${name}": the folder ${JSON.stringify(cwd)} given as "cwd" does not exist.`,
      );
    }
    if (this.#ending !== undefined) throw new Error('This transport has been closed.');
    const child = spawn(command, [...args], {
      cwd,
      env: { ...serverEnvironment(env), [MARKER_VARIABLE]: this.#marker },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#child = child;
    child.stdin?.on('error', (error) => this.onerror?.(error));
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) => reject(spawnError(this.#config, cause)));
    });
    child.on('error', (error) => this.onerror?.(error));
    if (child.pid !== undefined) this.#unguard = tieToParent(child.pid, this.#marker);
    child.stdout?.on('data', (chunk: Buffer) => void this.#receive(chunk));
    child.stdout?.on('error', (error) => this.onerror?.(error));
    child.stderr?.on('data', (chunk: Buffer) => this.#stderrTail.push(chunk));
    child.stderr?.on('error', () => undefined);
    this.#exit = new Promise((resolve) => child.once('exit', () => resolve()));
    child.once('exit', () => void this.#afterExit(child));
    child.stdout?.once('end', () => void this.#afterStdout(child));
    if (hasExited(child)) void this.#afterExit(child);
  }

  send(message: JsonRpcMessage): Promise<void> {
    const child = this.#child;
    const stdin = child?.stdin;
    if (!stdin || this.#ending !== undefined)
      return Promise.reject(new NeverRan(this.#causeOfEnd ?? 'the server is not running'));
    if (!stdin.writable) {
      const closed = new Error('the server closed its stdin');
      return new Promise((_resolve, reject) => this.#failUnsent(child, closed, reject));
    }
    const line = `${writeIntegers(JSON.stringify(message))}\n`;
    const taken = message.method === undefined ? this.#backlog.add(line.length) : undefined;
    const queued = stdin.writableLength;
    if (taken === undefined && queued > 0 && queued + line.length > MAX_QUEUED_BYTES) {
      const problem = `does not read its stdin, where ${queued} bytes wait`;
      return Promise.reject(new Error(`Server "${this.#config.name}" ${problem}.`));
    }
    return new Promise((resolve, reject) => {
      // Called when the kernel has taken the line, or with the error of a broken pipe, which nobody awaits for an answer.
      stdin.write(line, (error) => {
        taken?.();
        // What has not been written to its end was no line yet.
        if (error && taken === undefined) this.#failUnsent(child, error, reject);
        else resolve();
      });
    });
  }

  /** Rejects a request that was not written, with the exit that was the reason, before those that may have run fail. */
  #failUnsent(child: ChildProcess, error: Error, reject: (error: Error) => void): void {
    const fail = () => reject(new NeverRan(findExit(child) ?? error.message));
    this.#unsent.add(fail);
    void this.#awaitExit(child).then(fail);
  }

  /** Ends the server and everything it started. Never rejects; takes at most `closeTimeoutMs` plus a second. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #receive(chunk: Buffer): Promise<void> {
    if (this.#ended) return;
    const stdout = this.#child?.stdout;
    try {
      for (const line of this.#lines.push(chunk)) {
        if (line !== '') this.#dispatch(line);
        if (!this.#lines.takeTurn()) continue;
        // Without data events in between: the rest of this chunk comes first.
        stdout?.pause();
        await nextTurn();
        await this.#backlog.room();
        stdout?.resume();
        if (this.#ended) return;
      }
    } catch (error) {
      this.#fail(`the server sent ${error instanceof RangeError ? error.message : String(error)}`);
    }
  }

  #dispatch(line: string): void {
    const messages = messagesIn(line);
    // Many servers log to stdout: the next line may be a message.
    if (messages.length === 0 && this.#stdout.length < STDOUT_HEAD_CHARS)
      this.#stdout += `${line.slice(0, STDOUT_HEAD_CHARS)}\n`;
    for (const message of messages) {
      if (message.method === 'initialize') {
        this.#fail('the program repeats what it is sent, so it is no MCP server');
        return;
      }
      try {
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  /** The main process is gone. Its last output may still be in the pipe, which a child may hold open. */
  async #afterExit(child: ChildProcess): Promise<void> {
    this.#backlog.close();
    if (this.#ending === undefined) this.#causeOfEnd ??= findExit(child);
    if (child.stdout !== null && !child.stdout.readableEnded) {
      await isDoneWithin(DRAIN_MS, new Promise<void>((resolve) => child.stdout?.once('close', resolve)));
    }
    await this.close();
  }

  /** The exit code of a server says more than a pipe that ends or breaks: whichever is seen first, report the exit. */
  async #awaitExit(child: ChildProcess): Promise<void> {
    if (!hasExited(child)) await isDoneWithin(EXIT_LAG_MS, this.#exit);
    // On a busy machine the timer runs before the exit event that is already waiting.
    if (!hasExited(child)) await nextTurn();
  }

  async #afterStdout(child: ChildProcess): Promise<void> {
    await this.#awaitExit(child);
    if (this.#ending === undefined) this.#causeOfEnd ??= findExit(child) ?? 'the server closed its stdout';
    await this.close();
  }

  #fail(cause: string): void {
    if (this.#ending !== undefined) return;
    this.#causeOfEnd = cause;
    void this.close();
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#ended = true;
    this.#backlog.close();
    for (const fail of this.#unsent) fail();
    if (this.#unsent.size > 0) await nextTurn();
    // First, so that calls in flight fail at once instead of waiting for processes to end.
    this.onclose?.();
    try {
      if (child !== undefined) await endTree(child, this.#exit, this.#marker, this.#closeTimeoutMs);
    } catch (error) {
      diag.warn(`mcp-observatory: ending server "${this.#config.name}" failed`, error);
    }
    child?.stdin?.destroy();
    child?.stdout?.destroy();
    child?.stderr?.destroy();
    await this.#unguard?.();
    this.#lines.clear();
  }
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function findExit(child: ChildProcess): string | undefined {
  if (!hasExited(child)) return undefined;
  return child.signalCode === null
    ? `the process exited with code ${child.exitCode}`
    : `the process was ended by ${child.signalCode}`;
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function spawnError(config: StdioServerConfig, cause: Error): ObservatoryError {
  const code = (cause as NodeJS.ErrnoException).code;
  const command = JSON.stringify(config.command);
  const isLine = /\S\s+\S/.test(config.command);
  const what =
    code === 'ENOENT'
      ? `the command ${command} was not found; ${isLine ? 'give the program alone as "command", and the rest as "args"' : 'install it, or give its full path'}`
      : code === 'EACCES'
        ? `the command ${command} may not be executed; check its permissions`
        : `the command ${command} could not be started (${cause.message})`;
  return new ObservatoryError('SERVER_UNAVAILABLE', `Server "${config.name}": ${what}.`, { cause });
}
