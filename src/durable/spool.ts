import { readFile, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { diag } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { errorMessage, makePrivateFolder } from '../base/index.ts';
import type { ResolvedSpoolOptions } from './options.ts';
import { decodeRecord, type EncodedBatch, encodeRecord, type FoundRecord, toRecord } from './record.ts';
import { newSegment, postpone, type Segment, SegmentReader, type Stretch } from './segment-reader.ts';
import { SegmentWriter } from './segment-writer.ts';
import {
  adoptOrphans,
  createOwnFolder,
  nameOfSegment,
  type OwnFolder,
  type SeenOwners,
} from './spool-directory.ts';
import { ThrottledLog } from './throttled-log.ts';
import { setAside, takeNewer } from './unreadable.ts';

/** How often to look for segments of dead processes. */
const ADOPT_INTERVAL_MS = 30_000;

/** The oldest batch of the spool. */
export interface SpooledBatch {
  readonly spans: ReadableSpan[];
}

export interface SpoolLosses {
  /** Spans dropped because of the bounds on size and age. */
  dropped: number;
  /** Bytes set aside as unreadable: torn by a crash, damaged on disk, or of a newer form. */
  damagedBytes: number;
}

/**
 * A FIFO queue of batches on disk. Batches are appended to files of some megabytes; a file is read when complete and
 * removed when all of it was handled. The next process that uses the folder takes over what a dead process left;
 * batches of the file it was reading are then delivered again.
 *
 * Only the limits on size and age delete spans, and they are counted. A file that cannot be read stays and is tried
 * again; bytes that cannot be parsed are moved to the folder `unreadable`. Age is the time this process has
 * known a file, by the monotonic clock, so that a clock that was set deletes nothing.
 *
 * One owner calls `append` and `peek`/`remove`, which may run concurrently.
 */
export class Spool {
  readonly losses: SpoolLosses = { dropped: 0, damagedBytes: 0 };
  readonly #options: ResolvedSpoolOptions;
  readonly #folder: OwnFolder;
  readonly #log: ThrottledLog;
  readonly #seen: SeenOwners = new Map();
  readonly #sealed: Segment[] = [];
  #active: SegmentWriter | undefined;
  #reading: SegmentReader | undefined;
  #count = 0;
  #lastAdoption = Number.NEGATIVE_INFINITY;
  /** Serializes operations that change files. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: ResolvedSpoolOptions, folder: OwnFolder, log: ThrottledLog) {
    this.#options = options;
    this.#folder = folder;
    this.#log = log;
  }

  /** @throws the file system's error when the folder cannot be created. */
  static async open(options: ResolvedSpoolOptions, log: ThrottledLog = new ThrottledLog()): Promise<Spool> {
    await makePrivateFolder(options.directory);
    const folder = await createOwnFolder(options.directory);
    const spool = new Spool(options, folder, log);
    await spool.#take(await takeNewer(options.directory, folder.path));
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

  /** Milliseconds until a file that could not be read is tried again; `undefined` when there is none. */
  get retryInMs(): number | undefined {
    const failed = this.#sealed.filter(({ failures }) => failures > 0).map(({ retryAt }) => retryAt);
    return failed.length === 0 ? undefined : Math.max(0, Math.min(...failed) - performance.now());
  }

  /**
   * Writes a batch to disk; on return it is as durable as the `sync` option says.
   * @throws the file system's error, e.g. `ENOSPC`, or an Error when the spool is full and may not drop. The batch is
   * then not stored.
   * @param isMoved the batch replaces one that is removed next, so it needs no room.
   */
  async append(batch: readonly ReadableSpan[] | EncodedBatch, isMoved = false): Promise<void> {
    // Encoded concurrently, written in the order of the calls.
    const encoded = 'groups' in batch ? toRecord(batch) : encodeRecord(batch);
    await this.#exclusive(async () => {
      const record = await encoded;
      if (!isMoved) await this.#makeRoom(record.length);
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
        return { spans: await decodeRecord(found) };
      } catch {
        this.#reading?.skip();
      }
    }
  }

  /** Removes the batch returned by `peek`. */
  async remove(): Promise<void> {
    await this.#exclusive(async () => {
      this.#reading?.next();
      if (this.#reading !== undefined && this.#reading.current === undefined)
        await this.#finish(this.#reading);
    });
  }

  /** Completes the current file and leaves the rest to the next process. */
  async close(): Promise<void> {
    await this.#exclusive(async () => {
      await this.#seal();
      await this.#folder.release();
    });
  }

  async #nextRecord(): Promise<FoundRecord | undefined> {
    await this.#makeRoom(0);
    for (;;) {
      this.#reading ??= await this.#beginReading();
      if (this.#reading === undefined) return undefined;
      if (this.#reading.current !== undefined) return this.#reading.current;
      await this.#finish(this.#reading);
    }
  }

  /** Reads the oldest file that can be read. */
  async #beginReading(): Promise<SegmentReader | undefined> {
    if (!this.#hasDue) await this.#seal();
    if (!this.#hasDue) await this.#adopt();
    for (const segment of [...this.#sealed]) {
      if (segment.retryAt > performance.now()) continue;
      const content = await this.#read(segment);
      if (content !== undefined) return new SegmentReader(segment, content);
    }
    return undefined;
  }

  get #hasDue(): boolean {
    return this.#sealed.some(({ retryAt }) => retryAt <= performance.now());
  }

  /** The content of a file. If it cannot be read it stays and is tried again later; only a missing one is forgotten. */
  async #read(segment: Segment): Promise<Buffer | undefined> {
    try {
      const content = await readFile(segment.path);
      segment.failures = 0;
      segment.retryAt = 0;
      return content;
    } catch (error) {
      const isGone = isMissing(error);
      if (isGone) this.#forget(segment);
      else postpone(segment);
      const outcome = isGone ? 'its spans were not sent by this process' : 'it is kept and tried again';
      this.#log.warn(
        `read ${segment.path}`,
        1,
        () => `the spool file ${segment.path} cannot be read: ${errorMessage(error)}; ${outcome}`,
      );
      return undefined;
    }
  }

  /** Removes a file whose records were all handled, after setting its unreadable parts aside. */
  async #finish(reading: SegmentReader): Promise<void> {
    this.#reading = undefined;
    const { segment, unreadable } = reading;
    if (unreadable.length > 0 && !(await this.#setAside(segment, unreadable))) return;
    await this.#delete(segment);
  }

  /** @returns whether the file may be removed. */
  async #setAside(segment: Segment, stretches: readonly Stretch[]): Promise<boolean> {
    const bytes = stretches.reduce((sum, stretch) => sum + stretch.bytes.length, 0);
    const spans = stretches.reduce((sum, stretch) => sum + stretch.spans, 0);
    const what = `${bytes} bytes of the spool file ${basename(segment.path)}`;
    try {
      const files = await setAside(this.#options.directory, segment.path, stretches);
      this.losses.damagedBytes += bytes;
      const newer = spans === 0 ? '' : `, with ${spans} spans in a form this version does not know,`;
      diag.warn(`mcp-observatory: ${what}${newer} cannot be read and were moved to ${files.join(' and ')}`);
      return true;
    } catch (error) {
      postpone(segment);
      const why = errorMessage(error);
      this.#log.warn(
        `move ${segment.path}`,
        1,
        () => `${what} cannot be read, nor moved: ${why}; it is kept`,
      );
      return false;
    }
  }

  /** @returns whether the file is gone. */
  async #delete(segment: Segment): Promise<boolean> {
    try {
      await unlink(segment.path);
    } catch (error) {
      if (!isMissing(error)) {
        const why = errorMessage(error);
        this.#log.warn('unlink', 1, () => `the spool file ${segment.path} cannot be removed: ${why}`);
        this.#forget(segment);
        return false;
      }
    }
    this.#forget(segment);
    return true;
  }

  async #seal(): Promise<void> {
    const active = this.#active;
    this.#active = undefined;
    if (active === undefined) return;
    // Listed before it is closed: `bytes` and `isEmpty` are read at any time, and its spans are on disk.
    if (active.bytes > 0) this.#sealed.push(newSegment(active.path, active.bytes));
    await active.close().catch(() => {});
  }

  async #adopt(): Promise<void> {
    if (performance.now() - this.#lastAdoption < ADOPT_INTERVAL_MS) return;
    this.#lastAdoption = performance.now();
    await this.#take(await adoptOrphans(this.#options.directory, this.#folder.path, this.#seen));
  }

  /** Lists files that were moved into the folder. */
  async #take(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.#folder.path, name);
      const { size } = await stat(path).catch(() => ({ size: 0 }));
      this.#sealed.push(newSegment(path, size));
    }
    // Names start with the time, so that these files are in order too.
    this.#sealed.sort((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  }

  /**
   * Drops the oldest segments that exceed the age limit, or the size limit with the addition. Unreadable segments are
   * not dropped.
   * @throws Error when there is no room and nothing may be dropped.
   */
  async #makeRoom(added: number): Promise<void> {
    const { maxBytes, maxAgeMs, whenFull } = this.#options;
    const isFull = () => this.bytes + added > maxBytes;
    if (whenFull === 'drop-oldest') {
      for (const segment of [...this.#sealed]) {
        if (segment === this.#reading?.segment || segment.retryAt > performance.now()) continue;
        if (!isFull() && performance.now() - segment.since <= maxAgeMs) continue;
        await this.#drop(segment);
      }
      if (!this.#sealed.some(({ failures }) => failures > 0)) return;
    }
    if (added > 0 && isFull()) throw new Error(`the spool is full: ${this.bytes} of ${maxBytes} bytes`);
  }

  async #drop(segment: Segment): Promise<void> {
    const content = await this.#read(segment);
    if (content === undefined) return;
    const reading = new SegmentReader(segment, content);
    let spans = 0;
    for (; reading.current !== undefined; reading.next()) spans += reading.current.spans;
    if (reading.unreadable.length > 0 && !(await this.#setAside(segment, reading.unreadable))) return;
    if (await this.#delete(segment)) this.losses.dropped += spans;
  }

  #forget(segment: Segment): void {
    const at = this.#sealed.indexOf(segment);
    if (at !== -1) this.#sealed.splice(at, 1);
  }

  #newPath(): string {
    this.#count += 1;
    return join(this.#folder.path, nameOfSegment(this.#count));
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
