import type { Telemetry } from './telemetry.ts';

/** Replaces one method of a class, only once. */

/**
 * Left on every object with a patched method. Known to all copies of this package, so that two of them in one program
 * do not wrap the same method twice; each copy of the SDK has prototypes, and marks, of its own.
 */
const MARK: unique symbol = Symbol.for('mcp-observatory.mcp.patched') as never;

/** The instrumentation a patched object reports to now. */
interface Slot {
  telemetry: Telemetry;
  readonly methods: Set<string>;
}

// biome-ignore lint/complexity/noBannedTypes: methods of other people's classes, called with what they were given
export type Method = Function & ((this: unknown, ...args: unknown[]) => unknown);

/** The slot of an object; taken over from an instrumentation that has been disabled. */
function findSlot(owner: object, telemetry: Telemetry): Slot {
  const marked = owner as { [MARK]?: Slot };
  if (Object.hasOwn(owner, MARK) && marked[MARK] !== undefined) {
    const slot = marked[MARK];
    const { telemetry: current } = slot;
    if (!current.enabled || (current.yields && !telemetry.yields)) slot.telemetry = telemetry;
    return slot;
  }
  const slot: Slot = { telemetry, methods: new Set() };
  Object.defineProperty(owner, MARK, { value: slot });
  return slot;
}

/** Replaces a call of `original`, which it makes exactly once, with the same `this`. */
export type Around = (self: unknown, args: unknown[], original: Method, telemetry: Telemetry) => unknown;

/**
 * Replaces `owner[name]`, an own method, and says whether it did. Where the slot's instrumentation is disabled, a call
 * goes straight to the original.
 */
export function patchMethod(owner: object, name: string, telemetry: Telemetry, around: Around): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  const original: unknown = descriptor?.value;
  if (descriptor === undefined || typeof original !== 'function') return false;
  const slot = findSlot(owner, telemetry);
  if (slot.methods.has(name)) return false;
  const method = original as Method;
  const patched = function (this: unknown, ...args: unknown[]): unknown {
    const { telemetry: current } = slot;
    return current.enabled ? around(this, args, method, current) : method.apply(this, args);
  };
  Object.defineProperty(patched, 'name', { value: method.name, configurable: true });
  Object.defineProperty(patched, 'length', { value: method.length, configurable: true });
  Object.defineProperty(owner, name, { ...descriptor, value: patched });
  slot.methods.add(name);
  return true;
}

/** Whether `owner[name]` is our replacement, installed by any copy. */
export function isPatched(owner: object, name: string): boolean {
  return (owner as { [MARK]?: Slot })[MARK]?.methods.has(name) === true;
}

/** The object in a prototype chain that has `name` as its own. */
export function findOwner(start: object, name: string): object | undefined {
  for (let owner: object | null = start; owner !== null && owner !== Object.prototype; ) {
    if (Object.hasOwn(owner, name)) return owner;
    owner = Object.getPrototypeOf(owner) as object | null;
  }
  return undefined;
}
