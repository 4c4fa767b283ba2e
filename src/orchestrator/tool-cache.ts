export interface ToolCacheOptions {
  /** How long a result may be used again, in milliseconds. @defaultValue 60000 */
  readonly ttlMs?: number | undefined;
  /** Most results kept; the oldest goes first. @defaultValue 256 */
  readonly maxEntries?: number | undefined;
}

interface Entry<T> {
  readonly server: string;
  readonly value: T;
  readonly storedAt: number;
}

/**
 * Results of read-only tools, kept for a run.
 *
 * Any call to a tool of the same server that is not read-only may change what they say, so it drops that server's
 * results.
 */
export class ToolCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #now: () => number;

  constructor(options: ToolCacheOptions = {}, now: () => number = () => performance.now()) {
    this.#ttlMs = options.ttlMs ?? 60_000;
    this.#maxEntries = options.maxEntries ?? 256;
    this.#now = now;
  }

  /** @param argumentsText the arguments in canonical JSON. */
  get(server: string, tool: string, argumentsText: string): T | undefined {
    const id = key(server, tool, argumentsText);
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    if (this.#now() - entry.storedAt <= this.#ttlMs) return entry.value;
    this.#entries.delete(id);
    return undefined;
  }

  set(server: string, tool: string, argumentsText: string, value: T): void {
    const id = key(server, tool, argumentsText);
    this.#entries.delete(id);
    this.#entries.set(id, { server, value, storedAt: this.#now() });
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#maxEntries && oldest.done !== true) this.#entries.delete(oldest.value);
  }

  invalidate(server: string): void {
    for (const [id, entry] of this.#entries) if (entry.server === server) this.#entries.delete(id);
  }
}

function key(server: string, tool: string, argumentsText: string): string {
  return JSON.stringify([server, tool, argumentsText]);
}
