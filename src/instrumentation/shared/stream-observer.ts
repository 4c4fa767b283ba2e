import { guard } from './model-guard.ts';

/** Told what happens to a stream while its reader reads it. */
export interface StreamObserver {
  chunk(value: unknown): void;
  /** The reader saw the end. */
  end(): void;
  /** The reader stopped before the end. */
  closed(): void;
  fail(error: unknown): void;
}

type Step = (...args: unknown[]) => unknown;

/**
 * Watches one iterator from the inside: its own `next`, `return` and `throw` are shadowed on the very object, so the
 * reader holds what the SDK made, reads at its own pace, and aborts as before. Nothing is buffered and nothing teed.
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

/** Passes a step's outcome on unchanged; a rejection stays the reader's to handle, or not to handle. */
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
