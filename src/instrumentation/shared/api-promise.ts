import { isObject } from '../../json/index.ts';
import { guard } from './guard.ts';
import { Claim, type OpenCall } from './open-calls.ts';

/** Receives the outcome of the request behind an `APIPromise`. */
export interface ResponseObserver extends OpenCall {
  /** The parsed body, or the stream, that the application is about to get. `props` are the SDK's request facts. */
  value(value: unknown, props: unknown): void;
  fail(error: unknown): void;
  /** The application asked only for the raw `Response` and reads its body itself. */
  rawResponse(response: unknown): void;
}

type Method = (...args: unknown[]) => unknown;

/**
 * Watches the `APIPromise` of the OpenAI and Anthropic SDKs without becoming another promise. Such a promise parses
 * its body lazily, so the methods that start it are shadowed on the instance: `parse()`, which `await` and
 * `withResponse()` call, `asResponse()`, and `_thenUnwrap()`, with which the helpers derive a promise of another type,
 * watched in turn. A rejection that the application does not handle stays unhandled.
 *
 * A promise of any other shape (a changed SDK, a wrapper) is observed with `then`.
 *
 * @param isDueInParse whether the observer must run while the SDK still parses, because the SDK then ends a span of its
 *   own. Costs one more promise.
 */
export function observeApiPromise(promise: unknown, observer: ResponseObserver, isDueInParse = false): void {
  if (!isObject(promise)) throw new TypeError('The call gave no promise');
  const parseResponse = findMethod(promise, 'parseResponse');
  if (parseResponse === undefined || findMethod(promise, 'parse') === undefined) {
    observeFromTheSide(promise, observer);
    return;
  }
  let facts: unknown;
  const look = (value: unknown): void => observer.value(value, facts);
  // openai 4 passes (props), later SDKs (client, props).
  Reflect.set(promise, 'parseResponse', (...args: unknown[]): unknown => {
    facts = args.at(-1);
    const parsed = Reflect.apply(parseResponse, promise, args);
    return isDueInParse ? observed(parsed, look, observer) : parsed;
  });
  watch(promise, observer, look);
}

function watch(promise: object, observer: ResponseObserver, look: (value: unknown) => void): void {
  const claim = new Claim(promise, observer);
  let isParsed = false;
  shadow(promise, 'parse', (parse, self, args) => {
    const parsed = Reflect.apply(parse, self, args);
    // The parsed promise is cached and shared; callers derive theirs from it after this one.
    if (!isParsed && parsed instanceof Promise) watchOutcome(parsed, look, observer);
    isParsed = true;
    claim.take();
    return parsed;
  });
  shadow(promise, '_thenUnwrap', (thenUnwrap, self, args) => {
    claim.take();
    const [transform, ...rest] = args as [Method, ...unknown[]];
    const seen: Method = (value, props, ...more) => {
      guard('reading a response', () => observer.value(value, props));
      return transform(value, props, ...more);
    };
    const unwrapped = Reflect.apply(thenUnwrap, self, [seen, ...rest]);
    if (isObject(unwrapped))
      guard('observing an unwrapped promise', () => watch(unwrapped, observer, noLook));
    return unwrapped;
  });
  // For a helper that retries a refused request and parses the body itself.
  shadow(promise, '_responseProps', (responseProps, self, args) => {
    claim.take();
    const answered = guard('following a request', () => handOver(promise, observer, observed));
    return observed(Reflect.apply(responseProps, self, args), (props) => answered?.(props), observer);
  });
  // Nothing is parsed: the call ends with the headers.
  shadow(promise, 'asResponse', (asResponse, self, args) => {
    const parses = claim.taken;
    claim.take();
    const response = Reflect.apply(asResponse, self, args);
    return parses ? response : observed(response, (raw) => observer.rawResponse(raw), observer);
  });
}

/** The outcome of an unwrapped promise was observed before it was unwrapped. */
function noLook(): void {}

function watchOutcome(
  promise: PromiseLike<unknown>,
  look: (value: unknown) => void,
  observer: ResponseObserver,
): void {
  promise.then(
    (value) => guard('reading a response', () => look(value)),
    (error: unknown) => fail(observer, error),
  );
}

function observed(outcome: unknown, look: (value: unknown) => void, observer: ResponseObserver): unknown {
  if (!(outcome instanceof Promise)) return outcome;
  return outcome.then(
    (value: unknown) => {
      guard('reading a response', () => look(value));
      return value;
    },
    (error: unknown) => {
      fail(observer, error);
      throw error;
    },
  );
}

function fail(observer: ResponseObserver, error: unknown): void {
  guard('reading a request error', () => observer.fail(error));
}

function findMethod(target: object, name: string): Method | undefined {
  const method: unknown = Reflect.get(target, name);
  return typeof method === 'function' ? (method as Method) : undefined;
}

function shadow(
  target: object,
  name: string,
  by: (original: Method, self: unknown, args: unknown[]) => unknown,
): void {
  const original = findMethod(target, name);
  if (original === undefined) return;
  Reflect.set(target, name, function (this: unknown, ...args: unknown[]): unknown {
    return by(original, this, args);
  });
}

function observeFromTheSide(promise: object, observer: ResponseObserver): void {
  if (!('then' in promise) || typeof promise.then !== 'function') {
    observer.value(promise, undefined);
    return;
  }
  watchOutcome(promise as PromiseLike<unknown>, (value) => observer.value(value, undefined), observer);
}

type Watch = (outcome: unknown, look: (value: unknown) => void, observer: ResponseObserver) => unknown;

interface HandedOver {
  readonly observer: ResponseObserver;
  readonly claim: Claim;
}

/** Answered requests that another promise will parse, keyed by the SDK's request facts. */
const waiting = new WeakMap<object, HandedOver>();
/** Promise classes with a patched `parse()` that looks for such requests. */
const looking = new WeakSet<object>();

/**
 * Follows a request to the promise that parses its body, where a helper takes the raw response and parses it in a
 * promise of its own (of the same class as `promise`). Anthropic's threads and tool runner do so to retry refused
 * requests. Call it before the response arrives, and the returned function when it does. A response that is never
 * parsed abandons its call.
 */
function handOver(promise: object, observer: ResponseObserver, watch: Watch): (props: unknown) => void {
  const shared: unknown = Object.getPrototypeOf(promise);
  if (isObject(shared) && !looking.has(shared)) {
    looking.add(shared);
    lookWhenParsing(shared, watch);
  }
  return (props) => {
    if (isObject(props)) waiting.set(props, { observer, claim: new Claim(props, observer) });
  };
}

function lookWhenParsing(shared: object, watch: Watch): void {
  const parse: unknown = Reflect.get(shared, 'parse');
  if (typeof parse !== 'function') return;
  Reflect.set(shared, 'parse', function (this: object, ...args: unknown[]): unknown {
    guard('observing a parse', () => {
      const parseResponse: unknown = Reflect.get(this, 'parseResponse');
      // A parsed result is cached and not parsed again.
      if (typeof parseResponse !== 'function' || Reflect.get(this, 'parsedPromise') !== undefined) return;
      Reflect.set(this, 'parseResponse', watched(parseResponse as Method, watch));
    });
    return Reflect.apply(parse, this, args);
  });
}

function watched(parseResponse: Method, watch: Watch): Method {
  return function (this: unknown, ...args: unknown[]): unknown {
    const outcome = Reflect.apply(parseResponse, this, args);
    const props = args.at(-1);
    const found = isObject(props) ? waiting.get(props) : undefined;
    if (found === undefined) return outcome;
    found.claim.take();
    return watch(outcome, (value) => found.observer.value(value, props), found.observer);
  };
}
