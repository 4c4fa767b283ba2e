import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { decodeRecord, encodeRecord, findRecord } from './record.ts';
import { SegmentWriter } from './segment-writer.ts';
import { adoptOrphans, createOwnFolder, type OwnFolder, SEGMENT_SUFFIX } from './spool-directory.ts';
import type { ResolvedSpoolOptions } from './spool-options.ts';

/** How often the segments of processes that are gone are looked for. */
const ADOPT_INTERVAL_MS = 30_000;

/** A file that is complete, or as complete as its process could make it. */
interface Segment {
  readonly path: string;
  readonly bytes: number;
}

/** The segment that is being read. */
interface Reading {
  readonly segment: Segment;
  readonly content: Buffer;
  at: number;
}

/** The oldest batch of the spool. */
export interface SpooledBatch {
  readonly spans: ReadableSpan[];
}

/** What a spool has lost, as it goes. */
export interface SpoolLosses {
  /** Spans dropped because of the bounds on size and age. */
  dropped: number;
  /** Bytes that were no record: torn by a crash, or damaged on the disk. */
  damagedBytes: number;
  /** Spans of records that were whole but could not be understood. */
  unreadable: number;
}

/**
 * Batches of spans on disk, first in, first out. They are appended to files of some megabytes, read once a file is
 * complete, and a file is removed when all of it has been handled. What a process leaves behind, however it ended, the
 * next one that uses the folder takes over; batches of the file that was being read then come a second time.
 *
 * One owner calls `append` and `peek`/`remove`; both may be under way at the same time.
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
  /** Operations that change files run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: ResolvedSpoolOptions, folder: OwnFolder) {
    this.#options = options;
    this.#folder = folder;
  }

  /** @throws the file system's error when the folder cannot be made. */
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
   * Puts a batch on disk; when this returns, it is as safe as the `sync` option says.
   * @throws the file system's error, e.g. `ENOSPC`, or an Error when the spool is full and may not drop; the batch is
   *   then not in the spool.
   */
  async append(spans: readonly ReadableSpan[]): Promise<void> {
    // Encoded side by side, written in the order of the calls.
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

  /** The oldest batch, which stays until it is removed; `undefined` when there is none. */
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

  /** Removes the batch that `peek` gave. */
  async remove(): Promise<void> {
    await this.#exclusive(async () => {
      const reading = this.#reading;
      if (reading === undefined) return;
      const found = findRecord(reading.content, reading.at);
      if (typeof found !== 'number') reading.at = found.end;
      await this.#finishIfRead(reading);
    });
  }

  /** Completes the file begun, and leaves what is there to the next process. */
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

  /** Removes the file that is being read when no record is left in it. */
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
    // Names begin with the time, so that what others left comes in its order too.
    this.#sealed.sort((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  }

  /**
   * Drops the oldest segments that are too old, or too much together with what is to be added.
   * @throws Error when nothing may be dropped and there is no room.
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
      for (let at = 0; ; ) {
        const found = findRecord(content, at);
        if (typeof found === 'number') break;
        this.losses.dropped += found.spans;
        at = found.end;
      }
      this.#forget(segment);
      await unlink(segment.path).catch(() => {});
    }
  }

  #forget(segment: Segment): void {
    this.#sealed.splice(this.#sealed.indexOf(segment), 1);
  }

  /** Sorts by time; the rest keeps names apart when another process takes the file over. */
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
