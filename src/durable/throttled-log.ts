import { diag } from '@opentelemetry/api';

const INTERVAL_MS = 60_000;
/** Kinds may name files; beyond this many the one logged longest ago is forgotten. */
const MAX_KINDS = 1000;

/** Logs the first message of a kind at once, then at most one per minute with the total since. */
export class ThrottledLog {
  readonly #kinds = new Map<string, { lastAt: number; held: number }>();

  /** @param count e.g. of dropped spans; counts of suppressed lines are added to the next one. */
  warn(kind: string, count: number, message: (total: number) => string): void {
    const now = performance.now();
    const known = this.#kinds.get(kind) ?? { lastAt: Number.NEGATIVE_INFINITY, held: 0 };
    known.held += count;
    this.#kinds.delete(kind);
    this.#kinds.set(kind, known);
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size > MAX_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
    if (now - known.lastAt < INTERVAL_MS) return;
    diag.warn(`mcp-observatory: ${message(known.held)}`);
    known.lastAt = now;
    known.held = 0;
  }
}
