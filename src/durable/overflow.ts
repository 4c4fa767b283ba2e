import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type EncodedBatch, encodeBatchNow } from './record.ts';

/** Most bytes that may wait for the disk. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Batches on their way from a full queue to the spool, as bytes: the event loop could not turn before it was full. */
export class Overflow {
  readonly #batches = new Set<EncodedBatch>();
  #bytes = 0;

  get hasRoom(): boolean {
    return this.#bytes < MAX_BYTES;
  }

  /** Encodes a batch at once: about 4 microseconds per span. */
  add(spans: readonly ReadableSpan[]): EncodedBatch {
    const batch = encodeBatchNow(spans);
    this.#batches.add(batch);
    this.#bytes += batch.groups.length;
    return batch;
  }

  has(batch: EncodedBatch): boolean {
    return this.#batches.has(batch);
  }

  /** @returns whether the batch was still waiting. */
  remove(batch: EncodedBatch): boolean {
    if (!this.#batches.delete(batch)) return false;
    this.#bytes -= batch.groups.length;
    return true;
  }

  /** Removes and returns all batches. */
  takeAll(): EncodedBatch[] {
    const all = [...this.#batches];
    this.#batches.clear();
    this.#bytes = 0;
    return all;
  }
}
