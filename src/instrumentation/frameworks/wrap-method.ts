import { isObject } from '../../json/index.ts';

const WRAPPED: unique symbol = Symbol('mcp-observatory.wrapped');

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Wraps a method where it is defined, once. `around` makes the call itself; a missing method is skipped. */
export function wrapMethod(
  owner: unknown,
  name: string,
  around: (self: unknown, original: Method, args: unknown[]) => unknown,
): void {
  const holds = isObject(owner) || typeof owner === 'function';
  const original: unknown = holds ? Reflect.get(owner as object, name) : undefined;
  if (typeof original !== 'function' || Object.hasOwn(original, WRAPPED)) return;
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    return around(this, original as Method, args);
  };
  Object.defineProperty(wrapped, WRAPPED, { value: true });
  Object.defineProperty(wrapped, 'name', { value: name });
  Object.defineProperty(owner as object, name, { value: wrapped, configurable: true, writable: true });
}
