import { isObject } from '../../json/index.ts';

const WRAPPED: unique symbol = Symbol('mcp-observatory.wrapped');

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Makes the call itself. */
type Around = (self: unknown, original: Method, args: unknown[]) => unknown;

/** Wraps a method where it is defined, once; a missing method is skipped. */
export function wrapMethod(owner: unknown, name: string, around: Around): void {
  const original = unwrapped(owner, name);
  if (original === undefined) return;
  const wrapped = marked(name, (self, args) => around(self, original, args));
  Object.defineProperty(owner as object, name, { value: wrapped, configurable: true, writable: true });
}

/**
 * As {@link wrapMethod}, for a method that is not asynchronous; what others assign to it later is called inside, for
 * they may not pass on all that they are given.
 */
export function wrapOutermost(owner: unknown, name: string, around: Around): void {
  const original = unwrapped(owner, name);
  if (original === undefined) return;
  let inner = original;
  let isInside = false;
  const wrapped = marked(name, (self, args) => {
    // Who has wrapped this calls it for the original.
    if (isInside) return original.apply(self, args);
    isInside = true;
    try {
      return around(self, inner, args);
    } finally {
      isInside = false;
    }
  });
  Object.defineProperty(owner as object, name, {
    configurable: true,
    get: () => wrapped,
    set(this: unknown, value: unknown) {
      if (this !== owner) Object.defineProperty(this, name, { value, configurable: true, writable: true });
      else inner = value as Method;
    },
  });
}

function unwrapped(owner: unknown, name: string): Method | undefined {
  const holds = isObject(owner) || typeof owner === 'function';
  const original: unknown = holds ? Reflect.get(owner as object, name) : undefined;
  if (typeof original !== 'function' || Object.hasOwn(original, WRAPPED)) return undefined;
  return original as Method;
}

function marked(name: string, call: (self: unknown, args: unknown[]) => unknown): Method {
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    return call(this, args);
  };
  Object.defineProperty(wrapped, WRAPPED, { value: true });
  Object.defineProperty(wrapped, 'name', { value: name });
  return wrapped;
}
