import { warnVisibly } from '../base/index.ts';

const INTERVAL_MS = 60_000;
/** Kinds may name files; beyond this many the one logged longest ago is forgotten. */
const MAX_KINDS = 1000;

interface Kind {
  lastAt: number;
  held: number;
  message: (total: number) => string;
}

/** Logs the first message of a kind at once, then at most one per minute with the total since. */
export class ThrottledLog {
  readonly #kinds = new Map<string, Kind>();

  /** @param count e.g. of dropped spans; counts of suppressed lines are added to the next one. */
  warn(kind: string, count: number, message: (total: number) => string): void {
    const now = performance.now();
    const known = this.#kinds.get(kind) ?? { lastAt: Number.NEGATIVE_INFINITY, held: 0, message };
    known.held += count;
    known.message = message;
    this.#kinds.delete(kind);
    this.#kinds.set(kind, known);
    const [oldest] = this.#kinds;
    if (this.#kinds.size > MAX_KINDS && oldest !== undefined) {
      this.#kinds.delete(oldest[0]);
      print(oldest[1]);
    }
    if (now - known.lastAt < INTERVAL_MS) return;
    print(known);
    known.lastAt = now;
  }

  /** Logs the withheld counts, at the end of the process. */
  flush(): void {
    for (const kind of this.#kinds.values()) print(kind);
  }
}

function print(kind: Kind): void {
  if (kind.held > 0) warnVisibly(`mcp-observatory: ${kind.message(kind.held)}`);
  kind.held = 0;
}
