import { isObject } from '../../json/index.ts';
import type { ResponseObserver } from './api-promise.ts';
import { guard } from './model-guard.ts';
import { Claim } from './unclaimed.ts';

type Method = (...args: unknown[]) => unknown;
type Watch = (outcome: unknown, look: (value: unknown) => void, observer: ResponseObserver) => unknown;

interface HandedOver {
  readonly observer: ResponseObserver;
  readonly claim: Claim;
}

/** Requests that were answered and whose body another promise parses, by the SDK's facts of the request. */
const waiting = new WeakMap<object, HandedOver>();
/** Classes of promises whose `parse()` looks for such requests. */
const looking = new WeakSet<object>();

/**
 * Follows a request whose unparsed response a helper takes, to the promise of the helper's own, of the same class as
 * `promise`, that parses the body. The threads and the tool runner of Anthropic's SDK do so, to send again what the
 * server refused. To be called before the response is there; what it gives is to be told of the response. A response
 * that nobody parses abandons its call.
 */
export function handOver(
  promise: object,
  observer: ResponseObserver,
  watch: Watch,
): (props: unknown) => void {
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
      // What was parsed is kept and not parsed again.
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
