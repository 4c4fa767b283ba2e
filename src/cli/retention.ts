import { formatPlural } from '../base/index.ts';
import { countAll, type Database, ownTablesBytes, type PruneResult, prune } from '../postgres/index.ts';
import { type CommandIo, durationFlag, sizeFlag, usageError } from './command-line/index.ts';
import { printableLine } from './terminal/index.ts';

/** Deleting would hold up the first spans, and the first look at them. */
const FIRST_MS = 10_000;
const EVERY_MS = 15 * 60_000;
const DAY_MS = 86_400_000;

/** How much an embedded database keeps; on a server nothing is deleted without `--keep`. */
const EMBEDDED = { keep: '7d', maxSize: '1g' } as const;

export const RETENTION_FLAGS = { keep: { type: 'string' }, 'max-size': { type: 'string' } } as const;

/** What `up` deletes. */
export interface Retention {
  readonly text: string;
  readonly keepMs: number;
  /** Largest size of the tables of this package; undefined for any. */
  readonly maxBytes: number | undefined;
}

/**
 * What the flags say of a database of this kind.
 * @returns undefined when nothing is deleted.
 * @throws ObservatoryError `INVALID_OPTION` for values that cannot be used.
 */
export function findRetention(
  flags: { readonly keep?: string | undefined; readonly 'max-size'?: string | undefined },
  kind: Database['kind'],
): Retention | undefined {
  const defaults: Partial<typeof EMBEDDED> = kind === 'pglite' ? EMBEDDED : {};
  const { keep = defaults.keep, 'max-size': maxSize = defaults.maxSize } = flags;
  const maxBytes = sizeFlag('--max-size', maxSize);
  if (keep === undefined) {
    if (maxSize === undefined) return undefined;
    throw usageError('On a Postgres server, --max-size deletes spans only together with --keep');
  }
  const size = maxSize === undefined ? '' : ` and, beyond ${maxSize}, the oldest days`;
  return {
    text: `spans older than ${keep} are deleted${size}`,
    keepMs: durationFlag('--keep', keep),
    maxBytes,
  };
}

/** Deletes what is too old, now and then, until it is closed. */
export class Tidying implements AsyncDisposable {
  readonly #db: Database;
  readonly #retention: Retention;
  readonly #io: CommandIo;
  readonly #timers: readonly NodeJS.Timeout[];
  #tidied = Promise.resolve();

  constructor(db: Database, retention: Retention, io: CommandIo) {
    this.#db = db;
    this.#retention = retention;
    this.#io = io;
    const next = () => {
      this.#tidied = this.#tidied.then(() => this.#tidy());
    };
    this.#timers = [setTimeout(next, FIRST_MS), setInterval(next, EVERY_MS)];
  }

  /** Waits for what is being deleted: the database is about to be closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#tidied;
  }

  async #tidy(): Promise<void> {
    try {
      await tidy(this.#db, this.#retention, (line) => this.#say(line));
    } catch (error) {
      this.#say(`old spans could not be deleted: ${(error as Error).message}`);
    }
  }

  #say(text: string): void {
    this.#io.stderr.writeLine(printableLine(`mcp-observatory up: ${text}`));
  }
}

/**
 * Deletes what is too old, and the oldest days of what is too large; today's spans stay. Roll-ups of what is deleted are
 * brought up to date first.
 *
 * @param say prints what will be deleted, before it is.
 */
export async function tidy(
  db: Database,
  { keepMs, maxBytes }: Omit<Retention, 'text'>,
  say: (text: string) => void,
): Promise<void> {
  const oldest = Date.now() - keepMs;
  const cutoff = new Date(oldest);
  if (!isEmpty(await prune(db, cutoff, true))) {
    // This adds rows to tables that the next count covers.
    await countAll(db);
    const old = await prune(db, cutoff, true);
    say(`deleting what is older than ${cutoff.toISOString()} (--keep): ${describe(old)}`);
    await prune(db, cutoff);
  }
  if (maxBytes === undefined) return;
  for (let time = oldest + DAY_MS; time < Date.now(); time += DAY_MS) {
    const before = new Date(time);
    const bytes = await ownTablesBytes(db);
    if (bytes <= maxBytes) return;
    const next = await prune(db, before, true);
    // Rows deleted one by one would not make the table smaller.
    if (next.dropped.length === 0) continue;
    say(
      `the tables take ${Math.ceil(bytes / 1024 ** 2)} MiB, more than --max-size; deleting what is older than ` +
        `${before.toISOString()}: ${describe(next)}`,
    );
    await prune(db, before);
  }
}

function isEmpty({ dropped, deletedRows, derivedRows }: PruneResult): boolean {
  return dropped.length === 0 && deletedRows === 0 && Object.keys(derivedRows).length === 0;
}

function describe({ dropped, droppedSpans, deletedRows, derivedRows }: PruneResult): string {
  const names =
    dropped.length === 0 ? '' : `, with ${formatPlural(dropped.length, 'partition')} (${dropped.join(', ')})`;
  const derived = Object.entries(derivedRows).map(
    ([table, rows]) => `; ${formatPlural(rows, 'row')} of ${table}`,
  );
  return `${formatPlural(droppedSpans + deletedRows, 'span')} of mcp_traces${names}${derived.join('')}`;
}
