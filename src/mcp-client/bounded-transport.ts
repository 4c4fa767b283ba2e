/** Bounds a transport of the official SDKs that the application made itself. */
import type { ChildProcess } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fetchWithinOrigin } from '../base/index.ts';
import { isObject } from '../json/index.ts';
import { AnswerBacklog } from './answer-backlog.ts';
import { answersInTurn } from './answers-in-turn.ts';
import { messagesIn } from './envelope.ts';
import { passAnswerOn, requestIdIn } from './http-answer.ts';
import { LineBuffer } from './line-buffer.ts';
import type { MessageLimits } from './message-meter.ts';
import { boundMessages } from './response-body.ts';
import type { JsonRpcMessage } from './session.ts';

/** The parts of `StdioClientTransport` that are used here, in both generations of the SDK. */
interface SdkStdioTransport extends Closable {
  _readBuffer: { append(chunk: Buffer): void; readMessage(): unknown; clear(): void };
  readonly _process?: ChildProcess | undefined;
  processReadBuffer(): void;
}

interface SdkHttpTransport extends Closable {
  _fetch?: typeof fetch | undefined;
  _eventSourceInit?: { readonly fetch?: typeof fetch } | undefined;
  /** For OAuth. */
  _fetchWithInit?: typeof fetch | undefined;
}

interface Closable {
  close(): Promise<void>;
  onerror?: ((error: Error) => void) | undefined;
}

const bounded = new WeakSet<object>();

/**
 * Bounds the messages that a transport reads from now on, what its server makes it send, and where it follows redirects,
 * as with those of our own. A transport of another kind is left as it is, and so is an event stream that is being read
 * already.
 */
export function boundTransport(transport: unknown, limits: MessageLimits): void {
  if (!isObject(transport) || bounded.has(transport)) return;
  bounded.add(transport);
  if (isStdio(transport)) boundLines(transport, limits);
  else if (isHttp(transport)) boundResponses(transport, limits);
}

function isStdio(transport: object): transport is SdkStdioTransport {
  const { _readBuffer: buffer, processReadBuffer, close } = transport as Partial<SdkStdioTransport>;
  return [buffer?.append, buffer?.readMessage, buffer?.clear, processReadBuffer, close].every(
    (member) => typeof member === 'function',
  );
}

function isHttp(transport: object): transport is SdkHttpTransport {
  return '_fetch' in transport && typeof (transport as Partial<SdkHttpTransport>).close === 'function';
}

function end(transport: Closable, error: Error): void {
  transport.onerror?.(error);
  transport.close().catch(() => undefined);
}

function boundLines(transport: SdkStdioTransport, limits: MessageLimits): void {
  const buffer = new LineBuffer(limits);
  let lines: Iterator<string> | undefined;
  /** Messages of the last line, the next one last. */
  let batch: JsonRpcMessage[] = [];
  const waiting: Buffer[] = [];
  let isPaused = false;
  let isEnded = false;
  const fail = (error: Error): void => {
    if (isEnded) return;
    isEnded = true;
    clear();
    end(transport, error);
  };
  const asked = new AskedOverStdin(fail);
  const pause = async (child: ChildProcess | undefined): Promise<void> => {
    isPaused = true;
    child?.stdout?.pause();
    await nextTurn();
    if (child !== undefined) await asked.room(child);
    isPaused = false;
    // The SDK forgets the process when it closes it, and waits for the end of its output.
    if (transport._process === undefined) isEnded = true;
    transport.processReadBuffer();
    // Unless that has paused again, all that came is read.
    if (!isPaused) child?.stdout?.resume();
  };
  const clear = (): void => {
    lines = undefined;
    batch = [];
    waiting.length = 0;
    buffer.clear();
  };
  transport._readBuffer = {
    append: (chunk) => {
      if (!isEnded) waiting.push(chunk);
    },
    /** The next message, or null when none is complete or the event loop is to turn first. */
    readMessage: () => {
      if (isPaused || isEnded) return null;
      try {
        for (;;) {
          const message = batch.pop();
          if (message !== undefined) return message;
          if (buffer.takeTurn()) {
            void pause(transport._process);
            return null;
          }
          const chunk = lines === undefined ? waiting.shift() : undefined;
          if (chunk !== undefined) lines = buffer.push(chunk);
          if (lines === undefined) return null;
          const { done, value } = lines.next();
          if (done === true) lines = undefined;
          else if (value !== '') {
            batch = [...parse(value)].reverse();
            if (batch.some(({ method, id }) => method !== undefined && id !== undefined))
              asked.add(value.length);
          }
        }
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        fail(new Error(`the server sent ${error.message}`));
        return null;
      }
    },
    clear,
  };
}

/** The requests of a server whose answers may still be in its stdin. */
class AskedOverStdin {
  readonly #backlog: AnswerBacklog;
  #requests: (() => void)[] = [];

  constructor(onStalled: (error: Error) => void) {
    this.#backlog = new AnswerBacklog(onStalled);
  }

  add(bytes: number): void {
    this.#requests.push(this.#backlog.add(bytes));
  }

  /** Resolves when the server has read its stdin, or has ended, if it had asked for much. */
  async room({ stdin }: ChildProcess): Promise<void> {
    if (stdin?.writableNeedDrain !== true) return this.#taken();
    if (!this.#backlog.isFull) return;
    const onDrain = () => this.#taken();
    const onClose = () => this.#backlog.close();
    stdin.once('drain', onDrain).once('close', onClose);
    await this.#backlog.room();
    stdin.off('drain', onDrain).off('close', onClose);
  }

  #taken(): void {
    for (const taken of this.#requests) taken();
    this.#requests = [];
  }
}

/** The messages in a line. A line without one is an error of the transport, as with the SDK's own buffer. */
function parse(line: string): readonly JsonRpcMessage[] {
  const messages = messagesIn(line);
  if (messages.length > 0) return messages;
  throw new TypeError('The server wrote a line that is no JSON-RPC message');
}

function boundResponses(transport: SdkHttpTransport, limits: MessageLimits): void {
  const onExceeded = (error: Error): void => end(transport, error);
  const backlog = new AnswerBacklog(onExceeded);
  const bound = (inner: typeof fetch): typeof fetch => {
    const send = answersInTurn(fetchWithinOrigin(inner), backlog);
    return async (input, init) => {
      const response = await send(input, init);
      const room = () => backlog.room(init?.signal);
      const bounds = { limits, onExceeded, room, requestId: requestIdIn(init) };
      return await passAnswerOn(boundMessages(response, init?.method, bounds).response, init);
    };
  };
  transport._fetch = bound(transport._fetch ?? fetch);
  if (transport._fetchWithInit !== undefined)
    transport._fetchWithInit = fetchWithinOrigin(transport._fetchWithInit);
  const init = transport._eventSourceInit;
  if (init?.fetch !== undefined) transport._eventSourceInit = { ...init, fetch: bound(init.fetch) };
}
