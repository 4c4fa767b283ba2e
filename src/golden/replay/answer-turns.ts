import type { Finding, Golden } from '../file/index.ts';

/** After an answer, the next one waits so many turns of the event loop, for the program to take up the first. */
const GAP_TURNS = 12;
/** How much longer than in the recording an answer waits for those before it, which a changed program may not ask for. */
const PATIENCE_MS = 1_000;

/** Something with a place in the sequence of requests and answers. */
export interface Placed {
  readonly order?: readonly [asked: number, answered: number];
  readonly duration_ms: number | null;
}

interface Waiting {
  readonly position: number;
  /** Ends the wait for what a changed program does not ask for. */
  readonly patience: NodeJS.Timeout;
  release(): void;
}

/**
 * Gives the answers of a golden in the order in which they came, however fast each could be given, so that a program
 * that asks for several at once goes on as it did; and notes requests made in another order than in the recording.
 */
export class AnswerTurns {
  /** Positions of the answers that are still to be given. Those of one whole number came together. */
  readonly #left: Set<number>;
  #waiting: Waiting[] = [];
  /** The program is taking up the latest answer. */
  #isGap = false;
  /** Whether the program asked its models one after another, so that the order of its requests is its own. */
  readonly #isInOrder: boolean;
  /** The latest request, by its position. */
  #latest: { readonly asked: number; readonly place: string } | undefined;
  readonly findings: Finding[] = [];

  constructor({ provider_responses: exchanges, mcp_cassette: cassette }: Golden) {
    const calls = cassette?.calls ?? [];
    // Of conversations that go on at the same time, which is ahead is chance.
    this.#isInOrder = exchanges.every(({ order }, index) => {
      const next = exchanges[index + 1]?.order;
      return next === undefined || (order !== undefined && order[1] < next[0]);
    });
    const sent = calls.flatMap(({ sent_before: before = [], sent_after: after = [] }) => [
      ...before,
      ...after,
    ]);
    const positions = [
      ...[...exchanges, ...calls].map(({ order }) => order?.[1]),
      ...sent.map(({ at }) => at),
    ];
    this.#left = new Set(positions.filter((position) => typeof position === 'number'));
  }

  /** The request of an entry was made. */
  asked(place: string, { order }: Placed): void {
    if (order === undefined) return;
    if (this.#isInOrder && this.#latest !== undefined && order[1] < this.#latest.asked) {
      const message = `${place}: asked after ${this.#latest.place}; the golden has it before`;
      this.findings.push({ place, expected: 'before', actual: 'after', message });
    }
    if (this.#latest === undefined || order[0] > this.#latest.asked)
      this.#latest = { asked: order[0], place };
  }

  /** Resolves when it is the turn of an entry's answer. */
  async turn({ order, duration_ms: duration }: Placed): Promise<void> {
    if (order !== undefined) await this.at(order[1], duration ?? 0);
  }

  /**
   * Resolves when it is the turn of a position.
   * @param durationMs how long it took in the recording.
   */
  at(position: number, durationMs: number): Promise<void> {
    return new Promise((release) => {
      const patience = setTimeout(() => this.#giveUpBefore(position), durationMs + PATIENCE_MS);
      this.#waiting.push({ position, patience, release });
      this.#settle();
    });
  }

  /** Gives the answers whose turn it is. */
  #settle(): void {
    if (this.#isGap || this.#waiting.length === 0) return;
    this.#waiting.sort((left, right) => left.position - right.position);
    const batch = Math.floor(this.#waiting[0]?.position ?? 0);
    const waiting = new Set(this.#waiting.map(({ position }) => position));
    for (const position of this.#left) if (Math.floor(position) <= batch && !waiting.has(position)) return;
    const together = this.#waiting.filter(({ position }) => Math.floor(position) === batch);
    this.#waiting = this.#waiting.slice(together.length);
    for (const { position, patience, release } of together) {
      this.#left.delete(position);
      clearTimeout(patience);
      release();
    }
    this.#isGap = true;
    void passTurns().then(() => {
      this.#isGap = false;
      this.#settle();
    });
  }

  #giveUpBefore(position: number): void {
    const waiting = new Set(this.#waiting.map((one) => one.position));
    for (const left of this.#left)
      if (Math.floor(left) <= position && !waiting.has(left)) this.#left.delete(left);
    this.#settle();
  }
}

async function passTurns(): Promise<void> {
  for (let turn = 0; turn < GAP_TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
