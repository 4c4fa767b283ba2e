import type { DuckDb } from './duckdb.ts';

/** Where the files of an archive are: a folder, or a bucket. DuckDB reads and writes them. */
export interface ArchiveStore {
  /** Name of the archive in messages. */
  readonly name: string;
  /** Names of the complete files, in order; none where there is no archive yet. */
  list(): Promise<readonly string[]>;
  /** Path or URL under which DuckDB reads a file. */
  pathOf(name: string): string;
  /**
   * Puts a Parquet file into the archive, which holds it, whole and durable, when this resolves. Before that there is
   * nothing of that name, or what was there.
   *
   * @param path of a file in the work folder, which may be gone afterwards.
   * @param mayReplace called where there is a file of that name; throws to keep that one.
   */
  put(path: string, name: string, mayReplace: () => Promise<void>): Promise<void>;
}

/** An open archive; dispose of it to release it. */
export interface OpenArchive extends AsyncDisposable {
  readonly store: ArchiveStore;
  readonly duck: DuckDb;
  /** Temporary folder of this process, removed on disposal. */
  readonly work: string;
}
