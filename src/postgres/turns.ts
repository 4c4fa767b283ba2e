/** Priorities: writes and roll-ups first, then the views of the page, then questions of agents. */
const RANKS = ['statement', 'view', 'question'] as const;

export type Rank = (typeof RANKS)[number];

/** After a shorter turn a rank needs no rest. */
const SHORT_MS = 200;
/** A rank counts as idle after this time without work. */
const IDLE_MS = 100;

interface Line<T> {
  readonly waiting: T[];
  /** When work of this rank last arrived or ended. */
  busyAt: number;
  restUntil: number;
}

/**
 * Schedules work that runs one at a time, by rank, then first in, first out. After a long turn a rank rests for as long
 * as the turn took, unless all higher ranks are idle, so higher ranks get at least half of the time.
 */
export class Turns<T> {
  readonly #lines: Record<Rank, Line<T>> = { statement: newLine(), view: newLine(), question: newLine() };

  add(rank: Rank, one: T, nowMs: number): void {
    this.#lines[rank].waiting.push(one);
    this.#lines[rank].busyAt = nowMs;
  }

  /** Dequeues the next waiter; undefined when the queue is empty or no one may begin yet. */
  next(nowMs: number): T | undefined {
    const rank = this.#firstRank();
    return rank === undefined || this.#beginsAt(rank) > nowMs ? undefined : this.#lines[rank].waiting.shift();
  }

  /** When the next turn may begin; undefined for an empty queue. */
  get nextAtMs(): number | undefined {
    const rank = this.#firstRank();
    return rank === undefined ? undefined : this.#beginsAt(rank);
  }

  /** Ends a turn. */
  ended(rank: Rank, tookMs: number, nowMs: number): void {
    const line = this.#lines[rank];
    line.busyAt = nowMs;
    if (tookMs > SHORT_MS) line.restUntil = nowMs + tookMs;
  }

  /** Whether a waiter has priority over this rank. */
  hasBefore(rank: Rank): boolean {
    const first = this.#firstRank();
    return first !== undefined && RANKS.indexOf(first) < RANKS.indexOf(rank);
  }

  /** Whether statements wait. */
  get hasStatements(): boolean {
    return this.#lines.statement.waiting.length > 0;
  }

  /** Dequeues all waiters of a rank. */
  takeAll(rank: Rank): readonly T[] {
    return this.#lines[rank].waiting.splice(0);
  }

  #firstRank(): Rank | undefined {
    return RANKS.find((rank) => this.#lines[rank].waiting.length > 0);
  }

  #beginsAt(rank: Rank): number {
    const before = RANKS.slice(0, RANKS.indexOf(rank)).map((other) => this.#lines[other].busyAt);
    return Math.min(this.#lines[rank].restUntil, Math.max(...before) + IDLE_MS);
  }
}

function newLine<T>(): Line<T> {
  return { waiting: [], busyAt: Number.NEGATIVE_INFINITY, restUntil: Number.NEGATIVE_INFINITY };
}
