import { performance } from 'node:perf_hooks';
import type { Finding, Golden, LiveSides, Pace, ProviderExchange } from '../file/index.ts';

/** After an answer, the next one waits so many turns of the event loop, for the program to take up the first. */
const GAP_TURNS = 12;
/** How much longer than in the recording an answer waits for those before it, which a changed program may not ask for. */
const PATIENCE_MS = 1_000;

/** How often it is seen whether the process is idle. */
const TICK_MS = 50;

/** Something with a place in the sequence of requests and answers. */
export interface Placed {
  readonly order?: readonly [asked: number, answered: number];
  readonly arrived?: ProviderExchange['arrived'];
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
  /** Positions of what is still to be given, in order. Those of one whole number came together. */
  readonly #left: Set<number>;
  #waiting: Waiting[] = [];
  /** The program is taking up the latest answer. */
  #isGap = false;
  #gaps = 0;
  /** The latest position at which something was given. */
  #given = -1;
  /** Whether the program asked its models one after another, so that the order of its requests is its own. */
  readonly #isInOrder: boolean;
  #latest: { readonly asked: number; readonly place: string } | undefined;
  readonly findings: Finding[] = [];

  /** @param live what runs for real, and has no turns */
  constructor({ provider_responses: exchanges, mcp_cassette: cassette }: Golden, live: LiveSides) {
    const calls = live.tools ? [] : [...(cassette?.calls ?? []), ...(cassette?.offers ?? [])];
    // Of conversations that go on at the same time, which is ahead is chance.
    this.#isInOrder = exchanges.every(({ order }, index) => {
      const next = exchanges[index + 1]?.order;
      return next === undefined || (order !== undefined && order[1] < next[0]);
    });
    const sent = calls.flatMap(({ sent_before: before = [], sent_after: after = [] }) => [
      ...before,
      ...after,
    ]);
    const answers = live.model ? [] : exchanges;
    const positions = [
      ...[...answers, ...calls].map(({ order }) => order?.[1]),
      ...sent.map(({ at }) => at),
      ...answers.flatMap(({ arrived = [] }) => arrived.map(([, at]) => at)),
    ];
    const known = positions.filter((position) => typeof position === 'number');
    this.#left = new Set(known.sort((left, right) => left - right));
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

  /** When an entry's answer is given, and the pieces of a stream. */
  paceOf({ order, arrived, duration_ms: duration }: Placed): Pace {
    const end = order?.[1];
    // What came while nothing else happened is given together, in the turn of its end.
    const whole = end === undefined ? undefined : [[Number.POSITIVE_INFINITY, end] as const];
    return {
      arrived: arrived ?? whole,
      arrival: (at, after) => this.at(at, duration ?? 0, after),
      end: async () => {
        if (end !== undefined) await this.at(end, duration ?? 0, arrived?.at(-1)?.[1] ?? end);
      },
    };
  }

  /**
   * Resolves when it is the turn of a position.
   * @param durationMs how long it took in the recording.
   * @param after where the piece before of the same stream was given, whose reader has asked for the next one.
   */
  at(position: number, durationMs: number, after?: number): Promise<void> {
    if (after !== undefined && after === this.#given && this.#isNext(position)) {
      this.#left.delete(position);
      this.#pause(position);
      return Promise.resolve();
    }
    return new Promise((release) => {
      const patience = afterQuiet(durationMs + PATIENCE_MS, () => this.#giveUpBefore(position));
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
    for (const position of this.#left) {
      if (Math.floor(position) > batch) break;
      if (!waiting.has(position)) return;
    }
    const together = this.#waiting.filter(({ position }) => Math.floor(position) === batch);
    this.#waiting = this.#waiting.slice(together.length);
    for (const { position, patience, release } of together) {
      this.#left.delete(position);
      clearInterval(patience);
      release();
    }
    this.#pause(batch);
  }

  /** Whether nothing else is to be given before a position. */
  #isNext(position: number): boolean {
    for (const left of this.#left) if (left !== position) return left > position;
    return true;
  }

  /** Lets the program take up what was given at a position. */
  #pause(position: number): void {
    this.#given = position;
    this.#gaps += 1;
    const gap = this.#gaps;
    this.#isGap = true;
    void passTurns().then(() => {
      if (gap !== this.#gaps) return;
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

/** Calls back once the process was idle for so long. While it is busy, or not given the processor, it may still ask. */
function afterQuiet(ms: number, done: () => void): NodeJS.Timeout {
  let [quiet, at, loop] = [0, performance.now(), performance.eventLoopUtilization()];
  const timer = setInterval(() => {
    const isLate = performance.now() - at > 1.5 * TICK_MS;
    if (!isLate && performance.eventLoopUtilization(loop).utilization < 0.5) quiet += TICK_MS;
    [at, loop] = [performance.now(), performance.eventLoopUtilization()];
    if (quiet < ms) return;
    clearInterval(timer);
    done();
  }, TICK_MS);
  return timer;
}

async function passTurns(): Promise<void> {
  for (let turn = 0; turn < GAP_TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
