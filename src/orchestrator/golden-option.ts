import type { ComparisonRules, GoldenCategory, GoldenSource } from '../golden/index.ts';

/** Keeps the run in a file. Written when the run is over, whatever it came to; not when it is aborted. */
export interface RecordGoldenOptions {
  readonly mode: 'record';
  /** File to write. */
  readonly path: string;
  /** @defaultValue the name of the file, without `.json` */
  readonly testName?: string | undefined;
  /** What the golden shows, in a sentence. */
  readonly description?: string | undefined;
  /** @defaultValue 'happy_path' */
  readonly category?: GoldenCategory | undefined;
  /**
   * Asserts where the answers came from, for gateways. Without it a golden is `recorded` when every request went to
   * the provider's own API, and `scripted` when one did not.
   */
  readonly source?: GoldenSource | undefined;
  /** Days until the golden expires; `null` for never. @defaultValue 180 for recorded goldens, never for scripted ones */
  readonly expiresInDays?: number | null | undefined;
  /** How later runs are held against this one. @defaultValue the exact answer, no matchers, no bounds */
  readonly comparison?: Partial<ComparisonRules> | undefined;
  /** Date written into the file; `null` for none. @defaultValue the current time */
  readonly recordedAt?: Date | null | undefined;
}

/** Plays a run from a file. No model is asked and no key is needed. */
export interface ReplayGoldenOptions {
  readonly mode: 'replay';
  /** File to play. */
  readonly path: string;
  /**
   * `recorded` starts no server and takes what tools returned from the file; `live` runs them for real, so that a
   * change of a server shows in the result. @defaultValue 'recorded'
   */
  readonly tools?: 'recorded' | 'live' | undefined;
  /** Play a golden that is past its date. @defaultValue false */
  readonly allowExpired?: boolean | undefined;
}

export type GoldenOption = RecordGoldenOptions | ReplayGoldenOptions;
