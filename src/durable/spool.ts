import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { ResolvedSpoolOptions } from './options.ts';
import { decodeRecord, encodeRecord, findRecord, spansIn } from './record.ts';
import { SegmentWriter } from './segment-writer.ts';
import { adoptOrphans, createOwnFolder, type OwnFolder, SEGMENT_SUFFIX } from './spool-directory.ts';

/** How often to look for segments of dead processes. */
const ADOPT_INTERVAL_MS = 30_000;

/** A file that is no longer written to. */
interface Segment {
  readonly path: string;
  readonly bytes: number;
}

/** The segment being read. */
interface Reading {
  readonly segment: Segment;
  readonly content: Buffer;
  at: number;
}

/** The oldest batch of the spool. */
export interface SpooledBatch {
  readonly spans: ReadableSpan[];
}

/** Losses of a spool. */
export interface SpoolLosses {
  /** Spans dropped because of the bounds on size and age. */
  dropped: number;
  /** Unreadable bytes: torn by a crash or damaged on disk. */
  damagedBytes: number;
  /** Spans in intact records of an unknown format. */
  unreadable: number;
}

/**
 * A FIFO queue of batches on disk. Batches are appended to files of some megabytes; a file is read when complete and
 * removed when all of it was handled. The next process that uses the folder takes over what a dead process left;
 * batches of the file it was reading are then delivered again.
 *
 * One owner calls `append` and `peek`/`remove`, which may run concurrently.
 */
export class Spool {
  readonly losses: SpoolLosses = { dropped: 0, damagedBytes: 0, unreadable: 0 };
  readonly #options: ResolvedSpoolOptions;
  readonly #folder: OwnFolder;
  readonly #sealed: Segment[] = [];
  #active: SegmentWriter | undefined;
  #reading: Reading | undefined;
  #count = 0;
  #lastAdoption = 0;
  /** Serializes operations that change files. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: ResolvedSpoolOptions, folder: OwnFolder) {
    this.#options = options;
    this.#folder = folder;
  }

  /** @throws the file system's error when the folder cannot be created. */
  static async open(options: ResolvedSpoolOptions): Promise<Spool> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const spool = new Spool(options, await createOwnFolder(options.directory));
    await spool.#adopt();
    return spool;
  }

  /** Size of all files, in bytes. */
  get bytes(): number {
    return this.#sealed.reduce((sum, { bytes }) => sum + bytes, this.#active?.bytes ?? 0);
  }

  get isEmpty(): boolean {
    return this.#sealed.length === 0 && this.#active === undefined;
  }

  /**
   * Writes a batch to disk; on return it is as durable as the `sync` option says.
   * @throws the file system's error, e.g. `ENOSPC`, or an Error when the spool is full and may not drop. The batch is
   * then not stored.
   */
  async append(spans: readonly ReadableSpan[]): Promise<void> {
    // Encoded concurrently, written in the order of the calls.
    const encoded = encodeRecord(spans);
    await this.#exclusive(async () => {
      const record = await encoded;
      await this.#makeRoom(record.length);
      try {
        this.#active ??= await SegmentWriter.create(this.#newPath(), this.#options.sync);
        await this.#active.append(record);
      } catch (error) {
        await this.#seal();
        throw error;
      }
      if (this.#active.bytes >= this.#options.segmentBytes) await this.#seal();
    });
  }

  /** The oldest batch, without removing it; `undefined` when there is none. */
  async peek(): Promise<SpooledBatch | undefined> {
    for (;;) {
      const found = await this.#exclusive(() => this.#nextRecord());
      if (found === undefined) return undefined;
      try {
        return { spans: await decodeRecord(found.payload) };
      } catch {
        this.losses.unreadable += found.spans;
        await this.remove();
      }
    }
  }

  /** Removes the batch returned by `peek`. */
  async remove(): Promise<void> {
    await this.#exclusive(async () => {
      const reading = this.#reading;
      if (reading === undefined) return;
      const found = findRecord(reading.content, reading.at);
      if (typeof found !== 'number') reading.at = found.end;
      await this.#finishIfRead(reading);
    });
  }

  /** Completes the current file and leaves the rest to the next process. */
  async close(): Promise<void> {
    await this.#exclusive(async () => {
      await this.#seal();
      await this.#folder.release();
    });
  }

  async #nextRecord(): Promise<{ readonly spans: number; readonly payload: Buffer } | undefined> {
    await this.#makeRoom(0);
    for (;;) {
      this.#reading ??= await this.#beginReading();
      if (this.#reading === undefined) return undefined;
      const found = findRecord(this.#reading.content, this.#reading.at);
      if (typeof found !== 'number') {
        this.losses.damagedBytes += found.start - this.#reading.at;
        this.#reading.at = found.start;
        return found;
      }
      await this.#finishIfRead(this.#reading);
    }
  }

  async #beginReading(): Promise<Reading | undefined> {
    for (;;) {
      if (this.#sealed.length === 0) await this.#seal();
      if (this.#sealed.length === 0) await this.#adopt();
      const [segment] = this.#sealed;
      if (segment === undefined) return undefined;
      const content = await readFile(segment.path).catch(() => undefined);
      if (content !== undefined) return { segment, content, at: 0 };
      this.#forget(segment);
    }
  }

  /** Removes the file being read once it has no records left. */
  async #finishIfRead(reading: Reading): Promise<void> {
    const found = findRecord(reading.content, reading.at);
    if (typeof found !== 'number') return;
    this.losses.damagedBytes += found;
    this.#reading = undefined;
    this.#forget(reading.segment);
    await unlink(reading.segment.path).catch(() => {});
  }

  async #seal(): Promise<void> {
    const active = this.#active;
    this.#active = undefined;
    if (active === undefined) return;
    await active.close().catch(() => {});
    if (active.bytes > 0) this.#sealed.push({ path: active.path, bytes: active.bytes });
  }

  async #adopt(): Promise<void> {
    if (Date.now() - this.#lastAdoption < ADOPT_INTERVAL_MS) return;
    this.#lastAdoption = Date.now();
    for (const name of await adoptOrphans(this.#options.directory, this.#folder.path)) {
      const path = join(this.#folder.path, name);
      this.#sealed.push({ path, bytes: (await stat(path)).size });
    }
    // Names start with the time, so that adopted files are in order too.
    this.#sealed.sort((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  }

  /**
   * Drops the oldest segments that exceed the age limit, or the size limit with the addition.
   * @throws Error when there is no room and nothing may be dropped.
   */
  async #makeRoom(added: number): Promise<void> {
    if (this.#options.whenFull === 'refuse') {
      if (added === 0 || this.bytes + added <= this.#options.maxBytes) return;
      throw new Error(`the spool is full: ${this.bytes} of ${this.#options.maxBytes} bytes`);
    }
    const oldest = Date.now() - this.#options.maxAgeMs;
    for (;;) {
      const segment = this.#sealed.find((candidate) => candidate !== this.#reading?.segment);
      if (segment === undefined) return;
      if (this.bytes + added <= this.#options.maxBytes && timeOf(segment.path) >= oldest) return;
      const content = await readFile(segment.path).catch(() => Buffer.alloc(0));
      this.losses.dropped += spansIn(content);
      this.#forget(segment);
      await unlink(segment.path).catch(() => {});
    }
  }

  #forget(segment: Segment): void {
    this.#sealed.splice(this.#sealed.indexOf(segment), 1);
  }

  /** Sorts by time; the suffix keeps names unique when another process takes over the file. */
  #newPath(): string {
    this.#count += 1;
    const parts = [Date.now(), String(this.#count).padStart(8, '0'), randomBytes(4).toString('hex')];
    return join(this.#folder.path, `${parts.join('-')}${SEGMENT_SUFFIX}`);
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

function timeOf(path: string): number {
  return Number.parseInt(basename(path), 10);
}
