import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** A bounded FIFO ring buffer of spans. */
export class SpanQueue {
  readonly #ring: (ReadableSpan | undefined)[];
  #first = 0;
  #length = 0;

  constructor(capacity: number) {
    this.#ring = new Array<ReadableSpan | undefined>(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** @returns whether there was room. */
  push(span: ReadableSpan): boolean {
    if (this.#length === this.#ring.length) return false;
    this.#ring[(this.#first + this.#length) % this.#ring.length] = span;
    this.#length += 1;
    return true;
  }

  /** Removes and returns up to `max` of the oldest spans. */
  take(max: number): ReadableSpan[] {
    const spans: ReadableSpan[] = [];
    while (spans.length < max && this.#length > 0) {
      spans.push(this.#ring[this.#first] as ReadableSpan);
      this.#ring[this.#first] = undefined;
      this.#first = (this.#first + 1) % this.#ring.length;
      this.#length -= 1;
    }
    return spans;
  }
}
