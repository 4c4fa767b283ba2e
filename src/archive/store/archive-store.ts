/** A complete file of an archive. */
export interface ArchivedFile {
  /** In the archive, with `/`: `day=2026-11-22/mcp_traces_20261122.parquet`. */
  readonly name: string;
  readonly bytes: number;
  /** Differs between contents of one name. */
  readonly version: string;
}

/** A folder of this process for what is under way; it is gone once it is disposed of. */
export interface WorkFolder extends AsyncDisposable {
  readonly path: string;
}

/** Where the files of an archive are: a folder, or a bucket. */
export interface ArchiveStore extends AsyncDisposable {
  /** As messages name it. */
  readonly name: string;
  /** The complete files, in the order of their names; none where there is no archive yet. */
  list(): Promise<readonly ArchivedFile[]>;
  /**
   * Paths of files on this machine, in this order; they are there until the work folder is gone.
   * @param work of {@link workForReading} or {@link workForWriting}.
   */
  paths(files: readonly ArchivedFile[], work: WorkFolder): Promise<readonly string[]>;
  /**
   * Puts a file into the archive, which holds it, whole and durable, when this resolves. Before that there is nothing of
   * that name, or what was there.
   *
   * @param path of a file in the folder of {@link workForWriting}, which may be gone afterwards.
   * @param mayReplace called with the path of a file of that name and other content; throws to keep that one.
   */
  put(
    path: string,
    name: string,
    mayReplace: (existing: string) => Promise<void>,
    work: WorkFolder,
  ): Promise<void>;
  /** Makes a folder for files to be put; leftovers of killed processes are removed. */
  workForWriting(): Promise<WorkFolder>;
  workForReading(): Promise<WorkFolder>;
}

/** For an archive in a bucket. */
export interface ArchiveCache {
  /** Folder for what is downloaded and for files that are to be uploaded. @defaultValue one in the user's cache */
  readonly folder?: string | undefined;
  /** Bytes of downloaded files that are kept. @defaultValue 10 GB */
  readonly maxBytes?: number | undefined;
}
