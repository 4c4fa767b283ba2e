import { type FoundRecord, findRecord } from './record.ts';

/** A file that is no longer written to. */
export interface Segment {
  readonly path: string;
  readonly bytes: number;
  /** When this process came to know it, by the monotonic clock. */
  readonly since: number;
  /** Reads that failed in a row, and when the next is due. */
  failures: number;
  retryAt: number;
}

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;

export function newSegment(path: string, bytes: number): Segment {
  return { path, bytes, since: performance.now(), failures: 0, retryAt: 0 };
}

/** Leaves a segment that cannot be read alone for a while: one second, doubled with each failure up to a minute. */
export function postpone(segment: Segment): void {
  segment.retryAt =
    performance.now() + Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(segment.failures, 10));
  segment.failures += 1;
}

/** Bytes of a segment that hold no spans this version can read. */
export interface Stretch {
  readonly bytes: Buffer;
  /** Spans in it that a newer version could read; 0 for damaged bytes. */
  readonly spans: number;
}

/** Reads the records of one segment in order and collects unreadable bytes. */
export class SegmentReader {
  readonly segment: Segment;
  readonly unreadable: Stretch[] = [];
  readonly #content: Buffer;
  #current: FoundRecord | undefined;
  #at = 0;

  constructor(segment: Segment, content: Buffer) {
    this.segment = segment;
    this.#content = content;
  }

  /** The record to handle; `undefined` at the end. */
  get current(): FoundRecord | undefined {
    if (this.#current !== undefined) return this.#current;
    while (this.#at < this.#content.length) {
      const found = findRecord(this.#content, this.#at);
      const start = found?.start ?? this.#content.length;
      if (start > this.#at)
        this.unreadable.push({ bytes: this.#content.subarray(this.#at, start), spans: 0 });
      this.#at = start;
      if (found?.isKnown === true) {
        this.#current = found;
        return found;
      }
      if (found !== undefined) this.#skip(found);
    }
    return undefined;
  }

  /** Goes on to the next record. */
  next(): void {
    this.#at = this.#current?.end ?? this.#at;
    this.#current = undefined;
  }

  /** Goes on to the next record, because the payload of this one cannot be read. */
  skip(): void {
    if (this.#current !== undefined) this.#skip(this.#current);
    this.#current = undefined;
  }

  #skip({ start, end, spans }: FoundRecord): void {
    this.unreadable.push({ bytes: this.#content.subarray(start, end), spans });
    this.#at = end;
  }
}
