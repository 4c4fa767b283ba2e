import { Writable } from 'node:stream';

/**
 * To use stdin or stdout of `process` opens it and makes it non-blocking: from then on `fs.readSync(0)` may fail with
 * EAGAIN, and `fs.writeSync(1)` write a part. So nothing here uses one before the program does.
 */
type Listener<S> = (stream: S) => void;

class FirstUse<S> {
  readonly #name: 'stdin' | 'stdout' | 'stderr';
  readonly #listeners = new Set<Listener<S>>();
  #original: PropertyDescriptor | undefined;
  #used: S | undefined;

  constructor(name: 'stdin' | 'stdout' | 'stderr') {
    this.#name = name;
  }

  wait(listener: Listener<S>): () => void {
    if (this.#used !== undefined) {
      listener(this.#used);
      return () => {};
    }
    this.#listeners.add(listener);
    if (this.#original === undefined) this.#replaceGetter();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#restoreGetter();
    };
  }

  #replaceGetter(): void {
    const found = Object.getOwnPropertyDescriptor(process, this.#name);
    if (found?.configurable !== true || found.get === undefined) return;
    this.#original = found;
    Object.defineProperty(process, this.#name, { ...found, get: this.#getFirst });
  }

  #restoreGetter(): void {
    const now = Object.getOwnPropertyDescriptor(process, this.#name)?.get;
    // Another getter, such as that of another copy of this package, may go on calling ours.
    if (this.#original === undefined || now !== this.#getFirst) return;
    Object.defineProperty(process, this.#name, this.#original);
    this.#original = undefined;
  }

  readonly #getFirst = (): unknown => {
    if (this.#used !== undefined) return this.#used;
    const stream = this.#original?.get?.call(process) as S;
    this.#restoreGetter();
    this.#used = stream;
    for (const listener of [...this.#listeners]) listener(stream);
    this.#listeners.clear();
    return stream;
  };
}

const stdin = new FirstUse<NodeJS.ReadStream>('stdin');
const stdout = new FirstUse<NodeJS.WriteStream>('stdout');
const stderr = new FirstUse<NodeJS.WriteStream>('stderr');

/**
 * Calls back once the program itself uses `process.stdin`, before it gets the stream; never if it does not.
 * @returns a function that ends the wait.
 */
export function onStdinUse(listener: Listener<NodeJS.ReadStream>): () => void {
  return stdin.wait(listener);
}

/** As {@link onStdinUse}, for stdout. */
export function onStdoutUse(listener: Listener<NodeJS.WriteStream>): () => void {
  return stdout.wait(listener);
}

/**
 * Counts the output streams that the program uses for the first time from now on.
 * @returns a function that ends the count and gives it.
 */
export function countOutputsUsed(): () => number {
  let [count, isCounting] = [0, false];
  const add = () => {
    if (isCounting) count++;
  };
  const ends = [stdout.wait(add), stderr.wait(add)];
  isCounting = true;
  return () => {
    for (const end of ends) end();
    return count;
  };
}

/** Does work of Node that pipes to stdout, such as the start of a thread: it opens stdout when there is something to write. */
export function withStdoutUnused(work: () => void): void {
  const found = Object.getOwnPropertyDescriptor(process, 'stdout');
  const get = found?.configurable === true ? found.get : undefined;
  if (found === undefined || get === undefined) {
    work();
    return;
  }
  const open = (): NodeJS.WriteStream => get.call(process);
  const late = new Writable({
    write: (chunk, _encoding, done) => void open().write(chunk, done),
  });
  Object.defineProperty(process, 'stdout', { ...found, get: () => late });
  try {
    work();
  } finally {
    Object.defineProperty(process, 'stdout', found);
  }
}
