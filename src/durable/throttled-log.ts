import { diag } from '@opentelemetry/api';

const INTERVAL_MS = 60_000;

/** Tells the first of a kind at once, then what came together at most once a minute: one line, not a flood. */
export class ThrottledLog {
  readonly #kinds = new Map<string, { lastAt: number; held: number }>();

  /** @param count of what, e.g. dropped spans; those of lines held back are added to the next one. */
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
