import { isObject } from '../../json/index.ts';
import { guard } from './model-guard.ts';

const WATCHED: unique symbol = Symbol('mcp-observatory.watched');

/**
 * Runs a step before a method of one of a module's classes, wherever in the class's prototype chain the method is;
 * once per class, however often it is asked for. A class or method that is not there is passed by.
 */
export function beforeMethod(
  exports: unknown,
  className: string,
  method: string,
  step: (args: readonly unknown[]) => void,
): void {
  // CommonJS exports may be a function with fields.
  const holds = isObject(exports) || typeof exports === 'function';
  const found: unknown = holds ? Reflect.get(exports, className) : undefined;
  const holder = holderOf(typeof found === 'function' ? found.prototype : undefined, method);
  const original: unknown = holder === undefined ? undefined : Reflect.get(holder, method);
  if (holder === undefined || typeof original !== 'function' || Object.hasOwn(original, WATCHED)) return;
  const watched = function (this: unknown, ...args: unknown[]): unknown {
    guard(`before ${className}.${method}`, () => step(args));
    return Reflect.apply(original, this, args);
  };
  Object.defineProperty(watched, WATCHED, { value: true });
  Object.defineProperty(holder, method, { value: watched, configurable: true, writable: true });
}

function holderOf(start: unknown, key: string): object | undefined {
  for (let at: unknown = start; isObject(at); at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, key)) return at;
  }
  return undefined;
}
