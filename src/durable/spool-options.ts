import { wholeNumber } from './whole-number.ts';

/** Where and how a spool keeps spans on disk. */
export interface SpoolOptions {
  /**
   * Folder for the files; made when it is not there. Any number of processes may share it, and each takes over what
   * processes that are gone have left. The files hold what the spans hold, readable for this user only.
   */
  readonly directory: string;
  /**
   * When written spans are forced to the disk: `always` before they count as safe, which withstands a power cut;
   * `interval` once a second; `never` leaves it to the system. All three withstand the end of the process.
   * @defaultValue `always`
   */
  readonly sync?: SyncPolicy | undefined;
  /** Size of all files of this process; what happens beyond it, `whenFull` says. @defaultValue 536870912 */
  readonly maxBytes?: number | undefined;
  /**
   * What happens when the files are full: `drop-oldest` makes room for new spans, and counts those dropped; `refuse`
   * takes no new ones and never drops, whatever their age, for who has promised to keep what is there.
   * @defaultValue `drop-oldest`
   */
  readonly whenFull?: 'drop-oldest' | 'refuse' | undefined;
  /** How long spans are kept, in milliseconds; older ones are dropped and counted. @defaultValue 604800000 (7 days) */
  readonly maxAgeMs?: number | undefined;
  /** Size at which a new file is begun. @defaultValue 4194304 */
  readonly segmentBytes?: number | undefined;
  /** Spans sent per second from the disk, so that a back end that recovers is not drowned. @defaultValue 10000 */
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
