import { wholeNumber } from './whole-number.ts';

/** Options of a spool on disk. */
export interface SpoolOptions {
  /**
   * Folder for the files, created if missing. Any number of processes may share it and take over the files of dead
   * ones. The files contain all span data and are readable by this user only.
   */
  readonly directory: string;
  /**
   * When files are synced: `always` before spans count as safe, which survives a power failure; `interval` once a
   * second; `never` leaves it to the system. All three survive a crash of the process.
   * @defaultValue `always`
   */
  readonly sync?: SyncPolicy | undefined;
  /** Maximum size of all files of this process in bytes; see `whenFull`. @defaultValue 536870912 */
  readonly maxBytes?: number | undefined;
  /**
   * What to do when the files are full. `drop-oldest`: make room for new spans and count the dropped ones. `refuse`:
   * reject new spans and never drop stored ones, whatever their age, for callers that have already acknowledged them.
   * @defaultValue `drop-oldest`
   */
  readonly whenFull?: 'drop-oldest' | 'refuse' | undefined;
  /** Maximum age of spans, in milliseconds; older ones are dropped and counted. @defaultValue 604800000 (7 days) */
  readonly maxAgeMs?: number | undefined;
  /** Size at which a new file is started, in bytes. @defaultValue 4194304 */
  readonly segmentBytes?: number | undefined;
  /** Maximum spans sent from disk per second, so that a recovering back end is not overloaded. @defaultValue 10000 */
  readonly drainSpansPerSecond?: number | undefined;
}

export type SyncPolicy = 'always' | 'interval' | 'never';

export type ResolvedSpoolOptions = { readonly [K in keyof SpoolOptions]-?: NonNullable<SpoolOptions[K]> };

/** @throws ObservatoryError `INVALID_OPTION` when a value cannot be used. */
export function resolveSpoolOptions(options: SpoolOptions): ResolvedSpoolOptions {
  return {
    directory: options.directory,
    sync: options.sync ?? 'always',
    maxBytes: wholeNumber('spool.maxBytes', options.maxBytes ?? 512 * 1024 * 1024, 1),
    whenFull: options.whenFull ?? 'drop-oldest',
    maxAgeMs: wholeNumber('spool.maxAgeMs', options.maxAgeMs ?? 7 * 24 * 3_600_000, 1),
    segmentBytes: wholeNumber('spool.segmentBytes', options.segmentBytes ?? 4 * 1024 * 1024, 1),
    drainSpansPerSecond: wholeNumber('spool.drainSpansPerSecond', options.drainSpansPerSecond ?? 10_000, 1),
  };
}
