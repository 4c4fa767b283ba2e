/** CPU time of a thread, and how fast the machine is at a moment. */
import { existsSync, openSync, readSync } from 'node:fs';

/** Where Linux reports the CPU time of a thread. */
const OF_THREAD = '/proc/thread-self/schedstat';
const TEXT = Buffer.alloc(64);
let file: number | undefined;

/** CPU microseconds of this process. */
export function processCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** CPU microseconds of this thread; where the system does not report them, of the process, other threads included. */
export function threadCpu(): number {
  // Makes the kernel update what it reports of the thread.
  const ofProcess = processCpu();
  file ??= existsSync(OF_THREAD) ? openSync(OF_THREAD, 'r') : -1;
  if (file < 0) return ofProcess;
  readSync(file, TEXT, 0, TEXT.length, 0);
  return Number(TEXT.toString('latin1', 0, TEXT.indexOf(' '))) / 1000;
}

/**
 * How fast the machine is, by a piece of work that is always the same. A core that shares its hardware with another
 * program takes up to twice the CPU time, for some milliseconds or for seconds.
 */
export class Gauge {
  readonly #memory = new Uint32Array(16_384);
  #fastest = Number.POSITIVE_INFINITY;
  #before = 0;

  constructor() {
    for (let i = 0; i < 200; i++) this.#time();
  }

  /** Begins what {@link slowness} is asked about. */
  begin(): void {
    this.#before = this.#time();
  }

  /** How many times as long as at its best the work took before and after what was done since the last call. */
  slowness(): number {
    const after = this.#time();
    const mean = (this.#before + after) / 2;
    this.#before = after;
    return mean / this.#fastest;
  }

  /** CPU microseconds of the work. */
  #time(): number {
    const started = threadCpu();
    const memory = this.#memory;
    let value = 1;
    for (let i = 0; i < 100_000; i++) {
      value = (Math.imul(value, 31) + (memory[i & 16_383] as number)) | 0;
      memory[value & 16_383] = value;
    }
    const spent = threadCpu() - started;
    this.#fastest = Math.min(this.#fastest, spent);
    return spent;
  }
}
