import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** Spans of one write that go into one batch. */
export interface Portion {
  readonly spans: readonly ReadableSpan[];
  /** @param error why they are not safe; `undefined` if they are. */
  settle(error: Error | undefined): void;
}

interface Gift {
  readonly spans: readonly ReadableSpan[];
  /** Spans moved into batches. */
  taken: number;
  /** Spans whose batch is not finished. */
  open: number;
  error: Error | undefined;
  readonly done: (error: Error | undefined) => void;
}

/** Pending writes, FIFO. Small ones are merged into batches, large ones split. */
export class WriteQueue {
  #gifts: Gift[] = [];
  #head = 0;

  /** Resolves when all of the spans are finished, with the first error. */
  push(spans: readonly ReadableSpan[]): Promise<Error | undefined> {
    return new Promise((done) => {
      this.#gifts.push({ spans, taken: 0, open: spans.length, error: undefined, done });
    });
  }

  /** The next spans, up to the limit; empty when nothing waits. */
  take(max: number): Portion[] {
    const portions: Portion[] = [];
    let room = max;
    for (let gift = this.#gifts[this.#head]; gift !== undefined && room > 0; gift = this.#gifts[this.#head]) {
      const spans = gift.spans.slice(gift.taken, gift.taken + room);
      gift.taken += spans.length;
      room -= spans.length;
      portions.push(portionOf(gift, spans));
      if (gift.taken === gift.spans.length) this.#head += 1;
    }
    if (this.#head > 1024 || this.#head === this.#gifts.length) {
      this.#gifts = this.#gifts.slice(this.#head);
      this.#head = 0;
    }
    return portions;
  }
}

function portionOf(gift: Gift, spans: readonly ReadableSpan[]): Portion {
  return {
    spans,
    settle: (error) => {
      gift.open -= spans.length;
      gift.error ??= error;
      if (gift.open === 0) gift.done(gift.error);
    },
  };
}
