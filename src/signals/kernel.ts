import { randomFillSync } from 'node:crypto';
import { KERNEL } from './kernel-binary.ts';
import { CANDIDATES } from './phrases.ts';
import { ASCII_CLASS } from './unicode.ts';
import { PADDING, type Utf8Text } from './utf8-text.ts';
import { UUID_CHARACTERS, UUID_PLACES } from './volatile-patterns.ts';

/** WebAssembly memory never shrinks, so a larger one is left to the garbage collector. */
const RETAINED_BYTES = 16 * 1024 * 1024;

/** Addresses of the kernel's static tables; see `assembly/memory.ts`. */
const SEEDS_ADDRESS = 0;
const TABLES: readonly (readonly [address: number, table: Uint8Array])[] = [
  [64, new Uint8Array(CANDIDATES.buffer)],
  [1088, ASCII_CLASS],
  [1344, UUID_CHARACTERS],
  [1600, UUID_PLACES],
];

/** Maximum growth by normalization: `1 ` becomes `<number> `. */
const MOST_GROWTH = 5;

const NUMBER_BYTES = 8;
/** A digit, and what parts it from the next. */
const LEAST_BYTES_OF_NUMBER = 2;

/** The kernel's exports; `assembly/` documents the functions. */
interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  allocate(size: number): number;
  free(address: number): void;
  normalize(text: number, length: number, out: number, replaceVolatile: boolean): number;
  numbers(text: number, length: number, out: number): number;
  reset(slots: number): void;
  add(text: number, length: number, set: number): void;
  addedTokens(): number;
  sharedTokens(): number;
}

/** Called for tokens of an answer that may hold a phrase; see `assembly/token-sets.ts`. */
export interface TokenListener {
  inspect(index: number, size: number): number;
  occurs(index: number): void;
}

/** The part of WebAssembly used here; the configured type libraries do not include it. */
interface WebAssemblyApi {
  readonly Module: new (binary: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
}

/**
 * The inner loops as a WebAssembly module that processes 16 bytes at a time; its source is in `assembly/`. JavaScript
 * takes two to three times as long, and these loops dominate the cost of all signals.
 */
export class Kernel {
  listener: TokenListener = { inspect: () => 0, occurs: () => {} };
  readonly #module: object;
  /** Reads a number of more digits than the kernel can; set while it reads numbers. */
  #parse: (start: number, end: number) => number = () => Number.NaN;
  #exports: KernelExports;

  /** @throws ReferenceError or WebAssembly.CompileError where the engine lacks the required features. */
  constructor() {
    const { Module } = webAssembly();
    this.#module = new Module(Buffer.from(KERNEL, 'base64'));
    this.#exports = this.#start();
  }

  #start(): KernelExports {
    const { Instance } = webAssembly();
    const imports = {
      inspect: (index: number, size: number) => this.listener.inspect(index, size),
      occurs: (index: number) => this.listener.occurs(index),
    };
    const numbers = { parse: (start: number, end: number) => this.#parse(start, end) };
    const kernel = new Instance(this.#module, { 'token-sets': imports, numbers }).exports as KernelExports;
    kernel.allocate(0);
    const { buffer } = kernel.memory;
    // Odd, so that multiplication is reversible.
    const seeds = randomFillSync(new BigUint64Array(2)).map((seed) => seed | 1n);
    new BigUint64Array(buffer, SEEDS_ADDRESS).set(seeds);
    for (const [address, table] of TABLES) new Uint8Array(buffer, address).set(table);
    return kernel;
  }

  get exports(): Omit<KernelExports, 'memory'> {
    return this.#exports;
  }

  /** Memory the kernel holds. */
  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Copies a text into the kernel's memory. @returns its address. */
  take(text: Utf8Text): number {
    const size = text.length + PADDING;
    const address = this.#exports.allocate(size);
    new Uint8Array(this.#exports.memory.buffer, address, size).set(text.bytes.subarray(0, size));
    return address;
  }

  /** What {@link normalize} of `normalize.ts` does, for texts of ASCII characters only. */
  normalize(source: Utf8Text, target: Utf8Text, replaceVolatile: boolean): void {
    const address = this.take(source);
    const room = replaceVolatile ? source.length * MOST_GROWTH : source.length;
    const out = this.#exports.allocate(room + PADDING);
    const length = this.#exports.normalize(address, source.length, out, replaceVolatile);
    target.reserve(length);
    target.bytes.set(new Uint8Array(this.#exports.memory.buffer, out, length));
    target.end(length);
    this.#exports.free(address);
  }

  /**
   * What `extractNumbers` of `numbers.ts` does, for texts of ASCII characters only.
   *
   * @param parse gives the value of the long number at these places of the text.
   */
  numbers(source: Utf8Text, parse: (start: number, end: number) => number): Float64Array {
    const address = this.take(source);
    const out = this.#exports.allocate(NUMBER_BYTES * Math.ceil(source.length / LEAST_BYTES_OF_NUMBER));
    this.#parse = parse;
    const count = this.#exports.numbers(address, source.length, out);
    const numbers = new Float64Array(this.#exports.memory.buffer, out, count).slice();
    this.#exports.free(address);
    return numbers;
  }

  /** Releases oversized memory. */
  release(): void {
    if (this.memoryBytes > RETAINED_BYTES) this.#exports = this.#start();
  }
}

function webAssembly(): WebAssemblyApi {
  const api = (globalThis as { readonly WebAssembly?: WebAssemblyApi }).WebAssembly;
  if (api === undefined) throw new ReferenceError('WebAssembly is not available');
  return api;
}
