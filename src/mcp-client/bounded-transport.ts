/** Bounds what a transport of the official SDKs reads that the application made itself. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isObject } from '../json/index.ts';
import { answersInTurn } from './answers-in-turn.ts';
import { LineBuffer } from './line-buffer.ts';
import type { MessageLimits } from './message-meter.ts';
import { boundMessages } from './response-body.ts';

/** The parts of `StdioClientTransport` that are used here, in both generations of the SDK. */
interface SdkStdioTransport extends Closable {
  _readBuffer: { append(chunk: Buffer): void; readMessage(): unknown; clear(): void };
  readonly _process?: { readonly stdout?: NodeJS.ReadableStream | null } | undefined;
  processReadBuffer(): void;
}

/** The parts of the HTTP transports. */
interface SdkHttpTransport extends Closable {
  _fetch?: typeof fetch | undefined;
  _eventSourceInit?: { readonly fetch?: typeof fetch } | undefined;
}

interface Closable {
  close(): Promise<void>;
  onerror?: ((error: Error) => void) | undefined;
}

const bounded = new WeakSet<object>();

/**
 * Bounds the messages that a transport reads from now on, as those of our own are. A transport of another kind is left
 * as it is, and so is an event stream that is being read already.
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
  const waiting: Buffer[] = [];
  let isPaused = false;
  let isEnded = false;
  const pause = async (stdout: NodeJS.ReadableStream | null | undefined): Promise<void> => {
    isPaused = true;
    stdout?.pause();
    await nextTurn();
    isPaused = false;
    // The SDK forgets the process when it closes it, and waits for the end of its output.
    if (transport._process === undefined) isEnded = true;
    transport.processReadBuffer();
    // Unless that has paused again, all that came is read.
    if (!isPaused) stdout?.resume();
  };
  const clear = (): void => {
    lines = undefined;
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
          if (buffer.isTurnDue()) {
            void pause(transport._process?.stdout);
            return null;
          }
          const chunk = lines === undefined ? waiting.shift() : undefined;
          if (chunk !== undefined) lines = buffer.push(chunk);
          if (lines === undefined) return null;
          const { done, value } = lines.next();
          if (done === true) lines = undefined;
          else return parse(value);
        }
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        isEnded = true;
        clear();
        end(transport, new Error(`the server sent ${error.message}`));
        return null;
      }
    },
    clear,
  };
}

/** A line as a message. What is none is an error of the transport, as with the SDK's own buffer. */
function parse(line: string): unknown {
  const message: unknown = JSON.parse(line);
  if (isObject(message) && message.jsonrpc === '2.0') return message;
  throw new TypeError('The server wrote a line that is no JSON-RPC message');
}

function boundResponses(transport: SdkHttpTransport, limits: MessageLimits): void {
  const bound =
    (inner: typeof fetch): typeof fetch =>
    async (input, init) =>
      boundMessages(await inner(input, init), limits, (error) => end(transport, error));
  transport._fetch = bound(answersInTurn(transport._fetch ?? fetch));
  const init = transport._eventSourceInit;
  if (init?.fetch !== undefined) transport._eventSourceInit = { ...init, fetch: bound(init.fetch) };
}
