import { isObject } from '../../json/index.ts';
import { guard } from './guard.ts';
import { type OpenCall, openCalls } from './open-calls.ts';

type Iterate = (...args: unknown[]) => unknown;

/**
 * Watches the stream object that the application is about to read, through the iterators it makes, which `tee()`,
 * `toReadableStream()` and the event helpers use too. Only the first iterator counts; the SDK refuses a second one.
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
 * The iterator of an aborted stream ends as if it had been read. Separate from {@link observeStream}: the garbage
 * watch holds that function's closures, which therefore must not hold the stream.
 */
function aware(call: StreamObserver, stream: unknown): StreamObserver {
  return {
    chunk: (value) => call.chunk(value),
    end: () => (isAborted(stream) ? call.closed() : call.end()),
    closed: () => call.closed(),
    fail: (error) => call.fail(error),
  };
}

/** Whether the application aborted it: the SDKs abort a stream's request only when it is left early or fails. */
function isAborted(stream: unknown): boolean {
  const controller: unknown = isObject(stream) ? stream.controller : undefined;
  return controller instanceof AbortController && controller.signal.aborted;
}

/** Receives the events of a stream while it is read. */
export interface StreamObserver {
  chunk(value: unknown): void;
  end(): void;
  /** The reader stopped before the end. */
  closed(): void;
  fail(error: unknown): void;
}

type Step = (...args: unknown[]) => unknown;

/**
 * Watches one iterator by shadowing its `next`, `return` and `throw` on the object, so the reader holds the SDK's own
 * iterator, reads at its own pace and aborts as before. Nothing is buffered.
 */
export function observeIterator<I extends object>(iterator: I, observer: StreamObserver): I {
  const next: unknown = Reflect.get(iterator, 'next');
  if (typeof next !== 'function') throw new TypeError('The stream has no next()');
  Reflect.set(iterator, 'next', function (this: unknown, ...args: unknown[]): unknown {
    return settle(Reflect.apply(next, this, args), observer);
  });
  for (const name of ['return', 'throw'] as const) {
    const original: unknown = Reflect.get(iterator, name);
    if (typeof original !== 'function') continue;
    Reflect.set(iterator, name, function (this: unknown, ...args: unknown[]): unknown {
      guard('observing a closed stream', () => observer.closed());
      return Reflect.apply(original as Step, this, args);
    });
  }
  return iterator;
}

/** Passes a step's outcome on unchanged; handling a rejection stays up to the reader. */
function settle(step: unknown, observer: StreamObserver): unknown {
  if (!(step instanceof Promise)) return step;
  return step.then(
    (result: IteratorResult<unknown> | undefined) => {
      guard('reading a chunk', () => {
        if (result?.done === true) observer.end();
        else if (result !== undefined) observer.chunk(result.value);
      });
      return result;
    },
    (error: unknown) => {
      guard('reading a stream error', () => observer.fail(error));
      throw error;
    },
  );
}
