import { isObject } from '../../json/index.ts';
import { guard } from './guard.ts';

/** One copy of an SDK and what could be patched in it. */
export interface HookedModule {
  readonly name: string;
  readonly version: string | undefined;
  /** Methods now observed, e.g. `Chat.Completions.create`. */
  readonly patched: readonly string[];
  /** Methods this version does not have, or has in another shape. */
  readonly missing: readonly string[];
}

const hooked: HookedModule[] = [];

/** A module seen again with nothing left to patch is not reported. */
export function reportHooked(module: HookedModule): void {
  if (module.patched.length === 0 && module.missing.length === 0) return;
  hooked.push(module);
}

/** The modules hooked in this process so far, in order. */
export function hookedModules(): readonly HookedModule[] {
  return [...hooked];
}

/** Patches are kept: a disabled instrumentation passes calls through and can be enabled again. */
export function keep<T>(exports: T): T {
  return exports;
}

const WATCHED: unique symbol = Symbol('mcp-observatory.watched');

/**
 * Runs a step before a method of one of a module's classes, wherever in the prototype chain the method is; once per
 * class, however often it is called. A missing class or method is skipped.
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
  const holder = findHolder(typeof found === 'function' ? found.prototype : undefined, method);
  const original: unknown = holder === undefined ? undefined : Reflect.get(holder, method);
  if (holder === undefined || typeof original !== 'function' || Object.hasOwn(original, WATCHED)) return;
  const watched = function (this: unknown, ...args: unknown[]): unknown {
    guard(`before ${className}.${method}`, () => step(args));
    return Reflect.apply(original, this, args);
  };
  Object.defineProperty(watched, WATCHED, { value: true });
  Object.defineProperty(holder, method, { value: watched, configurable: true, writable: true });
}

function findHolder(start: unknown, key: string): object | undefined {
  for (let at: unknown = start; isObject(at); at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, key)) return at;
  }
  return undefined;
}

/**
 * Replaces functions that a module exports. In an ES module the hook passes on what is set; exports of CommonJS may be
 * getters, so they are replaced in a copy.
 */
export function replaceExports<T>(
  exports: T,
  names: readonly string[],
  replace: (original: unknown, name: string) => unknown,
): T {
  if (!isObject(exports)) return exports;
  const found = names.filter((name) => typeof Reflect.get(exports, name) === 'function');
  if (found.length === 0) return exports;
  const isModule = Reflect.get(exports, Symbol.toStringTag) === 'Module';
  const target = isModule
    ? exports
    : Object.create(Object.getPrototypeOf(exports), Object.getOwnPropertyDescriptors(exports));
  for (const name of found) {
    const value = replace(Reflect.get(exports, name), name);
    if (isModule) Reflect.set(target, name, value);
    else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return target as T;
}
