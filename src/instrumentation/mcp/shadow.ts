type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Stands for a method of one object: it calls the original once and returns what that returns. */
export type Shadow = (original: Method, self: unknown, args: unknown[]) => unknown;

/**
 * Sets a method of one object alone.
 * @returns a function that undoes it, unless somebody else has set the method since.
 */
export function shadowMethod(holder: unknown, name: string, around: Shadow): () => void {
  const object = holder as Record<string, unknown>;
  const found = object[name];
  if (typeof found !== 'function') return () => {};
  const own = Object.getOwnPropertyDescriptor(object, name);
  const value = function (this: unknown, ...args: unknown[]): unknown {
    // A framework may give the object another class meanwhile.
    const inherited: unknown = own === undefined ? Reflect.get(Object.getPrototypeOf(object), name) : found;
    return around(inherited as Method, this, args);
  };
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: false });
  return () => {
    if (object[name] !== value) return;
    if (own === undefined) delete object[name];
    else Object.defineProperty(object, name, own);
  };
}
