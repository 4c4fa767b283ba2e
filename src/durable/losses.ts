import { ObservatoryError, warnVisibly } from '../base/index.ts';
import type { Counters } from './stats.ts';
import { ThrottledLog } from './throttled-log.ts';

/** Reasons quote errors, which may differ each time; further ones are counted together. */
const MAX_REASONS = 8;
const OTHERS = 'of other errors';

/** Counts lost spans by reason. Logs them as they are lost, throttled, and all of them in one line at the end. */
export class Losses {
  readonly #hasSpool: boolean;
  readonly #log = new ThrottledLog();
  readonly #byReason = new Map<string, number>();
  readonly #remedies = new Set<string>();
  readonly #counters: Pick<Counters, 'dropped'>;
  #total = 0;
  #told = 0;
  #ofSpool = 0;
  #isEnding = false;

  constructor(hasSpool: boolean, counters: Pick<Counters, 'dropped'>) {
    this.#hasSpool = hasSpool;
    this.#counters = counters;
  }

  /** From now on losses are only counted, until {@link tell}. */
  end(): void {
    this.#isEnding = true;
  }

  /**
   * @param why completes "because".
   * @param error of the export that failed, if one did.
   */
  add(count: number, why: string, error?: Error): void {
    this.#counters.dropped += count;
    this.#note(count, why, error);
  }

  /** Notes what a spool has dropped so far; the spool counts that itself. */
  seeSpool(dropped: number): void {
    const more = dropped - this.#ofSpool;
    this.#ofSpool = dropped;
    if (more > 0) this.#note(more, 'there were too many or too old ones on the disk');
  }

  #note(count: number, why: string, error?: Error): void {
    const reason = this.#byReason.has(why) || this.#byReason.size < MAX_REASONS ? why : OTHERS;
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + count);
    const remedy = remedyFor(error, this.#hasSpool);
    if (remedy !== undefined) this.#remedies.add(remedy);
    this.#total += count;
    if (this.#isEnding) return;
    this.#log.warn(reason, count, (total) => `${spansWere(total)} dropped because ${reason}`);
  }

  /** Logs how many were lost in all, why, and what to do, unless that was logged. */
  tell(): void {
    if (this.#total === this.#told) return;
    this.#told = this.#total;
    warnVisibly(`mcp-observatory: ${spansWere(this.#total)} dropped ${this.reasons}`);
  }

  /** Why spans were lost, and what to do. */
  get reasons(): string {
    const reasons = [...this.#byReason];
    const why =
      reasons.length === 1
        ? `because ${reasons[0]?.[0]}`
        : `in all: ${reasons.map(([reason, count]) => `${count} because ${reason}`).join('; ')}`;
    return [why, ...this.#remedies].join('. ');
  }
}

function spansWere(count: number): string {
  return count === 1 ? '1 span was' : `${count} spans were`;
}

/** Advice on how to keep spans that an exporter rejects; undefined if its error already gives one. */
function remedyFor(error: Error | undefined, hasSpool: boolean): string | undefined {
  if (ObservatoryError.isInstance(error) && error.code !== 'DATABASE_UNREACHABLE') return undefined;
  return hasSpool
    ? 'See that the folder of the spool can be written and has room'
    : 'To keep such spans for the next process, name a folder in MCP_OBSERVATORY_SPOOL, or as the spool of the processor';
}
