import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncToDisk } from '../base/index.ts';
import type { SyncPolicy } from './options.ts';

const SYNC_INTERVAL_MS = 1000;

/** One file that records are appended to. */
export class SegmentWriter {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #sync: SyncPolicy;
  readonly #timer: NodeJS.Timeout | undefined;
  #bytes = 0;

  private constructor(path: string, file: FileHandle, sync: SyncPolicy) {
    this.path = path;
    this.#file = file;
    this.#sync = sync;
    if (sync !== 'interval') return;
    this.#timer = setInterval(() => void file.datasync().catch(() => {}), SYNC_INTERVAL_MS).unref();
  }

  static async create(path: string, sync: SyncPolicy): Promise<SegmentWriter> {
    const file = await open(path, 'wx', 0o600);
    try {
      if (sync === 'always') await syncToDisk(dirname(path));
    } catch (error) {
      await file.close();
      throw error;
    }
    return new SegmentWriter(path, file, sync);
  }

  /** Bytes of the records written. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Appends one record. After a failure nothing remains of it, or the reader skips the remains.
   * @throws the file system's error, e.g. `ENOSPC`.
   */
  async append(record: Buffer): Promise<void> {
    try {
      for (let written = 0; written < record.length; ) {
        const rest = record.length - written;
        written += (await this.#file.write(record, written, rest, this.#bytes + written)).bytesWritten;
      }
      if (this.#sync === 'always') await this.#file.datasync();
    } catch (error) {
      await this.#file.truncate(this.#bytes).catch(() => {});
      throw error;
    }
    this.#bytes += record.length;
  }

  /** Closes the file; an empty one is removed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#sync === 'interval') await this.#file.datasync().catch(() => {});
    await this.#file.close();
    if (this.#bytes === 0) await unlink(this.path).catch(() => {});
  }
}
