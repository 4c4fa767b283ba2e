/** Replaces one method of a class, only once. */
import type { McpTelemetry } from './internal-types.ts';

/**
 * Left on every object with a patched method. Known to all copies of this package, so that two of them in one program
 * do not wrap the same method twice; each copy of the SDK has prototypes, and marks, of its own.
 */
const MARK: unique symbol = Symbol.for('mcp-observatory.mcp.patched') as never;

/** The instrumentation a patched object reports to now. */
export interface Slot {
  telemetry: McpTelemetry;
  readonly methods: Set<string>;
}

// biome-ignore lint/complexity/noBannedTypes: methods of other people's classes, called with what they were given
export type Method = Function & ((this: unknown, ...args: unknown[]) => unknown);

/** The slot of an object; taken over from an instrumentation that has been disabled. */
export function slotOf(owner: object, telemetry: McpTelemetry): Slot {
  const marked = owner as { [MARK]?: Slot };
  if (Object.hasOwn(owner, MARK) && marked[MARK] !== undefined) {
    const slot = marked[MARK];
    const { telemetry: current } = slot;
    if (!current.isEnabled() || (current.yields && !telemetry.yields)) slot.telemetry = telemetry;
    return slot;
  }
  const slot: Slot = { telemetry, methods: new Set() };
  Object.defineProperty(owner, MARK, { value: slot });
  return slot;
}

/**
 * Replaces `owner[name]`, an own method, and says whether it did. `replace` gets the original and the slot; it must
 * call the original with the same `this` and arguments whenever the slot's instrumentation is disabled.
 */
export function patchMethod(
  owner: object,
  name: string,
  telemetry: McpTelemetry,
  replace: (original: Method, slot: Slot) => Method,
): boolean {
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  const original: unknown = descriptor?.value;
  if (descriptor === undefined || typeof original !== 'function') return false;
  const slot = slotOf(owner, telemetry);
  if (slot.methods.has(name)) return false;
  const patched = replace(original as Method, slot);
  Object.defineProperty(patched, 'name', { value: original.name, configurable: true });
  Object.defineProperty(patched, 'length', { value: original.length, configurable: true });
  Object.defineProperty(owner, name, { ...descriptor, value: patched });
  slot.methods.add(name);
  return true;
}

/** Whether `owner[name]` is our replacement, installed by any copy. */
export function isPatched(owner: object, name: string): boolean {
  return (owner as { [MARK]?: Slot })[MARK]?.methods.has(name) === true;
}

/** The object in a prototype chain that has `name` as its own. */
export function ownerOf(start: object, name: string): object | undefined {
  for (let owner: object | null = start; owner !== null && owner !== Object.prototype; ) {
    if (Object.hasOwn(owner, name)) return owner;
    owner = Object.getPrototypeOf(owner) as object | null;
  }
  return undefined;
}
