import { diag } from '@opentelemetry/api';

const INTERVAL_MS = 60_000;

/** Logs the first message of a kind at once, then at most one per minute with the total since. */
export class ThrottledLog {
  readonly #kinds = new Map<string, { lastAt: number; held: number }>();

  /** @param count e.g. of dropped spans; counts of suppressed lines are added to the next one. */
  warn(kind: string, count: number, message: (total: number) => string): void {
    const now = Date.now();
    const known = this.#kinds.get(kind) ?? { lastAt: Number.NEGATIVE_INFINITY, held: 0 };
    known.held += count;
    this.#kinds.set(kind, known);
    if (now - known.lastAt < INTERVAL_MS) return;
    diag.warn(`mcp-observatory: ${message(known.held)}`);
    known.lastAt = now;
    known.held = 0;
  }
}
