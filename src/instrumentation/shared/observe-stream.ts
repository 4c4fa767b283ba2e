import { isObject } from '../../json/index.ts';
import { guard } from './model-guard.ts';
import { type OpenCall, openCalls } from './open-calls.ts';
import { observeIterator, type StreamObserver } from './stream-observer.ts';

type Iterate = (...args: unknown[]) => unknown;

/**
 * Watches a stream that the application is about to read, on the very object: the iterators it makes, and so `tee()`,
 * `toReadableStream()` and the event helpers, which read through them. Only the first iterator counts; a second one
 * is refused by the SDK itself.
 */
export function observeStream(stream: object, call: StreamObserver & OpenCall): void {
  // A generator (Gemini) is its own iterator.
  if (typeof Reflect.get(stream, 'next') === 'function') {
    observeIterator(stream, call);
    openCalls.abandonWith(stream, call);
    return;
  }
  // OpenAI's and Anthropic's Stream make iterators in a field; any other iterable in the standard method.
  const key = typeof Reflect.get(stream, 'iterator') === 'function' ? 'iterator' : Symbol.asyncIterator;
  const iterate = Reflect.get(stream, key) as Iterate;
  const reading = { started: false };
  Reflect.set(stream, key, function (this: unknown, ...args: unknown[]): unknown {
    const iterator = Reflect.apply(iterate, this, args);
    if (!reading.started && typeof iterator === 'object' && iterator !== null) {
      reading.started = true;
      guard('observing a stream', () => {
        observeIterator(iterator, aware(call, this));
        openCalls.abandonWith(iterator, call);
      });
    }
    return iterator;
  });
  // The stream may be garbage while its iterator is still being read.
  openCalls.abandonWith(stream, {
    lastActivityMs: 0,
    abandon: () => {
      if (!reading.started) call.abandon();
    },
  });
}

/**
 * The iterator of a stream that is aborted ends as if it had been read. Apart from {@link observeStream}, whose
 * closures the watch for garbage holds, so that they must not hold the stream.
 */
function aware(call: StreamObserver, stream: unknown): StreamObserver {
  return {
    chunk: (value) => call.chunk(value),
    end: () => (isAborted(stream) ? call.closed() : call.end()),
    closed: () => call.closed(),
    fail: (error) => call.fail(error),
  };
}

/** By the application: the SDKs abort the request of a stream themselves only where it is left early, or fails. */
function isAborted(stream: unknown): boolean {
  const controller: unknown = isObject(stream) ? stream.controller : undefined;
  return controller instanceof AbortController && controller.signal.aborted;
}
