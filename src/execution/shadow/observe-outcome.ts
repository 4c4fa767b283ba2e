/** Looks at what a function gives back without coming between it and its caller. */

export interface OutcomeObserver {
  value(value: unknown): void;
  error(error: unknown): void;
}

type Method = (...args: unknown[]) => unknown;

/**
 * Tells an observer, which must not throw, how an outcome ends, and returns what the caller is to have: the outcome
 * itself, or for a plain promise one that settles alike, so that a rejection nobody handles stays one.
 *
 * Other thenables begin their work when somebody asks (a query) or know more ways out (the `APIPromise` of the OpenAI
 * and Anthropic SDKs). Of those the caller gets the very object, and it is observed when the caller asks.
 */
export function observeOutcome<R>(outcome: R, observer: OutcomeObserver): R {
  if (!isThenable(outcome)) {
    observer.value(outcome);
    return outcome;
  }
  // Only a promise that does nothing of its own in `then` may be derived from.
  if (outcome instanceof Promise && outcome.then === Promise.prototype.then) {
    return outcome.then(...tapped(observer)) as R;
  }
  if (typeof (outcome as { parse?: unknown }).parse === 'function') tapApiPromise(outcome, observer);
  else tap(outcome, 'then', observer);
  return outcome;
}

/** `await` and `withResponse()` go through `parse()`; the latter asks for the raw response as well. */
function tapApiPromise(promise: object, observer: OutcomeObserver): void {
  let isParsed = false;
  tap(promise, 'parse', observer, () => {
    isParsed = true;
  });
  tap(promise, 'asResponse', {
    // Asked for alone, the response is the caller's to read.
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

/** Replaces a method of one object by itself, observed the first time it is called. */
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
    // On the side, for the SDK caches its promise; its rejection is the caller's to handle, on a promise of their own.
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

/** The arguments of a `then`, with the observer told before the caller. */
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
