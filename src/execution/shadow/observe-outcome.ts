/** Observes the result of a function without affecting its caller. */

export interface OutcomeObserver {
  value(value: unknown): void;
  error(error: unknown): void;
}

type Method = (...args: unknown[]) => unknown;

/**
 * Reports how an outcome settles to an observer, which must not throw, and returns the value for the caller: the
 * outcome itself, or for a plain promise a derived one, so that an unhandled rejection stays unhandled.
 *
 * Other thenables start lazily (a query) or have more methods (the `APIPromise` of the OpenAI and Anthropic SDKs). The
 * caller gets that object itself, and it is observed when the caller uses it.
 */
export function observeOutcome<R>(outcome: R, observer: OutcomeObserver): R {
  if (!isThenable(outcome)) {
    observer.value(outcome);
    return outcome;
  }
  // Derive only from promises with the built-in `then`.
  if (outcome instanceof Promise && outcome.then === Promise.prototype.then) {
    return outcome.then(...tapped(observer)) as R;
  }
  if (typeof (outcome as { parse?: unknown }).parse === 'function') tapApiPromise(outcome, observer);
  else tap(outcome, 'then', observer);
  return outcome;
}

/** `await` and `withResponse()` call `parse()`; the latter also calls `asResponse()`. */
function tapApiPromise(promise: object, observer: OutcomeObserver): void {
  let isParsed = false;
  tap(promise, 'parse', observer, () => {
    isParsed = true;
  });
  tap(promise, 'asResponse', {
    // If only the response is requested, the caller reads it.
    value: () => (isParsed ? undefined : observer.value(undefined)),
    error: (error) => observer.error(error),
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return typeof (value as { then?: unknown }).then === 'function';
}

function tapped(observer: OutcomeObserver): [(value: unknown) => unknown, (error: unknown) => never] {
  return [
    (value) => {
      observer.value(value);
      return value;
    },
    (error) => {
      observer.error(error);
      throw error;
    },
  ];
}

/** Wraps a method of one object to observe its first call. */
function tap(
  target: object,
  name: 'then' | 'parse' | 'asResponse',
  observer: OutcomeObserver,
  onAsked?: () => void,
): void {
  const method = Reflect.get(target, name) as Method | undefined;
  if (typeof method !== 'function') return;
  let isObserved = false;
  const observed: Method = (...args) => {
    if (isObserved) return Reflect.apply(method, target, args);
    isObserved = true;
    onAsked?.();
    if (name === 'then') return Reflect.apply(method, target, listening(args, observer));
    const result = Reflect.apply(method, target, args);
    // Observed separately, because the SDK caches its promise; the caller handles rejections on its own promise.
    if (result instanceof Promise) {
      result.then(
        (value) => observer.value(value),
        (error) => observer.error(error),
      );
    }
    return result;
  };
  Reflect.defineProperty(target, name, { value: observed, configurable: true, writable: true });
}

/** The arguments of a `then`, with the observer notified before the caller. */
function listening([onValue, onError]: unknown[], observer: OutcomeObserver): unknown[] {
  return [
    (value: unknown) => {
      observer.value(value);
      return typeof onValue === 'function' ? onValue(value) : value;
    },
    (error: unknown) => {
      observer.error(error);
      if (typeof onError === 'function') return onError(error);
      throw error;
    },
  ];
}
