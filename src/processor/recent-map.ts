/**
 * A map of limited size that forgets what was added long ago: at least half of the limit is always kept. Deleting the
 * oldest entry of one map instead would search its beginning, which is full of deleted ones.
 */
export class RecentMap<V> {
  readonly #half: number;
  #recent = new Map<string, V>();
  #older = new Map<string, V>();

  /** @param limit entries at most. */
  constructor(limit: number) {
    this.#half = Math.ceil(limit / 2);
  }

  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  get(key: string): V | undefined {
    const value = this.#recent.get(key);
    return value !== undefined || this.#older.size === 0 ? value : this.#older.get(key);
  }

  set(key: string, value: V): void {
    this.#recent.set(key, value);
    if (this.#recent.size < this.#half) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }

  /** The values, the oldest first; that of a key that was set again may come twice, once as it was. */
  values(): V[] {
    return [...this.#older.values(), ...this.#recent.values()];
  }

  delete(key: string): void {
    this.#recent.delete(key);
    this.#older.delete(key);
  }
}
