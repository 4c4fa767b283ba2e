/** To read `process.stdin` opens it and makes it non-blocking, so `fs.readSync(0)` may fail with EAGAIN from then on. */
type Listener = (stdin: NodeJS.ReadStream) => void;

const listeners = new Set<Listener>();
let original: PropertyDescriptor | undefined;
let isUsed = false;

/**
 * Calls back once the program itself uses `process.stdin`, before it gets the stream; never if it does not.
 * @returns a function that ends the wait.
 */
export function onStdinUse(listener: Listener): () => void {
  if (isUsed) {
    listener(process.stdin);
    return () => {};
  }
  listeners.add(listener);
  if (original === undefined) replaceGetter();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) restoreGetter();
  };
}

function replaceGetter(): void {
  const found = Object.getOwnPropertyDescriptor(process, 'stdin');
  if (found?.configurable !== true || found.get === undefined) return;
  original = found;
  Object.defineProperty(process, 'stdin', { ...found, get: getFirst });
}

function restoreGetter(): void {
  if (original !== undefined && Object.getOwnPropertyDescriptor(process, 'stdin')?.get === getFirst)
    Object.defineProperty(process, 'stdin', original);
  original = undefined;
}

function getFirst(this: unknown): unknown {
  const stdin: unknown = original?.get?.call(this);
  restoreGetter();
  isUsed = true;
  for (const listener of [...listeners]) listener(stdin as NodeJS.ReadStream);
  listeners.clear();
  return stdin;
}
