import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** Spans of one gift that go into one batch. */
export interface Portion {
  readonly spans: readonly ReadableSpan[];
  /** @param error why they are not safe, `undefined` when they are. */
  settle(error: Error | undefined): void;
}

interface Gift {
  readonly spans: readonly ReadableSpan[];
  /** Spans that went into batches. */
  taken: number;
  /** Spans whose batch has not come to its end. */
  open: number;
  error: Error | undefined;
  readonly done: (error: Error | undefined) => void;
}

/** Gifts of spans that wait, first in, first out; small ones are put together and large ones are divided. */
export class WriteQueue {
  #gifts: Gift[] = [];
  #head = 0;

  /** Resolves when all of the spans have come to their end, with the first error. */
  push(spans: readonly ReadableSpan[]): Promise<Error | undefined> {
    return new Promise((done) => {
      this.#gifts.push({ spans, taken: 0, open: spans.length, error: undefined, done });
    });
  }

  /** The next spans, at most so many; empty when nothing waits. */
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
